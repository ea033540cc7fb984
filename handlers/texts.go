package handlers

import (
	_ "embed" // the texts
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"golang.org/x/text/language"
)

//go:embed texts.json
var textsFile []byte

// readerTexts are what readers see, by language and name. In the texts, %d is a
// number of characters.
var readerTexts = func() (texts map[string]map[string]string) {
	if err := json.Unmarshal(textsFile, &texts); err != nil {
		panic(err) // a test reads them all
	}
	return texts
}()

// readerLanguages are those of readerTexts, and readerMatcher matches them with a
// browser's. The first, English, is for all other readers.
var readerLanguages, readerMatcher = func() (names []string, _ language.Matcher) {
	names = append(names, "en")
	tags := []language.Tag{language.English}
	for _, name := range slices.Sorted(maps.Keys(readerTexts)) {
		if name != "en" {
			names, tags = append(names, name), append(tags, language.Make(name))
		}
	}
	return names, language.NewMatcher(tags)
}()

// Texts returns the texts for readers in the language that a browser prefers, and
// the language.
func Texts(r *http.Request) (texts map[string]string, lang string) {
	_, i := language.MatchStrings(readerMatcher, r.Header.Get("Accept-Language"))
	return readerTexts[readerLanguages[i]], readerLanguages[i]
}

// sentence returns what to say to the reader about an error.
func sentence(r *http.Request, status int) string {
	name := "owner"
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusBadGateway, status == http.StatusServiceUnavailable:
		name = "wait"
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge:
		name = "shorten"
	case status == http.StatusNotFound:
		name = "missing"
	case status >= 500:
		name = "broken"
	}
	texts, _ := Texts(r)
	return texts[name]
}
