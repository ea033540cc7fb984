package assistant

import (
	_ "embed" // the sentences
	"encoding/json"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// The sentences that the assistant says itself.
const (
	found             = "found"             // the docs answer; quotes follow
	seeAlso           = "seeAlso"           // links below the quotes
	closest           = "closest"           // the docs may answer; a quote follows
	notFound          = "notFound"          // the docs don't answer; pages follow
	notFoundAtAll     = "notFoundAtAll"     // not even a page is near
	notChecked        = "notChecked"        // instead of both for a reader for whom not every page could be checked
	askSupport        = "askSupport"        // "%s" is the link
	modelUnavailable  = "modelUnavailable"  // the model failed; the docs' own words follow
	searchUnavailable = "searchUnavailable" // the model answers without search
	streamBroke       = "streamBroke"       // the model broke off
	sourcesLabel      = "sourcesLabel"      // before a list of links
	cannotAnswer      = "cannotAnswer"      // neither model nor search
	asks              = "asks"              // "%s" is a heading: a follow-up question
)

//go:embed phrases.json
var phrasesJSON []byte

// phrases are the sentences in ten languages. None needs grammar to fit in what
// is inserted, such as a name's gender.
var phrases = func() (all map[language.Language]map[string]string) {
	if err := json.Unmarshal(phrasesJSON, &all); err != nil {
		panic(err) // a test reads it, too
	}
	return all
}()

// say returns a phrase in the language of the question, else in that of the
// site, else in English.
func (r *run) say(phrase string) string {
	if (phrase == notFound || phrase == notFoundAtAll) && r.incomplete() {
		phrase = notChecked
	}
	for _, l := range []language.Language{r.q.language, language.Of(r.site.Language)} {
		if sentences := phrases[l]; sentences != nil {
			return sentences[phrase]
		}
	}
	return phrases[language.English][phrase]
}
