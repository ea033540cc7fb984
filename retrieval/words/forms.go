package words

import "slices"

// Forms are the words of each term. They are numbers in a lexicon.
type Forms struct {
	words []uint32 // by term
	first []uint32 // term → its first word; one more at the end
}

// NewForms takes the terms of the words of a lexicon that are in any place.
func NewForms(term, places []uint32, terms int) Forms {
	f := Forms{first: make([]uint32, terms+1)}
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

// Of returns the words of a term.
func (f *Forms) Of(term uint32) []uint32 { return f.words[f.first[term]:f.first[term+1]] }

// SpellingOf lists the words of a lexicon that are in any place. The places of
// equal words, which are in several languages, are added up.
func SpellingOf(lexicon []Word, places []uint32) *List {
	all := make(map[string]uint32)
	for i, n := range places {
		if n > 0 {
			all[lexicon[i].Text] += n
		}
	}
	return NewList(all)
}
