package embedded

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// generation is one state of the index, never changed once it is made.
type generation struct {
	number uint64
	made   time.Time
	docs   []*retrieval.Document
	counts []*pageWords // beside docs
	byPage map[string]int32
	lex    *lexicon

	first   []uint32 // page → its first section; one more at the end
	pageOf  []uint32 // section → page
	byTerm  postings // sections that hold a term, with its saturated frequency
	pages   postings // pages that hold a term, likewise
	titles  members  // pages whose title holds a term
	slugs   members  // pages the last part of whose path holds a term
	heads   members  // sections whose headings hold a term
	idf     []float32
	pageIDF []float32
	// titleMass, headMass and slugMass are the sums of the idf of the words
	// of a page's title, a section's headings, the last part of a path.
	titleMass, headMass, slugMass []float32
	factor                        []float32 // page → what it is multiplied by: hubs, changelogs
	twin                          []uint32  // page → its number among twins, 0 for none
	twins                         bool      // there are some
	langs                         []language.Language

	spelling *spelling
	filters  *filters
	vectors  *matrix
	// misfit is set once a query vector of another length was told of.
	misfit atomic.Bool
}

// postings hold for every term the places (sections or pages) it occurs in,
// rising, and the weight it has there.
type postings struct {
	start  []uint32
	place  []uint32
	weight []float32
	next   []uint32 // while it is made
}

// count returns in how many places a term is.
func (p *postings) count(term uint32) int {
	if int(term)+1 >= len(p.start) {
		return 0
	}
	return int(p.start[term+1] - p.start[term])
}

func (p *postings) of(term uint32) ([]uint32, []float32) {
	if int(term)+1 >= len(p.start) {
		return nil, nil
	}
	a, b := p.start[term], p.start[term+1]
	return p.place[a:b], p.weight[a:b]
}

// members are postings without weights.
type members struct {
	start []uint32
	place []uint32
	next  []uint32 // while it is made
}

func (p *members) of(term uint32) []uint32 {
	if int(term)+1 >= len(p.start) {
		return nil
	}
	return p.place[p.start[term]:p.start[term+1]]
}

// counted and add make postings in two passes over the same triples, which
// come in the order of places: first how many a term has, then which.
func (p *postings) counted(terms int) {
	for i := 1; i <= terms; i++ {
		p.start[i] += p.start[i-1]
	}
	p.place = make([]uint32, p.start[terms])
	p.weight = make([]float32, p.start[terms])
	p.next = slices.Clone(p.start[:terms])
}

func (p *postings) add(term, place uint32, weight float32) {
	if p.next == nil {
		p.start[term+1]++
		return
	}
	at := p.next[term]
	p.next[term]++
	p.place[at] = place
	p.weight[at] = weight
}

func (p *members) counted(terms int) {
	for i := 1; i <= terms; i++ {
		p.start[i] += p.start[i-1]
	}
	p.place = make([]uint32, p.start[terms])
	p.next = slices.Clone(p.start[:terms])
}

func (p *members) add(term, place uint32) {
	if p.next == nil {
		p.start[term+1]++
		return
	}
	p.place[p.next[term]] = place
	p.next[term]++
}

// masses sums the idf of the terms of every place.
func (p *members) masses(places int, idf []float32) []float32 {
	out := make([]float32, places)
	for t := range idf {
		for _, at := range p.of(uint32(t)) {
			out[at] += idf[t]
		}
	}
	return out
}

// gather sums weights by term.
type gather struct {
	sum   []float32
	seen  []bool
	terms []uint32
}

func (g *gather) add(term uint32, weight float32) {
	if !g.seen[term] {
		g.seen[term] = true
		g.terms = append(g.terms, term)
	}
	g.sum[term] += weight
}

