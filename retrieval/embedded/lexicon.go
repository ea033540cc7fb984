package embedded

import (
	"maps"
	"slices"
	"strings"
)

// lexicon numbers the words and terms of an index. A word is what stands in
// a text, in one language; a term is what words are reduced to. Both are
// only ever added, so numbers stay right from one generation to the next;
// a lexicon that a generation shows to searches is never changed: Replace
// works on a copy.
type lexicon struct {
	words  []word
	byWord []map[string]uint32 // by language
	terms  []string
	byTerm map[string]uint32
}

type word struct {
	text string
	term uint32
	lang uint8
}

func newLexicon() *lexicon {
	x := &lexicon{byTerm: map[string]uint32{}, byWord: make([]map[string]uint32, len(languages))}
	return x
}

func (x *lexicon) clone() *lexicon {
	c := &lexicon{words: slices.Clip(x.words), terms: slices.Clip(x.terms), byTerm: maps.Clone(x.byTerm)}
	c.byWord = make([]map[string]uint32, len(languages))
	for i, m := range x.byWord {
		c.byWord[i] = maps.Clone(m)
	}
	return c
}

// number returns the number of a word, adding it where it is new.
func (x *lexicon) number(l *language, text string) uint32 {
	m := x.byWord[l.id]
	if m == nil {
		m = map[string]uint32{}
		x.byWord[l.id] = m
	}
	if id, ok := m[text]; ok {
		return id
	}
	// The word is a part of its page's text, which it must not keep in memory.
	text = strings.Clone(text)
	return x.add(l, text, strings.Clone(l.reduce(text)))
}

func (x *lexicon) add(l *language, text, stem string) uint32 {
	term, ok := x.byTerm[stem]
	if !ok {
		term = uint32(len(x.terms))
		x.terms = append(x.terms, stem)
		x.byTerm[stem] = term
	}
	id := uint32(len(x.words))
	x.words = append(x.words, word{text: text, term: term, lang: l.id})
	if x.byWord[l.id] == nil {
		x.byWord[l.id] = map[string]uint32{}
	}
	x.byWord[l.id][text] = id
	return id
}
