package embedded

import (
	"cmp"
	"slices"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

const (
	// corrections is by how many similar words an unknown one is searched for
	// in another engine.
	corrections = 2
	// shortQuery is up to how many words of a query synonyms and completions
	// are searched for, too.
	shortQuery = 3
)

// Reading is a query as the statistics of a site read it, for one search.
type Reading struct {
	statistics *Statistics
	query      retrieval.Query
	parsed     parsedQuery
}

// Read reads a query.
func (s *Statistics) Read(q retrieval.Query) *Reading {
	q.Limit = min(max(q.Limit, 1), retrieval.MaxHits)
	return &Reading{s, q, s.parse(&q, s.wording)}
}

// Term is a word of a query as another engine is asked for it. The engine has
// Tokens of stems.
type Term struct {
	Stem string
	// Instead are the stems that pages may have instead of it: of a correction, a
	// completion or a synonym.
	Instead []string
}

// Terms returns the words of a query, at most n, the rarest first, as they are in
// the pages of one language; "": in those whose language is not known. joined are
// the stems of two of its words written as one.
func (r *Reading) Terms(tag string, n int) (terms []Term, joined []string) {
	parsed := slices.Clone(r.parsed.words)
	slices.SortStableFunc(parsed, func(a, b queryWord) int { return cmp.Compare(b.idf*b.trust, a.idf*a.trust) })
	seen := map[string]bool{}
	for i := range parsed {
		w := &parsed[i]
		most := 1
		if w.trust < 1 || len(parsed) <= shortQuery {
			most = corrections
		}
		var stems []string
		for rest := w.expansions; len(rest) > 0 && most > 0; most-- {
			end := slices.IndexFunc(rest, func(e expansion) bool { return e.word != rest[0].word })
			if end < 0 {
				end = len(rest)
			}
			if e := stemIn(rest[:end], tag); e != nil && !seen[e.stem] {
				seen[e.stem] = true
				stems = append(stems, e.stem)
			}
			rest = rest[end:]
		}
		switch {
		case w.joined:
			joined = append(joined, stems...)
		case len(stems) > 0 && len(terms) < n:
			terms = append(terms, Term{stems[0], stems[1:]})
		}
	}
	slices.SortStableFunc(terms, func(a, b Term) int {
		return cmp.Compare(r.statistics.find(a.Stem).holders, r.statistics.find(b.Stem).holders)
	})
	return terms, joined
}

// stemIn returns what a word is in the pages of a language, nil if none has it,
// or else the most common of its stems in all languages.
func stemIn(word []expansion, tag string) (found *expansion) {
	stem := language.Of(tag).Stem(word[0].word)
	for i := range word {
		e := &word[i]
		if tag == "" && (found == nil || e.found.holders > found.found.holders) || tag != "" && e.stem == stem {
			found = e
		}
	}
	return found
}

// Wanted returns the language of the pages that a query wants, "" if it wants
// none in particular.
func (r *Reading) Wanted() string { return r.parsed.wanted(&r.query) }

// IDF adds up that of stems.
func (s *Statistics) IDF(stems []string) (sum float64) {
	for _, stem := range stems {
		sum += float64(s.find(stem).sectionIDF)
	}
	return sum
}
