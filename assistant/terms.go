package assistant

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant/asked"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// term is a word that carries meaning.
type term struct {
	word string // as it was written
	stem string // what is compared
	// before: it is not of the question but of the conversation before it, and
	// counts half.
	before bool
}

// share is what a term counts.
func (t *term) share() float64 {
	if t.before {
		return .5
	}
	return 1
}

// terms returns the words of a text that carry meaning, in order and with
// repetitions: without the stop words of l and of English, stemmed by l.
// Chinese, Japanese and Korean are read as pairs of characters.
func terms(text string, l language.Language) []term {
	var out []term
	before := ""
	for word := range asked.Words(questionPhrases.Replace(text)) {
		if n := len(out); n > 0 && strings.EqualFold(word, "out") && strings.EqualFold(before, "find") {
			out = out[:n-1] // it says no more than "know"
		} else {
			out = appendTerms(out, word, l)
		}
		before = word
	}
	return out
}

// questionPhrases are Chinese words of asking. The pairs at their edges mean
// nothing.
var questionPhrases = strings.NewReplacer("为什么", " ", "如何", " ", "怎么样", " ", "怎么", " ", "怎样", " ", "什么", " ")

// distinct returns the terms without repetitions of a stem.
func distinct(ts []term) []term {
	out := make([]term, 0, len(ts))
	seen := make(map[string]bool, len(ts))
	for _, t := range ts {
		if !seen[t.stem] {
			seen[t.stem] = true
			out = append(out, t)
		}
	}
	return out
}

// appendTerms adds what terms makes of one word.
func appendTerms(out []term, word string, l language.Language) []term {
	r, _ := utf8.DecodeRuneInString(word)
	if asked.IsEastern(r) {
		return appendPairs(out, word)
	}
	lower := strings.ToLower(word)
	name := isName(word)
	if !name && asked.IsStopWord(lower, l) {
		return out
	}
	out = append(out, term{word: word, stem: l.Stem(lower)})
	if name {
		// The parts of an identifier, too: "reverse_proxy" is asked for as
		// "reverse proxy".
		parts := strings.FieldsFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if len(parts) > 1 {
			for _, p := range parts {
				if utf8.RuneCountInString(p) > 1 && !asked.IsStopWord(p, l) {
					out = append(out, term{word: p, stem: l.Stem(p)})
				}
			}
		}
	}
	return out
}

// stems returns the stems of a text.
func stems(text string, l language.Language) map[string]bool {
	m := make(map[string]bool)
	for _, t := range terms(text, l) {
		m[t.stem] = true
	}
	return m
}

// easternFunction are endings and particles. Pairs of them carry no meaning.
const easternFunction = "はがをにでのともへかますですかした的是在吗了么怎什何这那한이가을를은는에의로도하나요"

func appendPairs(out []term, run string) []term {
	rs := []rune(run)
	if len(rs) == 1 {
		return append(out, term{word: run, stem: run})
	}
	for i := 0; i+1 < len(rs); i++ {
		if strings.ContainsRune(easternFunction, rs[i]) && strings.ContainsRune(easternFunction, rs[i+1]) {
			continue
		}
		p := string(rs[i : i+2])
		out = append(out, term{word: p, stem: p})
	}
	return out
}

// isHiragana reports whether a term is of hiragana alone: mostly endings.
func isHiragana(t term) bool {
	return !strings.ContainsFunc(t.stem, func(r rune) bool { return !unicode.Is(unicode.Hiragana, r) })
}

func isName(w string) bool {
	if strings.ContainsAny(w, "_./:@$") {
		return true
	}
	upper, lower, digit := 0, 0, 0
	for i, r := range w {
		switch {
		case unicode.IsUpper(r):
			if i > 0 {
				upper++
			}
		case unicode.IsDigit(r):
			digit++
		case unicode.IsLetter(r):
			lower++
		}
	}
	return upper > 0 || digit > 0 && lower > 0
}
