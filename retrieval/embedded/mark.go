package embedded

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
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
	whole      []string
	start, end int // in a text
}

// Mark returns a Marker of the words of a query, which marks nothing before
// the first generation.
func (x *Index) Mark(q retrieval.Query) retrieval.Marker {
	g, err := x.generation()
	if err != nil {
		return func(string) []retrieval.Span { return nil }
	}
	g = g.only(q.Pages)
	return g.parsed(&q, x.wording).marker(func(e expansion) (texts []string) {
		for _, form := range g.forms.Of(e.term) {
			texts = append(texts, g.lexicon.Words[form].Text)
		}
		return texts
	}, nil)
}

// marker returns a Marker of a query's words. names returns those of an
// expansion: words as they are written or, with languages, stems.
func (p *parsedQuery) marker(names func(expansion) []string, languages []language.Language) retrieval.Marker {
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
					marked[name] = markedWord{word: i, weight: weight, whole: parts}
				}
			}
		}
		if w.plain && w.text == p.typed && utf8.RuneCountInString(w.text) >= minPrefix {
			prefix, typed = w.text, markedWord{word: i, weight: words.Completion * float64(w.trust*w.idf), whole: parts}
		}
	}
	katakana := strings.FieldsFunc(p.text, func(r rune) bool { return !isKatakana(r) })
	for i, w := range katakana {
		katakana[i] = cmp.Or(strings.TrimRight(w, "ー"), w) // コンピュータ is a spelling of コンピューター
	}
	wanted := &words.Beginnings{} // stems begin as their words do
	for name := range marked {
		wanted.Add(name)
	}
	if prefix != "" {
		wanted.Add(prefix)
	}
	find := func(word string) (name string, m markedWord, ok bool) {
		if m, ok = marked[word]; ok && languages == nil {
			return word, m, true
		}
		for _, l := range languages {
			name = l.Stem(word)
			if m, ok = marked[name]; ok {
				return name, m, true
			}
		}
		return "", m, false
	}
	return func(text string) (spans []retrieval.Span) {
		if len(marked) == 0 {
			return nil
		}
		text, at := words.Compatible(text)
		var found []markedWord
		identifiers := map[string]bool{} // names of those in the text
		words.Spans(text, wanted, func(word string, plain bool, start, end int) {
			name, m, ok := find(word)
			if !ok && plain && prefix != "" && strings.HasPrefix(word, prefix) {
				m, ok = typed, true
			}
			if ok {
				m.start, m.end = start, end
				found = append(found, m)
				if !plain {
					identifiers[name] = true
				}
			}
		})
		for _, f := range found {
			if !slices.ContainsFunc(f.whole, func(name string) bool { return identifiers[name] }) {
				spans = append(spans, retrieval.Span{Start: f.start, End: f.end, Word: f.word, Weight: f.weight})
			}
		}
		slices.SortFunc(spans, func(a, b retrieval.Span) int { return a.Start - b.Start })
		spans = withoutFragments(spans, text, katakana)
		for i := range spans {
			spans[i].Start, spans[i].End = at(spans[i].Start, spans[i].End)
		}
		return spans
	}
}

// withoutFragments removes the spans of pairs of characters that words in
// katakana happen to have in common: those that begin or end within one, unless
// they have a whole one of the query.
func withoutFragments(spans []retrieval.Span, text string, whole []string) []retrieval.Span {
	kept := spans[:0]
	for i := 0; i < len(spans); {
		first, start, end := i, spans[i].Start, spans[i].End
		for i++; i < len(spans) && spans[i].Start <= end; i++ {
			end = max(end, spans[i].End)
		}
		if !withinKatakana(text, start) && !withinKatakana(text, end) ||
			slices.ContainsFunc(whole, func(w string) bool { return strings.Contains(text[start:end], w) }) {
			kept = append(kept, spans[first:i]...)
		}
	}
	return kept
}

func withinKatakana(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	return isKatakana(before) && isKatakana(after)
}

func isKatakana(r rune) bool { return r == 'ー' || unicode.Is(unicode.Katakana, r) }
