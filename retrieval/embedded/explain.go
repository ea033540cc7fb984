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
func (g *generation) explain(q *retrieval.Query, p *parsedQuery, similar *similarity, scopes []judgement, page, section uint32, value float32, s *scratch) []string {
	var found, unknown, added, factors []string
	for i := range p.words {
		w := &p.words[i]
		best, line := float32(0), ""
		for _, e := range w.expansions {
			v := e.sectionGain * g.sections.at(e.term, section) * w.share(&g.sections, section)
			where, _ := g.where(e.term, page, section)
			if where == "" || line != "" && v <= best {
				continue
			}
			best, line = v, fmt.Sprintf("%s %.2f (%s)", w.text, v, where)
			if w.trust < 1 {
				line = fmt.Sprintf("%s, found as %s, %.2f (%s)", w.text, e.stem, v, where)
			}
		}
		switch {
		case line != "":
			found = append(found, line)
		case w.plain:
			unknown = append(unknown, w.text)
		}
	}
	add := func(to *[]string, format, name string, v, none float32) {
		if v != none {
			*to = append(*to, fmt.Sprintf(format, name, v))
		}
	}
	known := p.knownIDF()
	add(&added, "%s +%.2f", "title", titleBonus*likeness(s.titleHits[page], known, g.titleIDF[page]), 0)
	add(&added, "%s +%.2f", "path", slugBonus*likeness(s.slugHits[page], known, g.slugIDF[page]), 0)
	add(&added, "%s +%.2f", "heading", headingBonus*likeness(s.headingHits[section], known, g.headingIDF[section]), 0)
	if s.headingHits[section] > (1-rounding)*known {
		add(&added, "%s +%.2f", "the query in the heading", known*p.headed(&g.docs[page].Sections[section-g.first[page]]), 0)
	}
	from, to := g.sectionsOf(page)
	if values := slices.Sorted(slices.Values(s.section[from:to])); p.keywords() && similar == nil && len(values) > 1 {
		add(&added, "%s +%.2f", "the page's second section", keywordSecond*values[len(values)-2], 0)
	}
	add(&added, "%s +%.2f", "all of the page", s.evidence*s.page[page], 0)
	if p.names(g.docs[page].Title) {
		added = append(added, "the title is the query")
	}
	if similar != nil {
		added = append(added, fmt.Sprintf("similarity %.2f, of at most %.2f", similar.of[section], similar.top))
	}
	scope := g.scope[page]
	add(&factors, "%s ×%.2f", "lists or repeats other pages", g.factor[page], 1)
	add(&factors, "%s ×%.2f", string(g.scopes[scope].kind), scopes[scope].kind, 1)
	add(&factors, "%s ×%.2f", "the reader's version or language", scopes[scope].factor, 1)
	if slices.Contains(q.Boost, g.docs[page].Page) {
		add(&factors, "%s ×%.2f", "the reader's page", boostFactor, 1)
	}
	copies := 0
	for _, group := range g.copies {
		if group != 0 && group == g.copies[page] {
			copies++
		}
	}
	if copies > 1 {
		factors = append(factors, fmt.Sprintf("one of %d copies", copies))
	}
	var out []string
	for _, line := range []struct {
		name  string
		parts []string
	}{{"words", found}, {"not there", unknown}, {"added", added}, {"page", factors}} {
		if line.parts != nil {
			out = append(out, line.name+": "+strings.Join(line.parts, "; "))
		}
	}
	return append(out, fmt.Sprintf("value: %.2f", value))
}
