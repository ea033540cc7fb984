package words

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// abbreviations are short forms that readers type for the long ones, or the
// other way round, in the documentation of any software.
const abbreviations = `
	admin administrator, auth authentication, authn authentication, authz authorization, cert certificate,
	certs certificates, cfg config, cmd command, conf config, db database, deps dependencies, dir directory,
	dirs directories, docs documentation, env environment, i18n internationalization, img image, info information,
	k8s kubernetes, lib library, libs libraries, param parameter, params parameters, perf performance,
	pkg package, pwd password, regex regexp, repo repository, repos repositories, ssl tls, stats statistics`

// Abbreviations are the pairs of words that are synonyms on any site.
func Abbreviations() [][]string {
	var out [][]string
	for pair := range strings.SplitSeq(abbreviations, ",") {
		out = append(out, strings.Fields(pair))
	}
	return out
}

// Wording is what a site says about words in queries.
type Wording struct {
	Synonyms map[string][]string // word → the others of its sets
	Stop     map[string]bool
}

// NewWording takes sets of words with the same meaning, and words without any.
func NewWording(synonyms [][]string, stopWords []string) (*Wording, error) {
	w := &Wording{Synonyms: map[string][]string{}, Stop: map[string]bool{}}
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
			if joined[j] = strings.Join(Plain(name), ""); joined[j] == "" {
				return nil, fmt.Errorf("synonyms: %q in set %d contains no word", name, i+1)
			}
		}
		w.addSynonyms(joined)
	}
	for _, name := range stopWords {
		split := Plain(name)
		first, _ := utf8.DecodeRuneInString(strings.TrimSpace(name))
		switch {
		case len(split) == 0:
			return nil, fmt.Errorf("stop_words: %q contains no word", name)
		case len(split) > 1 && !unspaced(first):
			return nil, fmt.Errorf("stop_words: %q is %d words; list each separately", name, len(split))
		case len(split) == 1: // longer runs of unspaced scripts are never a query's word
			w.Stop[split[0]] = true
		}
	}
	return w, nil
}

func (w *Wording) addSynonyms(set []string) {
	for i, a := range set {
		for j, b := range set {
			if i != j && a != b {
				w.Synonyms[a] = append(w.Synonyms[a], b)
			}
		}
	}
}
