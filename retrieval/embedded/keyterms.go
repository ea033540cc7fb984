package embedded

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// bigramsPerWord is how many pairs of characters count as one word in scripts
// without spaces: about those of a word of three or four characters.
const bigramsPerWord = 3

// KeyTerms returns the words of a query that carry its meaning and that the
// site has, or has similar ones of: at most n, those that the fewest
// sections hold. They are in the order of the text, separated by spaces and
// without punctuation. In scripts without spaces they are runs of characters,
// which the other engine splits itself.
func (s *Statistics) KeyTerms(q retrieval.Query, n int) string {
	parsed := s.parse(&q, s.wording).words
	var terms []int // of words
	for i := range parsed {
		if w := &parsed[i]; w.plain && w.idf != 0 && len(w.expansions) > 0 {
			terms = append(terms, i)
		}
	}
	slices.SortStableFunc(terms, func(a, b int) int {
		return cmp.Compare(parsed[b].idf*parsed[b].trust, parsed[a].idf*parsed[a].trust)
	})
	room := n * bigramsPerWord
	for i, at := range terms {
		cost := bigramsPerWord
		if r, _ := utf8.DecodeRuneInString(parsed[at].text); words.Unspaced(r) {
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
		text := parsed[at].text
		first, size := utf8.DecodeRuneInString(text)
		if i > 0 && terms[i-1] == at-1 && words.Unspaced(first) {
			if last, _ := utf8.DecodeLastRuneInString(parsed[at-1].text); last == first {
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

const (
	// corrections is by how many similar words an unknown one is searched for
	// in another engine.
	corrections = 2
	// shortQuery is up to how many words of a query synonyms and completions
	// are searched for, too.
	shortQuery = 3
)

// Stems returns the terms of a query, at most n, the rarest first, as Terms has
// them. ok is false for scripts without spaces, whose words another engine
// splits itself: see KeyTerms.
func (s *Statistics) Stems(q retrieval.Query, n int) (stems []string, ok bool) {
	parsed := s.parse(&q, s.wording).words
	slices.SortStableFunc(parsed, func(a, b queryWord) int { return cmp.Compare(b.idf*b.trust, a.idf*a.trust) })
	holders := map[string]int{}
	for i := range parsed {
		w := &parsed[i]
		if r, _ := utf8.DecodeRuneInString(w.text); words.Unspaced(r) {
			return nil, false
		}
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
	return stems, true
}

// IDF adds up that of terms that Stems has returned.
func (s *Statistics) IDF(stems []string) (sum float64) {
	for _, stem := range stems {
		sum += float64(s.find(stem).sectionIDF)
	}
	return sum
}
