package embedded

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Candidate is a section that another search engine found for a query.
type Candidate struct {
	Page    string
	Section int
	// Rank is its place, from 0, in the keyword search; below 0 it was found
	// by its vector only.
	Rank int
	// Similarity is the cosine of its vector and the query's, 0 if unknown.
	Similarity float64
}

// unranked is what a page is worth that only the other engine found by
// keywords, as a share of the least value of all that this index found.
const unranked = .5

// Rerank returns hits from what another engine found and what this index finds
// by keywords, ranked as Search does: scored by the same words, fused with the
// similarities given. mean is the mean similarity of all sections. ratio is
// the weight of vectors, see Options.SemanticRatio. Sections that this index
// doesn't hold are left out.
func (x *Index) Rerank(q retrieval.Query, found []Candidate, mean, ratio float64) ([]retrieval.Hit, error) {
	g := x.current.Load()
	if g == nil {
		return nil, retrieval.ErrNotReady
	}
	g = g.only(q.Pages)
	q.Limit = min(max(q.Limit, 1), maxHits)
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	p := g.parse(&q, &x.wording)
	g.scoreWords(&p, s)
	g.rank(&p, g.filtered(q.Filter), s)

	candidates := make([]bool, len(g.docs)) // pages
	for _, page := range s.order {
		candidates[page] = true
	}
	s.similarity = zeroed(s.similarity, g.sectionCount())
	similar := &similarity{of: s.similarity, mean: float32(mean), partial: true}
	for _, f := range found {
		if page, at, ok := g.sectionOf(f); ok {
			candidates[page] = true
			s.similarity[at] = max(s.similarity[at], float32(f.Similarity))
			similar.top = max(similar.top, s.similarity[at])
		}
	}
	g.addUnranked(found, s)
	if ratio > 0 {
		g.fuse(similar, candidates, p.semanticShare(ratio), s)
	}
	return g.hits(&q, &p, similar, s), nil
}

// sectionOf returns the page and the section of a candidate.
func (g *generation) sectionOf(c Candidate) (page, section uint32, ok bool) {
	page, ok = g.byPage[c.Page]
	if !ok || c.Section < 0 || c.Section >= len(g.docs[page].Sections) {
		return 0, 0, false
	}
	return page, g.first[page] + uint32(c.Section), true
}

// addUnranked adds the pages that only the other engine found by keywords (it
// knows typing errors and forms of words that this index doesn't) below all
// that this index found.
func (g *generation) addUnranked(found []Candidate, s *scratch) {
	least := float32(1)
	for _, page := range s.order {
		least = min(least, s.value[page])
	}
	for _, f := range found {
		page, at, ok := g.sectionOf(f)
		if !ok || f.Rank < 0 || s.value[page] > 0 {
			continue
		}
		s.section[at] = least * unranked / (1 + float32(f.Rank)/10)
		s.value[page] = s.section[at] * g.factor[page]
		s.order = append(s.order, page)
	}
}

// bigramsPerWord is how many pairs of characters count as one word in scripts
// without spaces: about those of a word of three or four characters.
const bigramsPerWord = 3

// KeyTerms returns the words of a query that carry its meaning and that this
// index knows, or knows similar ones of: at most n, those that the fewest
// sections hold. They are in the order of the text, separated by spaces and
// without punctuation. In scripts without spaces they are runs of characters,
// which the other engine splits itself.
func (x *Index) KeyTerms(q retrieval.Query, n int) string {
	g := x.current.Load()
	if g == nil {
		return ""
	}
	words := g.only(q.Pages).parse(&q, &x.wording).words
	var terms []int // of words
	for i := range words {
		if w := &words[i]; w.kind == plain && w.idf != 0 && len(w.expansions) > 0 {
			terms = append(terms, i)
		}
	}
	slices.SortStableFunc(terms, func(a, b int) int {
		return cmp.Compare(words[b].idf*words[b].trust, words[a].idf*words[a].trust)
	})
	room := n * bigramsPerWord
	for i, at := range terms {
		cost := bigramsPerWord
		if r, _ := utf8.DecodeRuneInString(words[at].text); unspaced(r) {
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
		text := words[at].text
		first, size := utf8.DecodeRuneInString(text)
		if i > 0 && terms[i-1] == at-1 && unspaced(first) {
			if last, _ := utf8.DecodeLastRuneInString(words[at-1].text); last == first {
				out.WriteString(text[size:]) // two pairs of one run
				continue
			}
		}
		if i > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(text)
	}
	return out.String()
}
