package embedded

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	// secondSection is what the second section of a page is worth.
	secondSection = .8
	// least is the least value of a section that was found.
	least = 1e-6
)

// hits lists the best of the ranked pages: the best section of each, and its
// second best where that is nearly as good.
func (g *generation) hits(q *retrieval.Query, p *parsedQuery, similar *similarity, scopes []judgement, s *scratch) []retrieval.Hit {
	type candidate struct {
		page, section uint32
		value         float32
	}
	g.prefer(q, scopes, s)
	g.foldCopies(q, scopes, s)
	shown := q.Limit // what follows is counted only
	if q.Shown > 0 && q.Threshold == 0 {
		shown = q.Shown
	}
	list := make([]candidate, 0, 2*q.Limit)
	// Some pages have only sections that are also on others. There may be thousands
	// of such pages.
	for n := q.Limit; n <= 16*q.Limit; n *= 4 {
		list = list[:0]
		seen := make(map[uint64]bool, 2*q.Limit) // sections, by their sums
		pages := s.bestPages(n)
		for i, page := range pages {
			var first, second candidate
			var focus func(uint32) float32
			sections := g.docs[page].Sections
			folds := q.Open == nil || q.Open.Has(g.docs[page].Page)
			listed := func(section uint32) bool { return folds && seen[sections[section-g.first[page]].Sum] }
			add := func(c candidate) {
				list = append(list, c)
				if sum := sections[c.section-g.first[page]].Sum; folds && sum != 0 {
					seen[sum] = true
				}
			}
			if i < 2*shown {
				focus = g.focusOn(p, page, s)
			}
			for at, to := g.sectionsOf(page); at < to; at++ {
				v := s.section[at]
				if v == 0 {
					continue
				}
				if focus != nil {
					v += s.scale * focus(at)
				}
				switch v = max(v, least); {
				case v <= second.value || listed(at):
				case v > first.value:
					if first.value > 0 && !g.samePlace(page, first.section, at) {
						second = first
					}
					first = candidate{page: page, section: at, value: v}
				case !g.samePlace(page, first.section, at):
					second = candidate{page: page, section: at, value: v}
				}
			}
			if first.value == 0 {
				continue
			}
			second.value *= secondSection * s.value[page] / first.value
			first.value = s.value[page]
			add(first)
			if second.value > 0 && !listed(second.section) {
				add(second)
			}
		}
		if len(list) >= q.Limit || len(pages) < n {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.value, a.value) })
	hits := make([]retrieval.Hit, 0, min(len(list), q.Limit))
	score := 1.0
	for i, c := range list[:min(len(list), q.Limit)] {
		if i < shown {
			score = min(score, g.relevance(p, similar, c.page, c.section))
		}
		if score < q.Threshold {
			break
		}
		hit := retrieval.Hit{Document: g.docs[c.page], Section: int(c.section - g.first[c.page]), Score: score}
		if q.Explain {
			hit.Why = g.explain(q, p, similar, scopes, c.page, c.section, c.value, s)
		}
		hits = append(hits, hit)
	}
	return hits
}

// samePlace reports whether two sections of a page are one place for readers, such
// as the pieces of a long section. Those of headings without an anchor are not,
// although their links are equal; where the page itself has an anchor, they are.
func (g *generation) samePlace(page, a, b uint32) bool {
	d := g.docs[page]
	x, y := &d.Sections[a-g.first[page]], &d.Sections[b-g.first[page]]
	return x.Anchor == y.Anchor && (x.Anchor != "" || x.Heading == y.Heading || strings.Contains(d.URL, "#"))
}

// focusOn chooses among the sections of a page by the words of a query that its
// title doesn't have: "reverse proxy headers" leads to the section Headers of
// the page Reverse proxy, not to its introduction. A query of the title's words
// alone leads to the beginning of the page, or to a heading that is the query
// where the title is more. It returns a function of what to add to a section's
// value, nil if there is nothing to choose.
func (g *generation) focusOn(p *parsedQuery, page uint32, s *scratch) func(section uint32) float32 {
	var shared, rest []*queryWord // those in the title, and the others
	restIDF := float32(0)
	for i := range p.words {
		w := &p.words[i]
		inTitle := func(e expansion) bool { return g.titles.Holds(e.term, page) }
		switch {
		case !w.plain || len(w.expansions) == 0:
		case slices.ContainsFunc(w.expansions, inTitle):
			shared = append(shared, w)
		default:
			rest = append(rest, w)
			restIDF += w.mostGain()
		}
	}
	if shared == nil {
		return nil
	}
	if rest == nil {
		least, most := (1-rounding)*p.known, (1+rounding)*p.known
		return func(section uint32) float32 {
			switch {
			case section == g.first[page]:
				return focusBonus * p.known
			case g.titleIDF[page] > most && g.headingIDF[section] < most && s.headingHits[section] > least:
				return 2 * focusBonus * p.known
			}
			return 0
		}
	}
	return func(section uint32) (v float32) {
		heading, hit := g.headingIDF[section], float32(0)
		for _, w := range shared {
			best := float32(0)
			for _, e := range w.expansions {
				best = max(best, e.sectionGain*g.sections.Weight(e.term, section))
				if g.headings.Holds(e.term, section) {
					heading -= g.sectionIDF[e.term]
				}
			}
			v -= (1 - titleWord) * best
		}
		for _, w := range rest {
			best := float32(0)
			for _, e := range w.expansions {
				if g.headings.Holds(e.term, section) {
					best = max(best, e.sectionGain)
				}
			}
			hit += best
		}
		return v + focusBonus*likeness(hit, restIDF, max(0, heading))
	}
}

// where returns where on its page a section has a term, and how much the term
// counts there in a hit's score.
func (g *generation) where(term, page, section uint32) (name string, counts float64) {
	switch {
	case g.titles.Holds(term, page):
		return "title", 1
	case g.headings.Holds(term, section):
		return "heading", .8
	case g.sections.Holds(term, section):
		return "text", .6
	case g.pages.Holds(term, page):
		return "elsewhere on the page", .3
	}
	return "", 0
}

// relevance is the score of a hit: the share of the query's IDF that the
// section covers, an unknown word having the highest. A word counts by where
// it is found, one that had to be corrected half. With vectors the score is
// at least how far the section's similarity rises above the mean of all
// sections. The caller makes scores fall down the list.
func (g *generation) relevance(p *parsedQuery, similar *similarity, page, section uint32) float64 {
	var sum, covered float64
	for i := range p.words {
		w := &p.words[i]
		if !w.plain {
			continue
		}
		best := 0.
		for _, e := range w.expansions {
			_, counts := g.where(e.term, page, section)
			best = max(best, counts*float64(e.weight*w.trust))
		}
		// A part of an identifier counts in full where the identifier is.
		best *= float64(w.share(&g.sections, section))
		for _, e := range slices.Concat(w.spanning...) {
			_, counts := g.where(e.term, page, section)
			best = max(best, counts*float64(e.weight))
		}
		sum += float64(w.idf)
		covered += best * float64(w.idf)
	}
	score := min(1, covered/max(sum, least))
	if similar != nil {
		score = max(score, similar.score(section))
	}
	return math.Round(score*1e4) / 1e4
}
