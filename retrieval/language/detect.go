package language

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDetect is how many bytes of a text are read to find its language.
const maxDetect = 3000

// Detect returns the language of a text, fallback where the text does not
// clearly show another: "gzip nginx.conf" may be of any. Scripts count first,
// then stop words, since questions are too short for statistics of letters
// and technical terms are English everywhere. fallback "" is English.
func Detect(text string, fallback Language) Language {
	text = text[:min(len(text), maxDetect)]
	if fallback == "" {
		fallback = English
	}
	switch l := byScript(text); l {
	case Chinese, Japanese, Korean:
		return l
	case Russian:
		fallback = Russian // unless its words are of another language in Cyrillic
	}

	words := 0
	scores := map[Language]float64{}
	for w := range strings.FieldsSeq(strings.ToLower(text)) {
		w = strings.TrimFunc(strings.ReplaceAll(w, "’", "'"), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
		if w == "" || strings.ContainsFunc(w, inIdentifier) {
			continue
		}
		words++
		if len(speakers()[w]) == 0 {
			w, _, _ = strings.Cut(w, "'") // l'option, what's
		}
		// A word of several languages counts for each in part.
		for _, l := range speakers()[w] {
			scores[l] += 1 / float64(len(speakers()[w]))
		}
	}
	for r, l := range letters {
		if strings.ContainsRune(text, r) {
			scores[l] += .75
		}
	}
	best, most := fallback, scores[fallback]+.5+float64(words)/40
	for l, n := range scores {
		if n > most || n == most && best != fallback && l < best {
			best, most = l, n
		}
	}
	return best
}

// inIdentifier reports runes that words of a sentence don't hold: i18n and
// mint.json are of no language.
func inIdentifier(r rune) bool {
	return r != '\'' && !unicode.IsLetter(r) && !unicode.IsMark(r)
}

// letters are those that few languages but one use.
var letters = map[rune]Language{
	'ß': German, 'ä': German, 'ü': German,
	'ê': French, 'è': French, 'ç': French, 'œ': French, 'ù': French,
	'ñ': Spanish, '¿': Spanish, '¡': Spanish,
	'ã': Portuguese, 'õ': Portuguese,
	'ò': Italian, 'ì': Italian,
}

// byScript returns the language that a text's script suggests, "" for Latin
// and others. A word of another script among Latin ones is a name; the other
// way round, Latin words are the product's terms. A character of the eastern
// scripts says as much as two or three letters.
func byScript(text string) Language {
	var kana, hangul, han, cyrillic, latin int
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				latin++
			}
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Hangul, r):
			hangul++
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic++
		case unicode.IsLetter(r):
			latin++
		}
	}
	switch {
	case kana > 0 && (kana+han)*3 >= latin:
		return Japanese
	case hangul > 0 && hangul*3 >= latin:
		return Korean
	case han > 0 && han*3 >= latin:
		return Chinese
	case cyrillic > 0 && cyrillic*2 >= latin:
		return Russian
	}
	return ""
}
