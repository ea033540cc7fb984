package meiliserver

import (
	"slices"
	"strings"
	"unicode"
)

// wordsLimit is the number of words of a query that the server reads.
const wordsLimit = 10

// words returns the words of a query that the server searches. Each character
// of a script without spaces is a word, as in a server that was built without
// dictionaries. Stop words are left out, except for the last word without a
// space after it.
func (x *index) words(query string) []string {
	query = strings.ToLower(query)
	var all []string
	for field := range strings.FieldsSeq(query) {
		start := 0
		for i, r := range field {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) || r == 'ー' {
				if i > start {
					all = append(all, field[start:i])
				}
				all = append(all, string(r))
				start = i + len(string(r))
			}
		}
		if start < len(field) {
			all = append(all, field[start:])
		}
	}
	stop, _ := x.settings["stopWords"].([]any)
	typing := query != "" && !strings.HasSuffix(query, " ")
	var out []string
	for i, w := range all {
		if slices.Contains(stop, any(w)) && (i+1 < len(all) || !typing) {
			continue
		}
		out = append(out, w)
	}
	return out[:min(len(out), wordsLimit)]
}

// alike returns a word and its synonyms.
func (x *index) alike(word string) []string {
	out := []string{word}
	all, _ := x.settings["synonyms"].(map[string]any)
	others, _ := all[word].([]any)
	for _, w := range others {
		out = append(out, w.(string))
	}
	return out
}
