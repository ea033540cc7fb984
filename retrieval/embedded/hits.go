package embedded

import (
	"cmp"
	"math"
	"slices"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	maxHits = retrieval.MaxHits
	// secondSection is what the second section of a page is worth.
	secondSection = .8
	// variantFactor puts all variants of a page but one behind everything else.
	variantFactor = 1e-6
)

// hits lists the best of the pages ranked: of each page its best section, and
// its second where that is nearly as good.
func (g *generation) hits(q *retrieval.Query, p *parsedQuery, similar *similarity, s *scratch) []retrieval.Hit {
	type candidate struct {
		page, section uint32
		value         float32
	}
	var list []candidate
	g.prefer(q, p.language, s)
	g.demoteVariants(s)
	for _, page := range s.bestPages(q.Limit) {
		var first, second candidate
		for at, to := g.sectionsOf(page); at < to; at++ {
			if v := s.section[at]; v > first.value {
				first, second = candidate{page, at, v}, first
			} else if v > second.value {
				second = candidate{page, at, v}
			}
		}
		if first.value == 0 {
			continue
		}
		second.value *= secondSection * s.value[page] / first.value
		first.value = s.value[page]
		list = append(list, first)
		if second.value > 0 {
			list = append(list, second)
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.value, a.value) })
	hits := make([]retrieval.Hit, 0, min(len(list), q.Limit))
	score := 1.0
	for _, c := range list[:min(len(list), q.Limit)] {
		score = min(score, g.relevance(p, similar, c.page, c.section))
		if score < q.Threshold {
			break
		}
		hits = append(hits, retrieval.Hit{Document: g.docs[c.page], Section: int(c.section - g.first[c.page]), Score: score})
	}
	return hits
}

// demoteVariants leaves the best variant of each page in its place, and moves
// the others behind all other pages.
func (g *generation) demoteVariants(s *scratch) {
	best := map[uint32]uint32{} // variants → the best of their pages
	for _, page := range s.order {
		v := g.variants[page]
		if other, ok := best[v]; v != 0 && (!ok || s.value[page] > s.value[other]) {
			best[v] = page
		}
	}
	for _, page := range s.order {
		if v := g.variants[page]; v != 0 && best[v] != page {
			s.value[page] *= variantFactor
		}
	}
}

// What a word of the query counts in a hit's score, by where it is found.
const (
	inTitle   = 1.
	inHeading = .8
	inText    = .6
	onPage    = .3
)

// relevance is the score of a hit: the share of the query's IDF that the
// section covers, an unknown word having the highest. A word counts by where
// it is found, one that had to be corrected half. With vectors the score is
// at least how far the section's similarity rises above the mean of all
// sections. The caller makes scores fall down the list.
func (g *generation) relevance(p *parsedQuery, similar *similarity, page, section uint32) float64 {
	var sum, covered float64
	for i := range p.words {
		w := &p.words[i]
		if w.kind != plain {
			continue
		}
		best := 0.
		for _, e := range w.expansions {
			where := 0.
			switch {
			case holds(g.titles[e.term], page):
				where = inTitle
			case holds(g.headings[e.term], section):
				where = inHeading
			case holds(g.sections[e.term], section):
				where = inText
			case holds(g.pages[e.term], page):
				where = onPage
			}
			best = max(best, where*float64(e.weight*w.trust))
		}
		sum += float64(w.idf)
		covered += best * float64(w.idf)
	}
	score := 0.
	if sum > 0 {
		score = min(1, covered/sum)
	}
	if similar != nil {
		score = max(score, similar.score(section))
	}
	return math.Round(score*1e4) / 1e4
}
