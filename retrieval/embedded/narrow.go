package embedded

import (
	"slices"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// maxNarrowed is how many narrowed generations are kept: of the pages that
// everyone can open, and of those that some can.
const maxNarrowed = 2

// narrowedSet is a generation of some of the pages of another one.
type narrowedSet struct {
	pages *retrieval.PageSet
	*generation
}

// only returns the generation of the pages of a set alone. In what it finds,
// its scores and its corrections, nothing of the other pages shows. It is made
// by the first query with the set. A nil set has all pages.
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
	var docs []*retrieval.Document
	var texts []*pageTexts
	var counted []*words.PageWords
	var vectors *matrix
	if g.vectors != nil {
		vectors = &matrix{dim: g.vectors.dim}
	}
	section, row := uint32(0), 0
	for page, d := range g.docs {
		from, to := g.sectionsOf(uint32(page))
		has := pages.Has(d.Page)
		for ; vectors != nil && row < len(g.vectors.section) && g.vectors.section[row] < to; row++ {
			if has {
				vectors.section = append(vectors.section, section+g.vectors.section[row]-from)
				vectors.values = append(vectors.values, g.vectors.values[row*vectors.dim:(row+1)*vectors.dim]...)
			}
		}
		if has {
			docs, counted = append(docs, d), append(counted, g.words[page])
			if g.texts != nil {
				texts = append(texts, g.texts[page])
			}
			section += to - from
		}
	}
	if len(docs) == len(g.docs) {
		return g
	}
	return newGeneration(docs, texts, counted, g.lexicon, vectors)
}
