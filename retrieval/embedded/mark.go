package embedded

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// minPrefix is from how many characters on the word that is being typed marks
// every word that begins with it. Shorter ones mark what the search took them
// for.
const minPrefix = 3

// markedWord is a word that a Marker marks.
type markedWord struct {
	word   int
	weight float64
	// whole are the identifiers that the word is a part of, if the index knows
	// them. It is not marked by itself in a text that has one of them.
	whole []string
}

// Mark returns a Marker of the words of a query, which marks nothing before
// the first generation.
func (x *Index) Mark(q retrieval.Query) retrieval.Marker {
	g, err := x.generation()
	if err != nil {
		return func(string) []retrieval.Span { return nil }
	}
	g = g.only(q.Pages)
	p := g.parse(&q, &x.wording)
	return p.marker(func(e expansion) (texts []string) {
		for _, form := range g.forms.of(e.term) {
			texts = append(texts, g.lexicon[form].Text)
		}
		return texts
	}, nil)
}

// marker returns a Marker of a query's words. names returns those of an
// expansion, and nameOf that of a word of a text, among the names that are
// marked. Without nameOf, the names are the words.
func (p *parsedQuery) marker(names func(expansion) []string, nameOf func(word string, marked map[string]markedWord) string) retrieval.Marker {
	marked := map[string]markedWord{} // by name
	var typed markedWord
	prefix := ""
	for i := range p.words {
		w := &p.words[i]
		var parts []string
		for _, e := range w.whole {
			parts = append(parts, names(e)...)
		}
		if parts != nil && utf8.RuneCountInString(w.text) == 1 {
			continue // the 3 of HTTP/3
		}
		for _, e := range w.expansions {
			weight := float64(e.weight * w.trust * w.idf)
			for _, name := range names(e) {
				if marked[name].weight < weight {
					marked[name] = markedWord{i, weight, parts}
				}
			}
		}
		if w.kind == plain && w.text == p.typed && utf8.RuneCountInString(w.text) >= minPrefix {
			prefix, typed = w.text, markedWord{i, completion * float64(w.trust*w.idf), parts}
		}
	}
	var wanted *beginnings
	if nameOf == nil {
		nameOf = func(word string, _ map[string]markedWord) string { return word }
		wanted = &beginnings{}
		for name := range marked {
			wanted.add(name)
		}
		if prefix != "" {
			wanted.add(prefix)
		}
	}
	return func(text string) (spans []retrieval.Span) {
		if len(marked) == 0 {
			return nil
		}
		text, at := compatible(text)
		var found []foundWord
		words := map[string]bool{} // identifiers among them
		splitWanted(text, wanted, func(word string, k kind, start, end int) {
			name := nameOf(word, marked)
			m, ok := marked[name]
			if !ok && k == plain && prefix != "" && strings.HasPrefix(word, prefix) {
				m, ok = typed, true
			}
			if ok {
				found = append(found, foundWord{m, start, end})
				if k == whole {
					words[name] = true
				}
			}
		})
		for _, f := range found {
			if !slices.ContainsFunc(f.whole, func(name string) bool { return words[name] }) {
				start, end := at(f.start, f.end)
				spans = append(spans, retrieval.Span{Start: start, End: end, Word: f.word, Weight: f.weight})
			}
		}
		slices.SortFunc(spans, func(a, b retrieval.Span) int { return a.Start - b.Start })
		return spans
	}
}

// foundWord is a marked word in a text, from byte start up to end.
type foundWord struct {
	markedWord
	start, end int
}

// forms are the words of each term. They are numbers in a lexicon.
type forms struct {
	words []uint32 // by term
	first []uint32 // term → its first word; one more at the end
}

// newForms takes the terms of the words of a lexicon that are in any place.
func newForms(term, places []uint32, terms int) forms {
	f := forms{first: make([]uint32, terms+1)}
	for word, n := range places {
		if n > 0 {
			f.first[term[word]+1]++
		}
	}
	for t := range terms {
		f.first[t+1] += f.first[t]
	}
	f.words = make([]uint32, f.first[terms])
	next := slices.Clone(f.first)
	for word, n := range places {
		if t := term[word]; n > 0 {
			f.words[next[t]] = uint32(word)
			next[t]++
		}
	}
	return f
}

func (f *forms) of(term uint32) []uint32 { return f.words[f.first[term]:f.first[term+1]] }

// compatible returns a text in Unicode's compatibility form, and a function
// that returns where a range of its bytes is in the text.
func compatible(text string) (out string, at func(start, end int) (int, int)) {
	if norm.NFKC.IsNormalString(text) {
		return text, func(start, end int) (int, int) { return start, end }
	}
	var form norm.Iter
	form.InitString(norm.NFKC, text)
	var b strings.Builder
	from := make([]int, 0, len(text)+8) // of each byte of the form
	for !form.Done() {
		pos := form.Pos()
		segment := form.Next()
		b.Write(segment)
		for range segment {
			from = append(from, pos)
		}
	}
	from = append(from, len(text))
	return b.String(), func(start, end int) (int, int) {
		// A word may end within what is one character of the text.
		last := from[end-1]
		for from[end] == last && end < len(from)-1 {
			end++
		}
		return from[start], from[end]
	}
}
