package embedded

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// abbreviations are short forms that readers type for the long ones, or the
// other way round, in the documentation of any software.
const abbreviations = `
admin administrator
auth authentication
authn authentication
authz authorization
cert certificate
certs certificates
cfg config
cmd command
conf config
db database
deps dependencies
dir directory
dirs directories
docs documentation
env environment
i18n internationalization
img image
info information
k8s kubernetes
lib library
libs libraries
param parameter
params parameters
perf performance
pkg package
pwd password
regex regexp
repo repository
repos repositories
ssl tls
stats statistics
`

// Abbreviations are the pairs of words that are synonyms on any site.
func Abbreviations() [][]string {
	var out [][]string
	for line := range strings.Lines(abbreviations) {
		if pair := strings.Fields(line); len(pair) == 2 {
			out = append(out, pair)
		}
	}
	return out
}

// Wording is what a site says about words in queries.
type Wording struct {
	synonyms map[string][]string // word → the others of its sets
	stop     map[string]bool
}

// NewWording takes synonyms and stop words as Options has them.
func NewWording(synonyms [][]string, stopWords []string) (*Wording, error) {
	w := &Wording{synonyms: map[string][]string{}, stop: map[string]bool{}}
	for _, pair := range Abbreviations() {
		w.addSynonyms(pair)
	}
	for i, set := range synonyms {
		if len(set) < 2 {
			return nil, fmt.Errorf("synonyms: set %d has fewer than two words", i+1)
		}
		joined := make([]string, len(set))
		for j, name := range set {
			// An identifier or a name of several words is one word here.
			if joined[j] = strings.Join(words.Plain(name), ""); joined[j] == "" {
				return nil, fmt.Errorf("synonyms: %q in set %d holds no word", name, i+1)
			}
		}
		w.addSynonyms(joined)
	}
	for _, name := range stopWords {
		split := words.Plain(name)
		first, _ := utf8.DecodeRuneInString(strings.TrimSpace(name))
		switch {
		case len(split) == 0:
			return nil, fmt.Errorf("stop_words: %q holds no word", name)
		case len(split) > 1 && !words.Unspaced(first):
			return nil, fmt.Errorf("stop_words: %q is %d words; name each by itself", name, len(split))
		case len(split) == 1: // longer runs of unspaced scripts are never a query's word
			w.stop[split[0]] = true
		}
	}
	return w, nil
}

func (w *Wording) addSynonyms(set []string) {
	for i, a := range set {
		for j, b := range set {
			if i != j && a != b {
				w.synonyms[a] = append(w.synonyms[a], b)
			}
		}
	}
}

// withoutStops removes the words from a query that carry no meaning next to its
// others: the site's stop words from any query, those of the language from a
// query of three words and more. A query of nothing else keeps them.
func (w *Wording) withoutStops(words []queryWord, length int, spoken language.Language) []queryWord {
	ofLanguage := func(x queryWord) bool { return spoken.IsStop(x.text) }
	ofSite := func(x queryWord) bool { return x.plain && w.stop[x.text] }
	long := length >= 3
	if slices.ContainsFunc(words, func(x queryWord) bool { return x.plain && !ofLanguage(x) && !ofSite(x) }) {
		return slices.DeleteFunc(words, func(x queryWord) bool { return ofSite(x) || long && ofLanguage(x) })
	}
	if long && slices.ContainsFunc(words, func(x queryWord) bool { return !ofLanguage(x) }) {
		return slices.DeleteFunc(words, ofLanguage)
	}
	return words
}
