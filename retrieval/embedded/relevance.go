package embedded

import "math"

// What a word of the query counts towards a hit's score by where it is
// found.
const (
	inTitle   = 1.
	inHeading = .8
	inSection = .6
	onPage    = .3
)

// relevance is a hit's score by itself: the share of the query's mass that
// the section covers. The mass of a word is its idf, that of a word unknown
// to the index the highest; it counts fully in the page's title, .8 in the
// section's headings, .6 in its text, .3 elsewhere on the page, and half of
// that for a word that had to be corrected. With vectors it is at least how
// far the section's similarity rises above the mean of all sections, of
// what is left to 1, to the power of 1.5: models differ in where their
// similarities lie, not in this. List makes it fall down the list: a hit's
// score is the least of its own and of those above it.
func (g *generation) relevance(groups []group, sim *similarity, page, section uint32) float64 {
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
			if holds(g.titles.of(a.term), page) {
				v = inTitle
			} else if holds(g.heads.of(a.term), section) {
				v = inHeading
			} else if place, _ := g.byTerm.of(a.term); holds(place, section) {
				v = inSection
			} else if place, _ := g.pages.of(a.term); holds(place, page) {
				v = onPage
			}
			best = max(best, v*float64(a.weight*x.trust))
		}
		got += best * float64(x.mass)
	}
	score := 0.0
	if sum > 0 {
		score = min(1, got/sum)
	}
	if sim != nil {
		score = max(score, sim.score(section))
	}
	return math.Round(score*1e4) / 1e4
}

// holds reports whether rising places have one among them.
func holds(places []uint32, place uint32) bool {
	lo, hi := 0, len(places)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if places[mid] < place {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(places) && places[lo] == place
}
