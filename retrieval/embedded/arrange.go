package embedded

import (
	"cmp"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Found is a section that another ranking found for a query.
type Found struct {
	Page    string
	Section int
	// Value ranks it among the others found; above 0.
	Value float64
	// Similarity is the cosine of its vector and the query's, 0 where it is
	// not known; Mean that of all sections with the query's.
	Similarity, Mean float64
}

// Arrange makes hits of what another ranking found, exactly as Search does:
// with what the query prefers, hubs and changelogs behind, twins apart, two
// sections of a page at most, and scores of the one meaning. Sections that
// this index doesn't hold are left out.
func (x *Index) Arrange(q retrieval.Query, found []Found) ([]retrieval.Hit, error) {
	g := x.current.Load()
	if g == nil {
		return nil, retrieval.ErrNotReady
	}
	q.Limit = min(max(q.Limit, 1), 50)
	s := x.pool.Get().(*scratch)
	defer x.pool.Put(s)
	p := g.parseFor(&q, x, s)
	s.section = zeroed(s.section, len(g.pageOf))
	s.similar = zeroed(s.similar, len(g.pageOf))
	s.value = zeroed(s.value, len(g.docs))
	s.order = s.order[:0]
	sim := &similarity{of: s.similar}
	for _, f := range found {
		page, ok := g.byPage[f.Page]
		if !ok || f.Section < 0 || f.Section >= len(g.docs[page].Sections) || f.Value <= 0 {
			continue
		}
		at := g.first[page] + uint32(f.Section)
		s.section[at] = max(s.section[at], float32(f.Value))
		s.similar[at] = max(s.similar[at], float32(f.Similarity))
		sim.mean = float32(f.Mean)
		if s.value[page] == 0 {
			s.order = append(s.order, uint32(page))
		}
		s.value[page] = max(s.value[page], float32(f.Value)*g.factor[page])
	}
	g.favour(&q, p.language, x.weights, s)
	g.partTwins(s)
	return g.list(&q, p.groups, sim, s), nil
}

// KeyTerms are the words of a text that carry its meaning and that this
// index knows, or knows similar ones of, at most n: where there are more,
// those that the fewest sections hold. They stand in the order of the text,
// parted by spaces and free of marks.
func (x *Index) KeyTerms(q retrieval.Query, n int) string {
	g := x.current.Load()
	if g == nil {
		return ""
	}
	s := x.pool.Get().(*scratch)
	defer x.pool.Put(s)
	p := g.parseFor(&q, x, s)
	groups := slices.DeleteFunc(slices.Clone(p.groups), func(x group) bool { return x.kind != plain || x.mass == 0 || len(x.alts) == 0 })
	if len(groups) > n {
		masses := make([]float32, len(groups))
		for i := range groups {
			masses[i] = groups[i].mass * groups[i].trust
		}
		slices.SortFunc(masses, func(a, b float32) int { return cmp.Compare(b, a) })
		least := masses[n-1]
		groups = slices.DeleteFunc(groups, func(x group) bool { return x.mass*x.trust < least })
		groups = groups[:min(len(groups), n)]
	}
	words := make([]string, len(groups))
	for i := range groups {
		words[i] = groups[i].word
	}
	return strings.Join(words, " ")
}

// parseFor takes a query apart as Search does.
func (g *generation) parseFor(q *retrieval.Query, x *Index, s *scratch) parsed {
	var prefer *language
	if q.Prefer.Language != "" {
		prefer = languageOf(q.Prefer.Language)
	}
	return g.parse(q.Text, q.Question, prefer, x.synonyms, x.weights, s)
}
