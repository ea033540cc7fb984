package embedded

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// movingVersions are names that generators give to versions that move.
const movingVersions = " latest stable next current main master dev nightly "

// copyShare is the share of a page's sections that another page with its title
// has, from which one is a copy of the other.
const copyShare = 2. / 3

const (
	// minRepeated is how many pages one repeats at least that is no page itself.
	minRepeated = 3
	// mostCopies is how often a section that counts as repeated is there at most.
	mostCopies = 3
)

// copiesOf numbers the pages that are one page at several URLs: those with the
// same text, translations, and other versions. A page without copies has 0.
func copiesOf(docs []*retrieval.Document) []uint32 {
	c := copies{of: make([]uint32, len(docs)), named: make(map[string]uint32, len(docs))}
	for i, d := range docs {
		c.of[i] = uint32(i)
		c.named["/"+d.Page] = uint32(i)
	}
	paths := map[string]uint32{}
	for i, d := range docs {
		if d.Version != "" || d.Language != "" {
			path := neutralPath(d)
			first, ok := paths[path]
			if !ok {
				first, paths[path] = uint32(i), uint32(i)
			}
			c.join(uint32(i), first)
		}
	}
	c.joinTranslations(docs)
	c.joinTexts(docs)
	out, sizes := make([]uint32, len(docs)), make([]int, len(docs))
	for i := range docs {
		sizes[c.root(uint32(i))]++
	}
	for i := range docs {
		if root := c.root(uint32(i)); sizes[root] > 1 {
			out[i] = root + 1
		}
	}
	return out
}

// copies joins pages to groups. Each page leads to another of its group or to
// itself.
type copies struct {
	of    []uint32
	named map[string]uint32 // "/" and the name of a page
}

func (c *copies) root(page uint32) uint32 {
	for c.of[page] != page {
		c.of[page] = c.of[c.of[page]]
		page = c.of[page]
	}
	return page
}

func (c *copies) join(a, b uint32) {
	a, b = c.root(a), c.root(b)
	c.of[max(a, b)] = min(a, b)
}

// joinTranslations joins the pages that name the same page as their original,
// unless two of them are in one language: sites name their front page on all
// pages.
func (c *copies) joinTranslations(docs []*retrieval.Document) {
	pages := map[string][]uint32{}
	for i, d := range docs {
		if d.Translations != "" {
			pages[d.Translations] = append(pages[d.Translations], uint32(i))
		}
	}
	for original, list := range pages {
		if page, ok := c.named[original]; ok && docs[page].Translations == "" {
			list = append(list, page)
		}
		languages := map[string]bool{}
		for _, page := range list {
			languages[docs[page].Version+" "+languageTag(cmp.Or(docs[page].Readers, docs[page].Language))] = true
		}
		if len(languages) == len(list) {
			for _, page := range list[1:] {
				c.join(list[0], page)
			}
		}
	}
}

// joinTexts joins the pages with one title that have most sections in common.
// For a page and its original, half of them are enough.
func (c *copies) joinTexts(docs []*retrieval.Document) {
	first := map[uint64]uint32{} // section → the first page that has it
	for i, d := range docs {
		shared, distinct := map[uint32]int{}, 0
		for j := range d.Sections {
			sum := d.Sections[j].Sum
			if sum == 0 {
				continue
			}
			distinct++
			page, ok := first[sum]
			if !ok {
				first[sum], page = uint32(i), uint32(i)
			}
			if page != uint32(i) {
				shared[page]++
			}
		}
		for page, n := range shared {
			share := copyShare
			if d.Canonical == "/"+docs[page].Page || docs[page].Canonical == "/"+d.Page {
				share = .5
			}
			if docs[page].Title == d.Title && float64(n) >= share*float64(distinct) {
				c.join(page, uint32(i))
			}
		}
	}
}

// factorsOf returns the factors of pages: repeatsFactor for those that say what
// others say, as a manual on one page does. Two thirds of their sections are on
// other pages, of at least three that have two thirds of theirs there. What is
// on many pages counts on none.
func factorsOf(docs []*retrieval.Document) []float32 {
	type holders struct {
		largest uint32 // the page with the most sections
		n       int
	}
	all := map[uint64]holders{} // by section
	for i, d := range docs {
		for j := range d.Sections {
			h := all[d.Sections[j].Sum]
			if h.n++; h.n == 1 || len(docs[h.largest].Sections) < len(d.Sections) {
				h.largest = uint32(i)
			}
			all[d.Sections[j].Sum] = h
		}
	}
	pages, sections, out := make([]int, len(docs)), make([]int, len(docs)), make([]float32, len(docs))
	for i, d := range docs {
		in := map[uint32]int{}
		for j := range d.Sections {
			if h := all[d.Sections[j].Sum]; h.largest != uint32(i) && h.n <= mostCopies {
				in[h.largest]++
			}
		}
		for page, n := range in {
			if float64(n) >= copyShare*float64(len(d.Sections)) {
				pages[page]++
				sections[page] += n
			}
		}
	}
	for i, d := range docs {
		if out[i] = 1; pages[i] >= minRepeated && float64(sections[i]) >= copyShare*float64(len(d.Sections)) {
			out[i] = repeatsFactor
		}
	}
	return out
}