// saturate moves the sums to postings, as BM25 saturates frequencies.
func (g *gather) saturate(p *postings, place uint32, k1 float32) {
	for _, t := range g.terms {
		p.add(t, place, g.sum[t]*(k1+1)/(g.sum[t]+k1))
	}
	g.reset()
}

// move moves the terms to postings without weights.
func (g *gather) move(p *members, place uint32) {
	for _, t := range g.terms {
		p.add(t, place)
	}
	g.reset()
}

func (g *gather) reset() {
	for _, t := range g.terms {
		g.sum[t] = 0
		g.seen[t] = false
	}
	g.terms = g.terms[:0]
}

func newGather(terms int) gather {
	return gather{sum: make([]float32, terms), seen: make([]bool, terms)}
}

// newGeneration inverts the words of documents into an index.
func newGeneration(docs []*retrieval.Document, counts []*pageWords, lex *lexicon, w *weights) *generation {
	g := &generation{docs: docs, counts: counts, lex: lex, made: time.Now(), byPage: make(map[string]int32, len(docs))}
	sections := 0
	for i, d := range docs {
		g.byPage[d.Page] = int32(i)
		g.first = append(g.first, uint32(sections))
		sections += len(counts[i].sections)
		g.factor = append(g.factor, w.pageFactor(d, counts[i]))
		if lang := counts[i].lang; !slices.Contains(g.langs, lang) {
			g.langs = append(g.langs, lang)
		}
	}
	g.first = append(g.first, uint32(sections))
	g.pageOf = make([]uint32, sections)

	terms := len(lex.terms)
	for _, p := range []*postings{&g.byTerm, &g.pages} {
		p.start = make([]uint32, terms+1)
	}
	for _, p := range []*members{&g.titles, &g.slugs, &g.heads} {
		p.start = make([]uint32, terms+1)
	}
	// What needs no postings is made beside them: a restart waits for this.
	var beside sync.WaitGroup
	beside.Go(func() {
		g.spelling = newSpelling(g)
		g.filters = newFilters(docs)
		g.twin = twins(docs)
		g.twins = slices.ContainsFunc(g.twin, func(n uint32) bool { return n != 0 })
	})
	defer beside.Wait()

	in := &inverter{generation: g, weights: w, means: meansOf(counts), section: newGather(terms), page: newGather(terms), names: newGather(terms)}
	in.invert()
	for _, p := range []interface{ counted(int) }{&g.byTerm, &g.pages, &g.titles, &g.slugs, &g.heads} {
		p.counted(terms)
	}
	in.invert()
	g.byTerm.next, g.pages.next, g.titles.next, g.slugs.next, g.heads.next = nil, nil, nil, nil, nil

	g.idf = make([]float32, terms)
	g.pageIDF = make([]float32, terms)
	for t := range terms {
		g.idf[t] = idf(sections, g.byTerm.count(uint32(t)))
		g.pageIDF[t] = idf(len(docs), g.pages.count(uint32(t)))
	}
	g.titleMass = g.titles.masses(len(docs), g.idf)
	g.slugMass = g.slugs.masses(len(docs), g.idf)
	g.headMass = g.heads.masses(sections, g.idf)
	return g
}

// inverter turns the words of pages into the places of terms. It is run
// twice: postings are counted, then filled.
type inverter struct {
	*generation
	*weights
	means                means
	section, page, names gather
}

func (in *inverter) invert() {
	for i, c := range in.counts {
		in.invertPage(uint32(i), c)
	}
}

