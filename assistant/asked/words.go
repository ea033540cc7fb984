// Package asked reads what people write: its words, and what is pasted into it.
package asked

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// The kinds of characters that Words tells apart.
const (
	between = iota
	letter
	joint // part of a word between letters
	east
)

var asciiKinds = func() (kinds [utf8.RuneSelf]byte) {
	for c := range kinds {
		switch {
		case IsASCIIAlnum(byte(c)) || strings.IndexByte("_@$", byte(c)) >= 0:
			kinds[c] = letter
		case strings.IndexByte("-./:", byte(c)) >= 0:
			kinds[c] = joint
		}
	}
	return kinds
}()

// kindAt returns the kind of the character at text[i] and its length in bytes.
func kindAt(text string, i int) (kind byte, size int) {
	if c := text[i]; c < utf8.RuneSelf {
		return asciiKinds[c], 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	switch {
	case IsEastern(r):
		return east, size
	case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r):
		return letter, size
	}
	return between, size
}

// Words yields words: runs of letters, digits and the signs that join the
// parts of identifiers; runs of eastern script separately.
func Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(text); {
			kind, size := kindAt(text, i)
			start := i
			i += size
			if kind != letter && kind != east {
				continue
			}
			end := i // behind the last character that is no joint
			for i < len(text) {
				k, size := kindAt(text, i)
				if k != kind && (k != joint || kind != letter) {
					break
				}
				if i += size; k == kind {
					end = i
				}
			}
			if !yield(text[start:end]) {
				return
			}
		}
	}
}

// IsEastern reports whether a character is of a script that is read in pairs of
// characters.
func IsEastern(r rune) bool {
	return r >= 0x1100 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー')
}

// IsASCIIAlnum reports whether a byte is a letter or digit of ASCII.
func IsASCIIAlnum(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsStopWord reports whether a word in lower case carries no meaning in a language,
// in English or in questions.
func IsStopWord(lower string, l language.Language) bool {
	if utf8.RuneCountInString(lower) == 1 && !unicode.IsDigit(rune(lower[0])) {
		return true
	}
	return l.IsStop(lower) || language.English.IsStop(lower) || politeWords[lower]
}

// politeWords are those of asking: they say nothing of what is asked. Some are
// the first half of a contraction, such as "don't".
var politeWords = Set(
	"don, doesn, isn, aren, won, didn, wasn, couldn, shouldn, haven, hasn, please, tell, show, explain, help, give, know, ways, thanks, hello, hi, hey, also, just, really, okay, ok",
	"danke, hallo, zeig, zeige, erkläre, erklären, merci, bonjour, svp, expliquer, gracias, hola, obrigado, olá, grazie, ciao",
	"привет, спасибо, где, когда, зачем, какой, какая, можно, мне",
)

// Set returns the words of lists, which are separated by commas.
func Set(lists ...string) map[string]bool {
	m := make(map[string]bool)
	for _, l := range lists {
		for w := range strings.SplitSeq(l, ",") {
			m[strings.TrimSpace(w)] = true
		}
	}
	return m
}
