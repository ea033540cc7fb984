package insights

import (
	"slices"
	"strings"
	"unicode"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// maxStems bounds the words of a question that name its group.
const maxStems = 20

// Stems returns what questions with the same words in other forms and order
// share: their stems without stop words, each between spaces. It is "" for a
// text without words.
func Stems(text string) string {
	l := language.Detect(text, "")
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '_' && r != '\'' && r != '’'
	})
	stems := stemsOf(l, words, false)
	if len(stems) == 0 { // "how to?"
		stems = stemsOf(l, words, true)
	}
	if len(stems) == 0 {
		return ""
	}
	slices.Sort(stems)
	stems = slices.Compact(stems)
	return " " + strings.Join(stems[:min(len(stems), maxStems)], " ") + " "
}

func stemsOf(l language.Language, words []string, stop bool) (stems []string) {
	for _, w := range words {
		w = strings.Trim(w, "'’")
		if w == "" || len(w) > 100 || !stop && l.IsStop(w) {
			continue
		}
		stems = append(stems, l.Stem(w))
	}
	return stems
}