// invertPage adds a page and its sections to the postings.
func (in *inverter) invertPage(page uint32, c *pageWords) {
	lex := in.lex
	headLen, textLen := c.lengths()
	title, desc := in.norm(c.titleLen, in.means.title), in.norm(c.descLen, in.means.desc)
	key, path := in.norm(c.keyLen, in.means.key), in.norm(c.pathLen, in.means.path)
	pageHead, pageText := in.norm(headLen, in.means.pageHead), in.norm(textLen, in.means.pageText)
	for _, x := range c.head {
		in.page.add(lex.words[x.word].term, in.title*float32(x.title)/title+in.desc*float32(x.desc)/desc+in.key*float32(x.key)/key+in.path*float32(x.path)/path)
	}
	for _, x := range c.head {
		if x.plain {
			in.names.add(lex.words[x.word].term, 1)
		}
	}
	in.names.move(&in.titles, page)
	for _, x := range c.head {
		if x.slug {
			in.names.add(lex.words[x.word].term, 1)
		}
	}
	in.names.move(&in.slugs, page)
	from := uint32(0)
	for j, s := range c.sections {
		n := in.first[page] + uint32(j)
		in.pageOf[n] = page
		head, text := in.norm(s.headLen, in.means.head), in.norm(s.textLen, in.means.text)
		for _, x := range c.head {
			in.section.add(lex.words[x.word].term, in.title*float32(x.title)/title+in.sectionDesc*float32(x.desc)/desc+in.sectionKey*float32(x.key)/key+in.sectionPath*float32(x.path)/path)
		}
		for _, x := range c.words[from:s.end] {
			term := lex.words[x.word].term
			in.section.add(term, in.head*float32(x.heading)/head+in.text*float32(x.text)/text)
			ofPage := in.head*float32(x.heading)/pageHead + in.text*float32(x.text)/pageText
			if j == 0 {
				ofPage += in.lead * float32(x.text) / text
			}
			in.page.add(term, ofPage)
			if x.plain {
				in.names.add(term, 1)
			}
		}
		from = s.end
		in.section.saturate(&in.byTerm, n, in.k1)
		in.names.move(&in.heads, n)
	}
	in.page.saturate(&in.pages, page, in.k1)
}

// idf is the inverse document frequency of a term that is in so many of n.
func idf(n, with int) float32 {
	return float32(math.Log(1 + (float64(n)-float64(with)+.5)/(float64(with)+.5)))
}

// mean of lengths, empty ones left out.
type mean struct{ sum, n float64 }

func (m *mean) add(length uint32) {
	if length > 0 {
		m.sum += float64(length)
		m.n++
	}
}

// means are the mean lengths of fields.
type means struct {
	title, desc, key, path, head, text, pageHead, pageText mean
}

func meansOf(counts []*pageWords) (m means) {
	for _, c := range counts {
		m.title.add(c.titleLen)
		m.desc.add(c.descLen)
		m.key.add(c.keyLen)
		m.path.add(c.pathLen)
		for _, s := range c.sections {
			m.head.add(s.headLen)
			m.text.add(s.textLen)
		}
		head, text := c.lengths()
		m.pageHead.add(head)
		m.pageText.add(text)
	}
	return m
}

// norm is by what a frequency is divided in a field of a length.
func (w *weights) norm(length uint32, m mean) float32 {
	if m.n == 0 || length == 0 {
		return 1
	}
	return 1 - w.b + w.b*float32(float64(length)*m.n/m.sum)
}

// size estimates the bytes that a generation holds.
func (g *generation) size() int64 {
	n := 8*len(g.byTerm.place) + 8*len(g.pages.place) + 4*(len(g.titles.place)+len(g.slugs.place)+len(g.heads.place))
	n += (5*4 + 8) * len(g.lex.terms)
	for _, t := range g.lex.terms {
		n += len(t) + 40
	}
	for _, w := range g.lex.words {
		n += len(w.text) + 60
	}
	for _, c := range g.counts {
		n += 8*len(c.words) + 12*(len(c.head)+len(c.sections))
	}
	for _, d := range g.docs {
		n += 300 + len(d.Title) + len(d.Description)
		for i := range d.Sections {
			s := &d.Sections[i]
			n += 100 + len(s.Anchor) + len(s.Heading) + len(s.Text)
		}
	}
	if g.vectors != nil {
		n += 4 * len(g.vectors.values)
	}
	return int64(n)
}
