package assistant

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// term is a word that carries meaning.
type term struct {
	word string // as it was written
	stem string // what is compared
	// name is true for what looks like an identifier (reverse_proxy, --flag,
	// tls.go, HTTP3): such words tell more than others.
	name bool
}

// special tells whether a term is a name such that a passage without it is
// hardly about it.
func (t term) special() bool {
	return t.name && (strings.ContainsAny(t.word, "_./:@$") || t.word == strings.ToUpper(t.word))
}

// terms returns the telling words of a text in order, repetitions included:
// without function words of l and of English, stemmed by l. Chinese,
// Japanese and Korean are read as pairs of characters. It is for comparing
// small texts with each other; the index has its own analysis.
func terms(text string, l Language) []term {
	var out []term
	for word := range fields(text) {
		out = appendTerms(out, word, l)
	}
	return out
}

// distinct returns the terms without those whose stem came before.
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
func appendTerms(out []term, word string, l Language) []term {
	r, _ := utf8.DecodeRuneInString(word)
	if eastern(r) {
		return appendPairs(out, word)
	}
	lower := strings.ToLower(word)
	name := isName(word)
	if !name && isFunctionWord(lower, l) {
		return out
	}
	out = append(out, term{word: word, stem: stem(lower, l), name: name})
	if name {
		// The parts of an identifier, too: "reverse_proxy" is asked for as
		// "reverse proxy".
		parts := strings.FieldsFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if len(parts) > 1 {
			for _, p := range parts {
				if utf8.RuneCountInString(p) > 1 && !isFunctionWord(p, l) {
					out = append(out, term{word: p, stem: stem(p, l)})
				}
			}
		}
	}
	return out
}

// fields yields words: runs of letters, digits and the signs that join the
// parts of identifiers; runs of eastern script separately.
func fields(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start, kind := -1, 0 // 1 word, 2 eastern
		emit := func(end int) bool {
			if start < 0 {
				return true
			}
			w := text[start:end]
			if kind == 1 {
				w = strings.Trim(w, "-./:")
			}
			start = -1
			return w == "" || yield(w)
		}
		for i, r := range text {
			k := 0
			switch {
			case r < utf8.RuneSelf && (r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z'):
				k = 1
			case eastern(r):
				k = 2
			case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || r == '_' || r == '@' || r == '$':
				k = 1
			case kind == 1 && start >= 0 && (r == '-' || r == '.' || r == '/' || r == ':'):
				k = 1
			}
			if k != kind || k == 0 {
				if !emit(i) {
					return
				}
				kind = k
			}
			if k != 0 && start < 0 {
				start = i
			}
		}
		emit(len(text))
	}
}

func eastern(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// easternFunction are endings and particles that make pairs without meaning.
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

func isFunctionWord(lower string, l Language) bool {
	if utf8.RuneCountInString(lower) == 1 && !unicode.IsDigit(rune(lower[0])) {
		return true
	}
	ls := functionWords[lower]
	return len(ls) > 0 && (slices.Contains(ls, l) || slices.Contains(ls, English)) || politeWords[lower]
}

// politeWords belong to asking and not to what is asked.
var politeWords = func() map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(`don doesn isn aren won didn wasn couldn shouldn haven hasn please tell show explain help give want know way ways possible
		thanks hello hi hey also just really okay ok best
		bitte danke hallo zeig zeige erkläre erklären merci bonjour svp expliquer gracias hola
		obrigado olá grazie ciao пожалуйста привет спасибо как что это где когда почему зачем какой какая какие
		можно ли мне я в на и с по для из к от о у не или если`) {
		m[w] = true
	}
	return m
}()

var stemmers = map[Language]func(*snowballstem.Env) bool{
	English: english.Stem, German: german.Stem, French: french.Stem, Spanish: spanish.Stem,
	Portuguese: portuguese.Stem, Italian: italian.Stem, Russian: russian.Stem,
}

// stemmed are stems made lately.
var stemmed retrieval.StemCache[Language]

func stem(lower string, l Language) string {
	f := stemmers[l]
	if f == nil || len(lower) < 3 || len(lower) > 40 {
		return lower
	}
	return stemmed.Stem(lower, l, func(word string) string {
		env := snowballstem.NewEnv(word)
		f(env)
		return env.Current()
	})
}