// neutralPath is a page's path without the segments that name its version or
// language.
func neutralPath(d *retrieval.Document) string {
	version := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(d.Version)), "v")
	language := languageTag(cmp.Or(d.Readers, d.Language))
	base, _, _ := strings.Cut(language, "-")
	var kept []string
	for s := range strings.SplitSeq(strings.ToLower(d.Page), "/") {
		tag := languageTag(s)
		switch {
		case tag != "" && (tag == language || tag == base):
		case version != "" && strings.TrimPrefix(s, "v") == version, slices.ContainsFunc(d.Folders, func(f string) bool { return strings.EqualFold(f, s) }):
		case s != "" && strings.Contains(movingVersions, " "+s+" "):
		default:
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "/")
}

// leastTranslated is the least share of the best translation's value that the one
// shown must have, unless it is in a language that is wanted: "agrega contenido
// con ButterCMS" finds the Spanish page by all words, the original by a name.
const leastTranslated = .7

// foldCopies leaves one of each group of copies among the pages that were
// found, in the place of the best of them. Where not all readers can open all
// pages, those that some can't open stay: none is in the place of another.
func (g *generation) foldCopies(q *retrieval.Query, scopes []judgement, s *scratch) {
	type group struct {
		page, best uint32 // which is shown, and which has the highest value
		order      uint64
		language   string // that it must have, "" for any
	}
	groups := map[uint32]group{}
	folds := func(page uint32) bool {
		return g.copies[page] != 0 && (q.Open == nil || q.Open.Has(g.docs[page].Page))
	}
	choose := func() {
		for _, page := range s.order {
			if !folds(page) {
				continue
			}
			of, ok := groups[g.copies[page]]
			if of.language != "" && g.docs[page].Language != of.language {
				continue
			}
			order := g.copyOrder[page] | scopes[g.scope[page]].order
			if len(q.Boost) > 0 && slices.Contains(q.Boost, g.docs[page].Page) {
				order = 0 // the page that the reader is on
			}
			if !ok || order < of.order {
				of.page, of.order = page, order
			}
			if !ok || s.value[page] > s.value[of.best] {
				of.best = page
			}
			groups[g.copies[page]] = of
		}
	}
	choose()
	again := false
	for i, of := range groups {
		if l := g.docs[of.best].Language; of.order>>languageShift&otherLanguage != 0 && l != g.docs[of.page].Language && s.value[of.page] < leastTranslated*s.value[of.best] {
			of.language, of.order, again = l, math.MaxUint64, true
			groups[i] = of
		}
	}
	if again {
		choose()
	}
	s.order = slices.DeleteFunc(s.order, func(page uint32) bool { return folds(page) && groups[g.copies[page]].page != page })
	for _, of := range groups {
		s.value[of.page] = s.value[of.best]
	}
}

// Which copy is shown is decided by bits, the most significant first: another
// page is its original; its language and version are not those wanted (see
// judge); it isn't translated; its translations have another original; and its
// rank among the others: current before old and next versions, newer before
// older ones, the language with the most pages before others, English before
// those with as many, shorter URLs before longer.
const (
	copyOfOriginal  = 1 << 40
	otherLanguage   = 4 // of what begins at languageShift: a language that is not wanted
	languageShift   = 37
	untranslated    = 1 << 36
	translation     = 1 << 35
	unwantedVersion = 1 << 34
)

// orderCopies returns what decides about each page besides its scope.
func (g *generation) orderCopies() []uint64 {
	pages := make([]uint32, 0, len(g.docs))
	for page, group := range g.copies {
		if group != 0 {
			pages = append(pages, uint32(page))
		}
	}
	inLanguage := map[string]float64{}
	for _, d := range g.docs {
		inLanguage[d.Language]++
	}
	for l := range inLanguage {
		if speaks(languageTag(l), "en") {
			inLanguage[l] += .5
		}
	}
	slices.SortFunc(pages, func(a, b uint32) int {
		x, y := g.docs[a], g.docs[b]
		return cmp.Or(cmp.Compare(min(len(x.Kind), 1), min(len(y.Kind), 1)), compareVersions(y.Version, x.Version),
			cmp.Compare(inLanguage[y.Language], inLanguage[x.Language]), cmp.Compare(len(x.URL), len(y.URL)), cmp.Compare(a, b))
	})
	out := make([]uint64, len(g.docs))
	for rank, page := range pages {
		d, order := g.docs[page], uint64(rank)+1
		if at, ok := g.byPage[strings.TrimPrefix(d.Canonical, "/")]; ok && d.Canonical != "" && g.copies[at] == g.copies[page] {
			order |= copyOfOriginal
		}
		if d.Readers != "" {
			order |= untranslated
		}
		if d.Translations != "" && d.Translations != "/"+d.Page {
			order |= translation
		}
		out[page] = order
	}
	return out
}

// compareVersions compares versions number by number: 1.9 < 1.10. Those
// without a number are equal.
func compareVersions(a, b string) int {
	numbers := func(version string) (out []int) {
		for s := range strings.SplitSeq(strings.TrimLeft(version, "vV"), ".") {
			n, err := strconv.Atoi(s)
			if err != nil {
				break
			}
			out = append(out, n)
		}
		return out
	}
	m, n := numbers(a), numbers(b)
	most := min(len(m), len(n))
	return slices.Compare(m[:most], n[:most])
}
