package embedded

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// readStopWords takes the words that a site says carry no meaning in its
// queries. Each is one word; of scripts written without spaces, one of up to
// two characters.
func readStopWords(words []string) (map[string]bool, error) {
	out := make(map[string]bool, len(words))
	for _, name := range words {
		var parts []string
		splitWords(name, func(w string, k kind) {
			if k == plain {
				parts = append(parts, w)
			}
		})
		first, _ := utf8.DecodeRuneInString(strings.TrimSpace(name))
		switch {
		case len(parts) == 0:
			return nil, fmt.Errorf("stop_words: %q holds no word", name)
		case len(parts) > 1 && !dense(first):
			return nil, fmt.Errorf("stop_words: %q is %d words; name each by itself", name, len(parts))
		case len(parts) == 1:
			out[parts[0]] = true
		}
	}
	return out, nil
}

// withoutStops takes the words out of a query that say nothing beside its
// others: the site's own stop words of any query, those of the language
// spoken of one with three words and more. A query of nothing else stays.
func (w *wording) withoutStops(groups []group, words int, spoken language.Language) []group {
	ofLanguage := func(x group) bool { return spoken.IsStop(x.word) }
	ofSite := func(x group) bool { return x.kind == plain && w.stop[x.word] }
	long := words >= 3
	if slices.ContainsFunc(groups, func(x group) bool { return x.kind == plain && !ofLanguage(x) && !ofSite(x) }) {
		return slices.DeleteFunc(groups, func(x group) bool { return ofSite(x) || long && ofLanguage(x) })
	}
	if long && slices.ContainsFunc(groups, func(x group) bool { return !ofLanguage(x) }) {
		return slices.DeleteFunc(groups, ofLanguage)
	}
	return groups
}
