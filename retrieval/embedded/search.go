package embedded

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// scratch is what one search works in; it is used again by later ones.
type scratch struct {
	section, page      []float32 // scores
	best               []float32 // of one group
	touched            []uint32
	titleHit, headHit  []float32
	pageBest, pageRank []float32
	groups             []group
	order              []uint32
	items              []item
}

type item struct {
	page, section uint32
	value         float32
}

func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// search ranks the sections of a generation for a query.
func (g *generation) search(ctx context.Context, q *retrieval.Query, synonyms map[string][]string, w *weights, s *scratch) ([]retrieval.Hit, error) {
	var prefer *language
	if q.Prefer.Language != "" {
		prefer = languageOf(q.Prefer.Language)
	}
	groups := g.parse(q.Text, q.Question, prefer, synonyms, w, s)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.section = grow(s.section, len(g.pageOf))
	s.best = grow(s.best, len(g.pageOf))
	s.headHit = grow(s.headHit, len(g.pageOf))
	s.page = grow(s.page, len(g.docs))
	s.titleHit = grow(s.titleHit, len(g.docs))
	s.pageBest = grow(s.pageBest, len(g.docs))

	var mass float32 // of the query's plain words that the index knows
	for i := range groups {
		x := &groups[i]
		g.score(x, s)
		if x.kind == plain {
			m := float32(0)
			for _, a := range x.alts {
				m = max(m, a.gain)
			}
			mass += m
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	allowed, all := g.filters.allowed(q.Filter)
	g.rank(q, allowed, all, mass, w, s)
	if len(s.order) == 0 {
		return []retrieval.Hit{}, nil
	}
	return g.list(q, groups, s), nil
}

// score adds what one word of the query is worth to every section, page,
// title and heading that holds it.
func (g *generation) score(x *group, s *scratch) {
	if len(x.alts) == 1 {
		a := x.alts[0]
		place, weight := g.byTerm.of(a.term)
		for i, p := range place {
			s.section[p] += a.gain * weight[i]
		}
		place, weight = g.pages.of(a.term)
		for i, p := range place {
			s.page[p] += a.onPage * weight[i]
		}
	} else {
		s.max(s.section, x.alts, &g.byTerm, false)
		s.max(s.page, x.alts, &g.pages, true)
	}
	if x.kind != plain {
		return
	}
	for i, a := range x.alts {
		// A title that holds two alternatives of a word holds the word once.
		for _, p := range g.titles.of(a.term) {
			if i == 0 || !g.holds(&g.titles, x.alts[:i], p) {
				s.titleHit[p] += a.gain
			}
		}
		for _, p := range g.heads.of(a.term) {
			if i == 0 || !g.holds(&g.heads, x.alts[:i], p) {
				s.headHit[p] += a.gain
			}
		}
	}
}

func (g *generation) holds(m *members, alts []alternative, place uint32) bool {
	for _, a := range alts {
		if _, ok := slices.BinarySearch(m.of(a.term), place); ok {
			return true
		}
	}
	return false
}

// max adds to every place the best of the alternatives that it holds.
func (s *scratch) max(to []float32, alts []alternative, p *postings, onPage bool) {
	s.touched = s.touched[:0]
	for _, a := range alts {
		gain := a.gain
		if onPage {
			gain = a.onPage
		}
		place, weight := p.of(a.term)
		for i, at := range place {
			v := gain * weight[i]
			if s.best[at] == 0 {
				s.touched = append(s.touched, at)
			}
			s.best[at] = max(s.best[at], v)
		}
	}
	for _, at := range s.touched {
		to[at] += s.best[at]
		s.best[at] = 0
	}
}

// rank leaves the pages found in s.order, best first, with their value in
// s.pageBest, and the sections' own values in s.section.
func (g *generation) rank(q *retrieval.Query, allowed bitset, all bool, mass float32, w *weights, s *scratch) {
	s.order = s.order[:0]
	var top, topPage float32
	for p := range g.docs {
		if s.page[p] == 0 || !all && !allowed.has(uint32(p)) {
			continue
		}
		title := w.titleBonus * mass * 2 * s.titleHit[p] / max(mass+g.titleMass[p], 1e-9)
		best := float32(0)
		for n := g.first[p]; n < g.first[p+1]; n++ {
			if s.section[n] == 0 {
				continue
			}
			v := s.section[n] + title
			if h := s.headHit[n]; h > 0 {
				v += w.headBonus * mass * 2 * h / (mass + g.headMass[n])
			}
			s.section[n] = v
			best = max(best, v)
		}
		if best == 0 {
			continue
		}
		s.pageBest[p] = best
		top = max(top, best)
		topPage = max(topPage, s.page[p])
		s.order = append(s.order, uint32(p))
	}
	boosted := map[int32]bool(nil)
	if len(q.Boost) > 0 {
		boosted = map[int32]bool{}
		for _, b := range q.Boost {
			if p, ok := g.byPage[b]; ok {
				boosted[p] = true
			}
		}
	}
	for _, p := range s.order {
		v := s.pageBest[p] + w.pageEvidence*s.page[p]/topPage*top
		v *= g.factor[p]
		if boosted[int32(p)] {
			v *= w.boost
		}
		s.pageBest[p] = v * g.preference(p, q, w)
	}
	slices.SortFunc(s.order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(s.pageBest[b], s.pageBest[a]), cmp.Compare(a, b))
	})
}

