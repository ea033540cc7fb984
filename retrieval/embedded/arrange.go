package embedded

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Found is what another search engine found for a query.
type Found struct {
	Page    string
	Section int
	// Rank is its place, from 0, among those found by words; below 0 it was
	// found by its vector alone.
	Rank int
	// Similarity is the cosine of its vector and the query's, 0 where that
	// is not known.
	Similarity float64
}

// unranked is the share of the least value that a section gets which the
// other engine found by words and this index did not.
const unranked = .5

// Arrange makes hits of what another engine found and of what this index
// finds by words, as Search does of all sections: valued by the same words,
// fused with the similarities given, with what the query prefers, twins
// apart, two sections of a page at most, and scores of the one meaning. mean is the mean of the similarities of all
// sections. ratio is the share of vectors, 0–1; .5 is that of Search.
// Sections that this index doesn't hold are left out.
func (x *Index) Arrange(q retrieval.Query, found []Found, mean, ratio float64) ([]retrieval.Hit, error) {
	g := x.current.Load()
	if g == nil {
		return nil, retrieval.ErrNotReady
	}
	q.Limit = min(max(q.Limit, 1), 50)
	s := x.pool.Get().(*scratch)
	defer x.pool.Put(s)
	p := g.parseFor(&q, &x.wording, x.weights, s)
	mass := g.scoreWords(&p, s)

	s.similar = zeroed(s.similar, len(g.pageOf))
	sim := &similarity{of: s.similar, mean: float32(mean), partial: true}
	pages := make(bitset, (len(g.docs)+63)/64)
	for _, f := range found {
		page, at, ok := g.place(f)
		if !ok {
			continue
		}
		pages.set(page)
		s.similar[at] = max(s.similar[at], float32(f.Similarity))
		sim.top = max(sim.top, s.similar[at])
	}
	allowed, all := g.filters.allowed(q.Filter)
	g.rank(allowed, all, p.keywords(), mass, x.weights, s)
	for _, page := range s.order {
		pages.set(page)
	}
	g.rankOthers(found, s)
	if sim.top > sim.mean && ratio > 0 {
		w := *x.weights
		w.semantic = min(1, w.semantic*float32(2*ratio))
		w.semanticShort = min(1, w.semanticShort*float32(2*ratio))
		g.fuse(sim, pages, false, p.words, &w, s)
	}
	g.favour(&q, p.language, x.weights, s)
	g.partTwins(s)
	return g.list(&q, p.groups, sim, s), nil
}

// place returns the page and the section of one found.
func (g *generation) place(f Found) (page, section uint32, ok bool) {
	p, ok := g.byPage[f.Page]
	if !ok || f.Section < 0 || f.Section >= len(g.docs[p].Sections) {
		return 0, 0, false
	}
	return uint32(p), g.first[p] + uint32(f.Section), true
}

// rankOthers values the pages that only the other engine found by words
// (it knows typing errors and forms of words that this index doesn't) below
// all that both found.
func (g *generation) rankOthers(found []Found, s *scratch) {
	least := float32(1)
	for _, p := range s.order {
		least = min(least, s.value[p])
	}
	for _, f := range found {
		p, at, ok := g.place(f)
		if !ok || f.Rank < 0 || s.value[p] > 0 && s.section[at] > 0 {
			continue
		}
		v := least * unranked / (1 + float32(f.Rank)/10)
		if s.value[p] == 0 {
			s.value[p] = v * g.factor[p]
			s.section[at] = v
			s.order = append(s.order, p)
		}
	}
}

// bigramsPerWord is how many pairs of characters count as one word where a
// script writes none: about those of a word of three or four characters.
const bigramsPerWord = 3

// KeyTerms are the words of a text that carry its meaning and that this
// index knows, or knows similar ones of, at most n: where there are more,
// those that the fewest sections hold. They stand in the order of the text,
// parted by spaces and free of marks. Of scripts written without spaces they
// are runs of characters, for the other engine to part.
func (x *Index) KeyTerms(q retrieval.Query, n int) string {
	g := x.current.Load()
	if g == nil {
		return ""
	}
	s := x.pool.Get().(*scratch)
	defer x.pool.Put(s)
	p := g.parseFor(&q, &x.wording, x.weights, s)
	var terms []int
	for i := range p.groups {
		if x := &p.groups[i]; x.kind == plain && x.mass != 0 && len(x.alts) > 0 {
			terms = append(terms, i)
		}
	}
	slices.SortStableFunc(terms, func(a, b int) int {
		return cmp.Compare(p.groups[b].mass*p.groups[b].trust, p.groups[a].mass*p.groups[a].trust)
	})
	room := n * bigramsPerWord
	for i, at := range terms {
		cost := bigramsPerWord
		if r, _ := utf8.DecodeRuneInString(p.groups[at].word); dense(r) {
			cost = 1
		}
		if room -= cost; room < 0 {
			terms = terms[:i]
			break
		}
	}
	slices.Sort(terms)
	var out strings.Builder
	for i, at := range terms {
		word := p.groups[at].word
		first, size := utf8.DecodeRuneInString(word)
		if i > 0 && terms[i-1] == at-1 && dense(first) {
			if last, _ := utf8.DecodeLastRuneInString(p.groups[at-1].word); last == first {
				out.WriteString(word[size:]) // two pairs of one run
				continue
			}
		}
		if i > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(word)
	}
	return out.String()
}
