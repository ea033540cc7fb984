package language

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"golang.org/x/text/unicode/norm"
)

// Stem returns the form that all inflections of a word share, without the
// accents of Latin and Greek letters. word is in lower case. One that is not
// made of letters alone, such as a version or a flag, only loses its accents.
func (l Language) Stem(word string) string {
	onlyLetters, latin := true, true
	for _, r := range word {
		if r >= utf8.RuneSelf {
			if !unicode.Is(unicode.Latin, r) && r != '’' {
				latin = false
			}
		} else if (r < 'a' || r > 'z') && r != '\'' {
			onlyLetters = false
		}
	}
	if !onlyLetters {
		return fold(word)
	}
	r := known[l]
	if latin && (r == nil || !r.latin) {
		r = known[English]
	}
	if r == nil || r.filters == nil {
		return fold(word)
	}
	stream := analysis.TokenStream{{Term: []byte(word), Start: 0, End: len(word), Position: 1}}
	for _, f := range r.filters() {
		stream = f.Filter(stream)
	}
	if len(stream) != 1 || len(stream[0].Term) == 0 {
		return fold(word)
	}
	return fold(string(stream[0].Term))
}

// fold removes the accents of Latin and Greek letters.
func fold(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return word
	}
	var b strings.Builder
	accented := false // the letter before is one that loses its accents
	for _, r := range norm.NFD.String(word) {
		switch {
		case unicode.Is(unicode.Mn, r) && accented, r == '’', r == '\'':
			continue
		case r == 'ß':
			b.WriteString("ss")
			continue
		}
		accented = unicode.In(r, unicode.Latin, unicode.Greek)
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}
