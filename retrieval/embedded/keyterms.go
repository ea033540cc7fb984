package embedded

import (
	"cmp"
	"slices"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	// corrections is by how many similar words an unknown one is searched for
	// in another engine.
	corrections = 2
	// shortQuery is up to how many words of a query synonyms and completions
	// are searched for, too.
	shortQuery = 3
)

// Stems returns the terms of a query, at most n, the rarest first. Another
// engine has their Tokens.
func (s *Statistics) Stems(q retrieval.Query, n int) (stems []string) {
	parsed := s.parse(&q, s.wording).words
	slices.SortStableFunc(parsed, func(a, b queryWord) int { return cmp.Compare(b.idf*b.trust, a.idf*a.trust) })
	holders := map[string]int{}
	for i := range parsed {
		w := &parsed[i]
		if w.joined && len(w.expansions) == 0 {
			continue
		}
		most := 1
		if w.trust < 1 || len(parsed) <= shortQuery {
			most = corrections
		}
		for _, e := range w.expansions[:min(most, len(w.expansions))] {
			if len(stems) < n && !slices.Contains(stems, e.stem) {
				stems = append(stems, e.stem)
				holders[e.stem] = e.found.holders
			}
		}
	}
	slices.SortStableFunc(stems, func(a, b string) int { return cmp.Compare(holders[a], holders[b]) })
	return stems
}

// Wanted returns the language of the pages that a query wants, "" if it wants
// none in particular.
func (s *Statistics) Wanted(q *retrieval.Query) string {
	return new(s.parse(q, s.wording)).wanted(q)
}

// IDF adds up that of terms that Stems has returned.
func (s *Statistics) IDF(stems []string) (sum float64) {
	for _, stem := range stems {
		sum += float64(s.find(stem).sectionIDF)
	}
	return sum
}
