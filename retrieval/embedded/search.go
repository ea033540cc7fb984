package embedded

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/postings"
)

// scratch holds the scores of one search. It is pooled, since they are as
// long as the index.
type scratch struct {
	section, page                    []float32 // scores
	titleHits, slugHits, headingHits []float32 // sums of the IDF of the query's words in them
	best                             []float32 // of one query word, by section or page
	touched                          []uint32  // where best is not 0
	value                            []float32 // of pages, with everything that adds to them
	similarity, pageSimilarity       []float32 // to the query's vector
	order                            []uint32  // pages found
	scale                            float32   // what vectors left of the values of sections
	evidence                         float32   // what a page's own score counts
}

func zeroed(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// search ranks the sections of a generation for a query.
func (g *generation) search(ctx context.Context, q *retrieval.Query, p *parsedQuery, ratio float64, s *scratch) ([]retrieval.Hit, error) {
	g.scoreWords(p, s)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	scopes := g.judge(q, p)
	allowed := g.filtered(q.Filter, scopes)
	g.rank(p, scopes, allowed, s)
	var similar *similarity
	if ratio > 0 && g.vectors.fits(q.Vector) {
		var err error
		if similar, err = g.vectors.compare(ctx, q.Vector, s); err != nil {
			return nil, err
		}
		g.fuse(similar, scopes, allowed, p.semanticShare(ratio), s)
	}
	return g.hits(q, p, similar, scopes, s), nil
}

// scoreWords scores sections, pages, titles, paths and headings by the words
// of a query.
func (g *generation) scoreWords(p *parsedQuery, s *scratch) {
	sections, pages := g.sectionCount(), len(g.docs)
	s.section, s.headingHits = zeroed(s.section, sections), zeroed(s.headingHits, sections)
	s.page, s.titleHits, s.slugHits = zeroed(s.page, pages), zeroed(s.titleHits, pages), zeroed(s.slugHits, pages)
	s.value, s.best = zeroed(s.value, pages), zeroed(s.best, max(sections, pages))
	for i := range p.words {
		w := &p.words[i]
		s.addBest(s.section, &g.sections, w, func(e expansion) float32 { return e.sectionGain })
		s.addBest(s.page, &g.pages, w, func(e expansion) float32 { return e.pageGain })
		if w.plain {
			s.addOnce(s.titleHits, &g.titles, &g.pages, w)
			s.addOnce(s.slugHits, &g.slugs, &g.pages, w)
			s.addOnce(s.headingHits, &g.headings, &g.sections, w)
		}
	}
}

// share is what a word counts in a place: a part of an identifier that the
// index knows counts less in places without the identifier, because someone who
// looks for HTTP/3 doesn't want everything about HTTP. whole has the places of
// identifiers.
func (w *queryWord) share(whole *postings.List, place uint32) float32 {
	if w.whole == nil || slices.ContainsFunc(w.whole, func(e expansion) bool { return whole.Holds(e.term, place) }) {
		return 1
	}
	return partOfWhole
}

// addBest adds to each place the gain of the best expansion that it holds.
func (s *scratch) addBest(to []float32, p *postings.List, w *queryWord, gain func(expansion) float32) {
	if len(w.expansions) == 1 && w.whole == nil {
		v := gain(w.expansions[0])
		for _, at := range p.Of(w.expansions[0].term) {
			to[at.Place] += v * at.Weight
		}
		return
	}
	s.touched = s.touched[:0]
	for _, e := range w.expansions {
		v := gain(e)
		for _, at := range p.Of(e.term) {
			if s.best[at.Place] == 0 {
				s.touched = append(s.touched, at.Place)
			}
			s.best[at.Place] = max(s.best[at.Place], v*at.Weight)
		}
	}
	for _, at := range s.touched {
		to[at] += s.best[at] * w.share(p, at)
		s.best[at] = 0
	}
}

// addOnce adds to each place the gain of the first expansion that it holds.
// whole has the places of identifiers.
func (s *scratch) addOnce(to []float32, p, whole *postings.List, w *queryWord) {
	s.touched = s.touched[:0]
	for _, e := range w.expansions {
		for _, at := range p.Of(e.term) {
			if s.best[at.Place] == 0 {
				s.best[at.Place] = 1
				s.touched = append(s.touched, at.Place)
				to[at.Place] += e.sectionGain * w.share(whole, at.Place)
			}
		}
	}
	for _, at := range s.touched {
		s.best[at] = 0
	}
}

// rank values the pages found: by the best section, with what title, path and
// headings add, and by the evidence of the whole page. Afterwards s.order has
// these pages, s.section the values of their sections.
func (g *generation) rank(p *parsedQuery, scopes []judgement, allowed []bool, s *scratch) {
	s.order, s.scale = s.order[:0], 1
	evidence, secondShare := float32(questionEvidence), float32(0)
	if p.keywords {
		evidence, secondShare = keywordEvidence, keywordSecond
	}
	known, headed, written := p.known, p.headed(), p.written()
	var best, bestPage float32
	var named []uint32 // pages whose title is the query, or a heading as it is written
	for page := range uint32(len(g.docs)) {
		if s.page[page] == 0 || allowed != nil && !allowed[page] {
			continue
		}
		title := titleBonus*likeness(s.titleHits[page], known, g.titleIDF[page]) + slugBonus*likeness(s.slugHits[page], known, g.slugIDF[page])
		var first, second float32
		from, to := g.sectionsOf(page)
		sections, headings, headingIDF := s.section[from:to], s.headingHits[from:to], g.headingIDF[from:to]
		for i, v := range sections {
			if v == 0 {
				continue
			}
			v += title + headingBonus*likeness(headings[i], known, headingIDF[i])
			if headings[i] > (1-rounding)*known {
				v += known * headed(&g.docs[page].Sections[i])
			}
			if written && headings[i] > .5*headingIDF[i] && strings.EqualFold(g.docs[page].Sections[i].Heading, p.text) &&
				g.factor[page] > repeatsFactor && !slices.Contains(named, page) {
				named = append(named, page)
				for j := range p.words {
					v += p.words[j].mostGain()
				}
			}
			sections[i] = v
			if v > first {
				first, second = v, first
			} else if v > second {
				second = v
			}
		}
		if first == 0 {
			continue
		}
		s.value[page] = first + secondShare*second
		best, bestPage = max(best, s.value[page]), max(bestPage, s.page[page])
		s.order = append(s.order, page)
	}
	s.evidence = evidence * best / bestPage
	var top float32
	for _, page := range s.order {
		value, factor := s.value[page]+s.evidence*s.page[page], g.factor[page]*scopes[g.scope[page]].kind
		if factor > repeatsFactor && known-s.titleHits[page] < rounding*known && p.names(g.docs[page].Title) {
			value += verbatimBonus * best
			named = append(named, page)
		}
		s.value[page] = value * factor
		top = max(top, s.value[page])
	}
	if len(p.plain) > 1 {
		for _, page := range named {
			s.value[page] = top + rounding*s.value[page]
		}
	}
}

// likeness is the IDF of a query times the harmonic mean of two shares: what
// of the query is in a field, and what of the field is in the query.
func likeness(hit, query, field float32) float32 {
	if hit == 0 {
		return 0
	}
	return query * 2 * hit / (query + field)
}

// prefer raises the values of the pages that the query prefers.
func (g *generation) prefer(q *retrieval.Query, scopes []judgement, s *scratch) {
	for _, page := range s.order {
		s.value[page] *= scopes[g.scope[page]].factor
	}
	for i, name := range q.Boost {
		if page, ok := g.byPage[name]; ok && !slices.Contains(q.Boost[:i], name) {
			s.value[page] *= boostFactor
		}
	}
}

// bestPages returns the n pages with the highest values, best first.
func (s *scratch) bestPages(n int) []uint32 {
	order := func(a, b uint32) int {
		if v, w := s.value[a], s.value[b]; v != w {
			return cmp.Compare(w, v)
		}
		return cmp.Compare(a, b)
	}
	top := make([]uint32, 0, n+1)
	for _, page := range s.order {
		if len(top) == n && order(top[n-1], page) < 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(top, page, order)
		top = slices.Insert(top, i, page)
		top = top[:min(len(top), n)]
	}
	return top
}
