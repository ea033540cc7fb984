package embedded

import (
	"maps"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// lexicon numbers the words and terms of an index. A word is what stands in
// a text, in one language; a term is what words are reduced to. Both are
// only ever added, so numbers stay right from one generation to the next;
// a lexicon that a generation shows to searches is never changed: Replace
// works on a copy.
type lexicon struct {
	words  []word
	byWord map[language.Language]map[string]uint32
	terms  []string
	byTerm map[string]uint32
}

type word struct {
	text string
	term uint32
	lang language.Language
}

func newLexicon() *lexicon {
	x := &lexicon{byTerm: map[string]uint32{}, byWord: map[language.Language]map[string]uint32{}}
	return x
}

func (x *lexicon) clone() *lexicon {
	c := &lexicon{words: slices.Clip(x.words), terms: slices.Clip(x.terms), byTerm: maps.Clone(x.byTerm)}
	c.byWord = make(map[language.Language]map[string]uint32, len(x.byWord))
	for i, m := range x.byWord {
		c.byWord[i] = maps.Clone(m)
	}
	return c
}

// number returns the number of a word, adding it where it is new.
func (x *lexicon) number(l language.Language, text string) uint32 {
	m := x.byWord[l]
	if m == nil {
		m = map[string]uint32{}
		x.byWord[l] = m
	}
	if id, ok := m[text]; ok {
		return id
	}
	// The word is a part of its page's text, which it must not keep in memory.
	text = strings.Clone(text)
	return x.add(l, text, strings.Clone(l.Stem(text)))
}

func (x *lexicon) add(l language.Language, text, stem string) uint32 {
	term, ok := x.byTerm[stem]
	if !ok {
		term = uint32(len(x.terms))
		x.terms = append(x.terms, stem)
		x.byTerm[stem] = term
	}
	id := uint32(len(x.words))
	x.words = append(x.words, word{text: text, term: term, lang: l})
	if x.byWord[l] == nil {
		x.byWord[l] = map[string]uint32{}
	}
	x.byWord[l][text] = id
	return id
}