func (g *generation) preference(p uint32, q *retrieval.Query, w *weights) float32 {
	f := float32(1)
	d := g.docs[p]
	if q.Prefer.Version != "" && q.Filter.Version == "" && normal(d.Version) == normal(q.Prefer.Version) {
		f *= w.preferred
	}
	if q.Prefer.Language != "" && q.Filter.Language == "" && normalLanguage(d.Language) == normalLanguage(q.Prefer.Language) {
		f *= w.preferred
	}
	return f
}

// perPage is how many sections of one page stand among the first ten hits.
const perPage = 2

// list turns pages into hits: of every page its best section, and its
// second where that is nearly as good.
func (g *generation) list(q *retrieval.Query, groups []group, s *scratch) []retrieval.Hit {
	s.items = s.items[:0]
	pages := s.order[:min(len(s.order), q.Limit)]
	for _, p := range pages {
		from := len(s.items)
		for n := g.first[p]; n < g.first[p+1]; n++ {
			if s.section[n] > 0 {
				s.items = append(s.items, item{p, n, s.section[n]})
			}
		}
		own := s.items[from:]
		slices.SortFunc(own, func(a, b item) int {
			return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.section, b.section))
		})
		s.items = s.items[:from+min(len(own), perPage)]
		best := own[0].value
		for i := range s.items[from:] {
			x := &s.items[from+i]
			x.value = s.pageBest[p] * x.value / best
			if i > 0 {
				x.value *= .8
			}
		}
	}
	slices.SortStableFunc(s.items, func(a, b item) int { return cmp.Compare(b.value, a.value) })
	hits := make([]retrieval.Hit, 0, q.Limit)
	score := 1.0
	for _, x := range s.items {
		if len(hits) == q.Limit {
			break
		}
		score = min(score, g.relevance(groups, x.page, x.section))
		if score < q.Threshold {
			break
		}
		hits = append(hits, retrieval.Hit{Document: g.docs[x.page], Section: int(x.section - g.first[x.page]), Score: score})
	}
	return hits
}

// relevance is the share of the query's mass (the idf of its words, those
// that the index doesn't know counted as the rarest) that a section covers:
// a word in the section counts .6, in its headings .8, in the page's title
// 1, a corrected word half.
func (g *generation) relevance(groups []group, page, section uint32) float64 {
	var sum, got float64
	for i := range groups {
		x := &groups[i]
		if x.kind != plain {
			continue
		}
		sum += float64(x.mass)
		best := 0.0
		for _, a := range x.alts {
			v := 0.0
			switch {
			case holdsPlace(g.titles.of(a.term), page):
				v = 1
			case holdsPlace(g.heads.of(a.term), section):
				v = .8
			default:
				if place, _ := g.byTerm.of(a.term); holdsPlace(place, section) {
					v = .6
				}
			}
			best = max(best, v*float64(a.weight*x.trust))
		}
		got += best * float64(x.mass)
	}
	if sum == 0 {
		return 0
	}
	return min(1, got/sum)
}

func holdsPlace(places []uint32, place uint32) bool {
	i := sort.Search(len(places), func(i int) bool { return places[i] >= place })
	return i < len(places) && places[i] == place
}
