package embedded

import (
	"slices"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// maxNarrowed is how many narrowed generations are kept: one of the pages that
// everyone can open, and one of those that some readers can.
const maxNarrowed = 2

// narrowedSet is a generation of some of the pages of another one.
type narrowedSet struct {
	pages *retrieval.PageSet
	*generation
}

// only returns a generation of the pages of a set alone, so that hits, scores and
// corrections reveal nothing about other pages. The first query with the set
// makes it. A nil set has all pages.
func (g *generation) only(pages *retrieval.PageSet) *generation {
	if pages == nil {
		return g
	}
	g.narrowing.Lock()
	defer g.narrowing.Unlock()
	for _, n := range g.narrowed {
		if n.pages == pages {
			return n.generation
		}
	}
	n := narrowedSet{pages, g.narrow(pages)}
	g.narrowed = slices.Insert(g.narrowed, 0, n)
	g.narrowed = g.narrowed[:min(len(g.narrowed), maxNarrowed)]
	return n.generation
}

func (g *generation) narrow(pages *retrieval.PageSet) *generation {
	c := contents{lexicon: g.lexicon}
	if g.vectors != nil {
		c.vectors = &matrix{dim: g.vectors.dim}
	}
	section, row := uint32(0), 0
	for page, d := range g.docs {
		from, to := g.sectionsOf(uint32(page))
		has := pages.Has(d.Page)
		for ; c.vectors != nil && row < len(g.vectors.section) && g.vectors.section[row] < to; row++ {
			if has {
				c.vectors.section = append(c.vectors.section, section+g.vectors.section[row]-from)
				c.vectors.values = append(c.vectors.values, g.vectors.values[row*c.vectors.dim:(row+1)*c.vectors.dim]...)
			}
		}
		if has {
			c.docs, c.words = append(c.docs, d), append(c.words, g.words[page])
			if g.texts != nil {
				c.texts = append(c.texts, g.texts[page])
			}
			section += to - from
		}
	}
	if len(c.docs) == len(g.docs) {
		return g
	}
	return newGeneration(c)
}
