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
	var stems, all []string
	for _, w := range words {
		w = strings.Trim(w, "'’")
		if w == "" || len(w) > 100 {
			continue
		}
		stem := l.Stem(w)
		all = append(all, stem)
		if !l.IsStop(w) {
			stems = append(stems, stem)
		}
	}
	if len(stems) == 0 { // "how to?"
		stems = all
	}
	if len(stems) == 0 {
		return ""
	}
	slices.Sort(stems)
	stems = slices.Compact(stems)
	return " " + strings.Join(stems[:min(len(stems), maxStems)], " ") + " "
}
