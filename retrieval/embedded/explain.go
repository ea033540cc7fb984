package embedded

import (
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// explain returns, a line each, what a section's place in the list comes from:
// what each word counts and where it is found; what title, path, headings and
// the whole page add; and the factors of the page.
func (g *generation) explain(q *retrieval.Query, p *parsedQuery, similar *similarity, scopes []judgement, page, section uint32, value float32, s *scratch) (why []string) {
	var found, missing, added, factors []string
	for i := range p.words {
		w := &p.words[i]
		best, text := float32(-1), ""
		for _, e := range w.expansions {
			where, _ := g.where(e.term, page, section)
			v := e.sectionGain * g.sections.Weight(e.term, section) * w.share(&g.sections, section)
			if where == "" || v <= best {
				continue
			}
			best, text = v, fmt.Sprintf("%s %.2f (%s)", w.text, v, where)
			if w.trust < 1 {
				text = fmt.Sprintf("%s, found as %s, %.2f (%s)", w.text, e.stem, v, where)
			}
		}
		if text != "" {
			found = append(found, text)
		} else if w.plain {
			missing = append(missing, w.text)
		}
	}
	known, second, verbatim := p.known, float32(0), float32(0)
	from, to := g.sectionsOf(page)
	if values := slices.Sorted(slices.Values(s.section[from:to])); p.keywords && similar == nil && len(values) > 1 {
		second = keywordSecond * values[len(values)-2]
	}
	if s.headingHits[section] > (1-rounding)*known {
		verbatim = known * p.headed()(&g.docs[page].Sections[section-from])
	}
	add := func(name string, v float32) {
		if v != 0 {
			added = append(added, fmt.Sprintf("%s +%.2f", name, v))
		}
	}
	add("title", titleBonus*likeness(s.titleHits[page], known, g.titleIDF[page]))
	add("path", slugBonus*likeness(s.slugHits[page], known, g.slugIDF[page]))
	add("heading", headingBonus*likeness(s.headingHits[section], known, g.headingIDF[section]))
	add("the query in the heading", verbatim)
	add("the page's second section", second)
	add("all of the page", s.evidence*s.page[page])
	if p.names(g.docs[page].Title) {
		added = append(added, "the title is the query")
	}
	if p.written() && slices.ContainsFunc(g.docs[page].Sections, func(s retrieval.Section) bool { return strings.EqualFold(s.Heading, p.text) }) {
		added = append(added, "a heading is written like the query")
	}
	if similar != nil {
		added = append(added, fmt.Sprintf("similarity %.2f, of at most %.2f", similar.of[section], similar.top))
	}
	scope, boost, copies := g.scope[page], float32(1), 0
	if slices.Contains(q.Boost, g.docs[page].Page) {
		boost = boostFactor
	}
	for i, v := range []float32{g.factor[page], scopes[scope].kind, scopes[scope].factor, boost} {
		if v != 1 {
			name := []string{"repeats other pages", string(g.scopes[scope].kind), "the reader's version or language", "the reader's page"}[i]
			factors = append(factors, fmt.Sprintf("%s ×%.2f", name, v))
		}
	}
	for _, group := range g.copies {
		if group != 0 && group == g.copies[page] {
			copies++
		}
	}
	if copies > 1 {
		factors = append(factors, fmt.Sprintf("one of %d copies", copies))
	}
	for i, parts := range [][]string{found, missing, added, factors} {
		if parts != nil {
			why = append(why, []string{"words: ", "not there: ", "added: ", "page: "}[i]+strings.Join(parts, "; "))
		}
	}
	return append(why, fmt.Sprintf("value: %.2f", value))
}
