package embedded

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// scratch is what one search works in; later ones use it again.
type scratch struct {
	section, page              []float32 // scores
	best                       []float32 // of one group
	touched                    []uint32
	titleHit, slugHit, headHit []float32
	value                      []float32 // of pages, in the end
	nearness                   []float32 // of pages, likewise
	similar                    []float32 // of sections to the query's vector
	groups                     []group
	suggestions                []suggestion
	order                      []uint32
	items                      []item
	twins                      []uint32
}

type item struct {
	page, section uint32
	value         float32
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
func (g *generation) search(ctx context.Context, q *retrieval.Query, words *wording, w *weights, s *scratch) ([]retrieval.Hit, error) {
	p := g.parseFor(q, words, w, s)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	mass := g.scoreWords(&p, s)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	allowed, all := g.filters.allowed(q.Filter)
	g.rank(allowed, all, p.keywords(), mass, w, s)
	var similarity *similarity
	if g.vectors.fits(q.Vector) {
		var err error
		if similarity, err = g.vectors.compare(ctx, q.Vector, s); err != nil {
			return nil, err
		}
		g.fuse(similarity, allowed, all, p.words, w, s)
	}
	g.favour(q, p.language, w, s)
	g.partTwins(s)
	return g.list(q, p.groups, similarity, s), nil
}

// scoreWords scores all words of a query, and returns the mass of the plain
// ones that the index knows.
func (g *generation) scoreWords(p *parsed, s *scratch) (mass float32) {
	s.section = zeroed(s.section, len(g.pageOf))
	s.best = zeroed(s.best, len(g.pageOf))
	s.headHit = zeroed(s.headHit, len(g.pageOf))
	s.page = zeroed(s.page, len(g.docs))
	s.titleHit = zeroed(s.titleHit, len(g.docs))
	s.slugHit = zeroed(s.slugHit, len(g.docs))
	s.value = zeroed(s.value, len(g.docs))

	for i := range p.groups {
		x := &p.groups[i]
		g.score(x, s)
		if x.kind == plain {
			m := float32(0)
			for _, a := range x.alts {
				m = max(m, a.gain)
			}
			mass += m
		}
	}
	return mass
}

// score adds what one word of the query is worth to every section, page,
// title, path and heading that holds it.
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
	if x.kind == plain {
		g.titles.hit(s.titleHit, x.alts)
		g.slugs.hit(s.slugHit, x.alts)
		g.heads.hit(s.headHit, x.alts)
	}
}

