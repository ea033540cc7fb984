package embedded

import (
	"fmt"
	"strings"
)

// abbreviations are short forms that readers type where manuals write the
// long one, or the other way round. They hold for any software.
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
configuration
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

// Abbreviations are the pairs of words that stand for each other on any site.
func Abbreviations() [][]string {
	var out [][]string
	for line := range strings.Lines(abbreviations) {
		if pair := strings.Fields(line); len(pair) == 2 {
			out = append(out, pair)
		}
	}
	return out
}

// wording is what a site says of its words.
type wording struct {
	synonyms map[string][]string
	stop     map[string]bool
}

// wordOf is the form under which a name is looked up: one word, an
// identifier or a name of several words without what parts them.
func wordOf(name string) string {
	word := ""
	splitWords(name, func(w string, k kind) {
		if k == plain {
			word += w
		}
	})
	return word
}

// readSynonyms maps words to what they stand for besides themselves.
func readSynonyms(sets [][]string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, pair := range Abbreviations() {
		a, b := pair[0], pair[1]
		out[a] = append(out[a], b)
		out[b] = append(out[b], a)
	}
	for i, set := range sets {
		if len(set) < 2 {
			return nil, fmt.Errorf("synonyms: set %d has fewer than two words", i+1)
		}
		words := make([]string, len(set))
		for j, name := range set {
			if words[j] = wordOf(name); words[j] == "" {
				return nil, fmt.Errorf("synonyms: %q in set %d holds no word", name, i+1)
			}
		}
		for j, a := range words {
			for k, b := range words {
				if j != k && a != b {
					out[a] = append(out[a], b)
				}
			}
		}
	}
	return out, nil
}