// hit adds the gain of a word to every place that holds it, once where the
// place holds several of its alternatives.
func (m *members) hit(to []float32, alts []alternative) {
	for i, a := range alts {
		for _, p := range m.of(a.term) {
			if i == 0 || !slices.ContainsFunc(alts[:i], func(b alternative) bool { return holds(m.of(b.term), p) }) {
				to[p] += a.gain
			}
		}
	}
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

// rank values every page found: its best section, with what titles, path
// and headings add, and the evidence of the whole page. s.order holds the
// pages, s.section the sections' own values.
func (g *generation) rank(allowed bitset, all, keywords bool, mass float32, w *weights, s *scratch) {
	s.order = s.order[:0]
	evidence, runnerUp := w.pageEvidence, float32(0)
	if keywords {
		evidence, runnerUp = w.keywordEvidence, w.keywordSecond
	}
	var top, topPage float32
	for p := range g.docs {
		if s.page[p] == 0 || !all && !allowed.has(uint32(p)) {
			continue
		}
		title := w.titleBonus*likeness(s.titleHit[p], mass, g.titleMass[p]) + w.slugBonus*likeness(s.slugHit[p], mass, g.slugMass[p])
		from, to := g.first[p], g.first[p+1]
		sections, heads, masses := s.section[from:to], s.headHit[from:to], g.headMass[from:to]
		// No value is below 0, and those order as their bits do: as whole
		// numbers they are compared without a branch to mispredict.
		var first, second uint32
		for i, v := range sections {
			if v != 0 && (heads[i] != 0 || title != 0) {
				v += title + w.headBonus*likeness(heads[i], mass, masses[i])
				sections[i] = v
			}
			bits := math.Float32bits(v)
			second = max(second, min(first, bits))
			first = max(first, bits)
		}
		if first == 0 {
			continue
		}
		best := math.Float32frombits(first) + runnerUp*math.Float32frombits(second)
		s.value[p] = best
		if best > top {
			top = best
		}
		if s.page[p] > topPage {
			topPage = s.page[p]
		}
		s.order = append(s.order, uint32(p))
	}
	for _, p := range s.order {
		s.value[p] = (s.value[p] + evidence*s.page[p]/topPage*top) * g.factor[p]
	}
}

// likeness is the mass of a query times the harmonic mean of two shares:
// what of the query stands in a field, and what of the field in the query.
func likeness(hit, query, field float32) float32 {
	if hit == 0 {
		return 0
	}
	return query * 2 * hit / (query + field)
}

// favour raises the pages that the query prefers, and leaves the best of
// all in s.order, best first.
func (g *generation) favour(q *retrieval.Query, spoken language.Language, w *weights, s *scratch) {
	version, lang := normal(q.Prefer.Version), normalLanguage(q.Prefer.Language)
	if q.Filter.Version != "" {
		version = ""
	}
	if q.Filter.Language != "" {
		lang = ""
	}
	for _, p := range s.order {
		d := g.docs[p]
		if version != "" && normal(d.Version) == version {
			s.value[p] *= w.preferred
		}
		switch {
		case q.Filter.Language != "" || len(g.langs) == 1:
		case spoken != "":
			// A question asked in French wants French pages, whatever the
			// site's language.
			if g.counts[p].lang == spoken {
				s.value[p] *= w.preferred
			}
		case lang != "" && normalLanguage(d.Language) == lang:
			s.value[p] *= w.preferred
		}
	}
	for i, b := range q.Boost {
		if p, ok := g.byPage[b]; ok && !slices.Contains(q.Boost[:i], b) {
			s.value[p] *= w.boost
		}
	}
	n := q.Limit
	if g.twins {
		n = 4 * 50 // they take places in the list, too
	}
	s.sortBest(n)
}

// sortBest leaves the n best pages in s.order, sorted.
func (s *scratch) sortBest(n int) {
	better := func(a, b uint32) bool { return s.value[a] > s.value[b] || s.value[a] == s.value[b] && a < b }
	h := s.order
	if len(h) > n {
		// A heap of the best so far, the worst of them on top.
		down := func(i int) {
			for {
				c := 2*i + 1
				if c >= n {
					return
				}
				if c+1 < n && better(h[c], h[c+1]) {
					c++
				}
				if better(h[c], h[i]) {
					return
				}
				h[i], h[c] = h[c], h[i]
				i = c
			}
		}
		for i := n/2 - 1; i >= 0; i-- {
			down(i)
		}
		for _, p := range h[n:] {
			if better(p, h[0]) {
				h[0] = p
				down(0)
			}
		}
		h = h[:n]
	}
	slices.SortFunc(h, func(a, b uint32) int {
		if better(a, b) {
			return -1
		}
		return 1
	})
	s.order = h
}

// partTwins leaves the best of every page's twins where it is and moves the
// others behind everything else.
func (g *generation) partTwins(s *scratch) {
	s.twins = s.twins[:0]
	kept := s.order[:0]
	var later []uint32
	for _, p := range s.order {
		if t := g.twin[p]; t != 0 {
			if slices.Contains(s.twins, t) {
				later = append(later, p)
				continue
			}
			if len(s.twins) < 4*50 {
				s.twins = append(s.twins, t)
			}
		}
		kept = append(kept, p)
	}
	if len(later) == 0 {
		return
	}
	if len(kept) > 0 {
		// Behind everything, in value too: hits are sorted by it.
		least := s.value[kept[len(kept)-1]]
		for i, p := range later {
			s.value[p] = min(s.value[p], least) * .5 / float32(i+1)
		}
	}
	s.order = append(kept, later...)
}

const (
	// perPage is how many sections of one page stand among the first ten
	// hits, and in longer lists.
	perPage = 2
	// secondSection is what the second section of a page is worth.
	secondSection = .8
)

// list turns pages into hits: of every page its best section, and its
// second where that is nearly as good.
func (g *generation) list(q *retrieval.Query, groups []group, sim *similarity, s *scratch) []retrieval.Hit {
	s.items = s.items[:0]
	for _, p := range s.order[:min(len(s.order), q.Limit)] {
		var own [perPage]item
		n := 0
		for at := g.first[p]; at < g.first[p+1]; at++ {
			v := s.section[at]
			if v <= 0 {
				continue
			}
			i := min(n, perPage)
			for i > 0 && own[i-1].value < v {
				if i < perPage {
					own[i] = own[i-1]
				}
				i--
			}
			if i < perPage {
				own[i] = item{p, at, v}
				n = min(n+1, perPage)
			}
		}
		best := own[0].value
		for i := range own[:n] {
			x := own[i]
			x.value = s.value[p] * x.value / best
			if i > 0 {
				x.value *= secondSection
			}
			s.items = append(s.items, x)
		}
	}
	slices.SortStableFunc(s.items, func(a, b item) int { return cmp.Compare(b.value, a.value) })
	hits := make([]retrieval.Hit, 0, min(len(s.items), q.Limit))
	score := 1.0
	for _, x := range s.items {
		if len(hits) == q.Limit {
			break
		}
		score = min(score, g.relevance(groups, sim, x.page, x.section))
		if score < q.Threshold {
			break
		}
		hits = append(hits, retrieval.Hit{Document: g.docs[x.page], Section: int(x.section - g.first[x.page]), Score: score})
	}
	return hits
}
