package meilisearch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

type settings map[string]any

// termsOf are the attributes that are searched where this package ranks.
var termsOf = []string{"terms.title", "terms.heading", "terms.text"}

// settingsOf returns the settings of an index that this package makes, lists
// sorted as the server returns them.
func (x *Index) settingsOf(ix *languageIndex) settings {
	s := settings{
		"filterableAttributes": []string{"language", "page", "tags", "version"}, // of filters
		"pagination":           settings{"maxTotalHits": 1000},
	}
	byServer := x.options.ServerRanking && !ix.view
	if byServer || ix.view {
		s["searchableAttributes"] = searchable
		// The server must know a language written without spaces to find its words.
		if l := map[string]string{"ja": "jpn", "zh": "cmn", "ko": "kor", "th": "tha", "km": "khm"}[ix.language]; l != "" {
			s["localizedAttributes"] = []settings{{"locales": []string{l}, "attributePatterns": []string{"*"}}}
		}
	}
	if ix.view {
		s["displayedAttributes"] = []string{
			"anchor", "breadcrumbs", "description", "heading", "headings", "id", "keywords", "language", "level", "page", "path", "section",
			"tags", "text", "title", "url", "version",
		}
		s["distinctAttribute"] = "page"
		s["stopWords"] = []string{}
		s["typoTolerance"] = settings{"disableOnNumbers": true} // 2.11 is not 2.12
		s["synonyms"] = synonyms(append(words.Abbreviations(), x.options.Synonyms...))
		return s
	}
	s["displayedAttributes"] = []string{"*"}
	if x.options.Embedder == "" && ix.dimensions > 0 {
		s.expectVectors(ix.dimensions)
	}
	if byServer {
		if len(x.options.Synonyms) > 0 {
			s["synonyms"] = synonyms(x.options.Synonyms)
		}
		return s
	}
	// Terms are stems, which are corrected and completed before they are sent, and
	// have no order. The server need not prepare for what is not asked.
	s["searchableAttributes"] = termsOf
	s["localizedAttributes"] = nil
	s["rankingRules"] = []string{"words", "attribute", "exactness"}
	s["typoTolerance"] = settings{"enabled": false}
	s["proximityPrecision"] = "byAttribute"
	s["prefixSearch"] = "disabled"
	s["facetSearch"] = false
	s["synonyms"] = settings{}
	s["stopWords"] = []string{}
	return s
}

// expectVectors adds the embedder of vectors that this process sends.
func (s settings) expectVectors(dimensions int) {
	s["embedders"] = settings{vectorName: settings{"source": userProvided, "dimensions": dimensions}}
}

// synonyms returns the others of each word of a set.
func synonyms(sets [][]string) map[string][]string {
	out := map[string][]string{}
	for _, set := range sets {
		for i, word := range set {
			for j, other := range set {
				if i != j {
					out[normal(word)] = append(out[normal(word)], normal(other))
				}
			}
		}
	}
	for word := range out {
		slices.Sort(out[word])
		out[word] = slices.Compact(out[word])
	}
	return out
}

// lacks reports whether an index with the settings s must get others.
func (s settings) lacks(want settings) bool {
	data, err := json.Marshal(want)
	if err != nil {
		panic(err) // strings, numbers and lists
	}
	var plain map[string]any
	_ = json.Unmarshal(data, &plain)
	for name, v := range plain {
		if v != nil && (name == "synonyms" && !reflect.DeepEqual(v, s[name]) || !contains(s[name], v)) {
			return true
		}
	}
	return false
}

// contains reports whether have has all values of want.
func contains(have, want any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(want, have)
	}
	h, _ := have.(map[string]any)
	for k, v := range w {
		if !contains(h[k], v) {
			return false
		}
	}
	return true
}

// keep adds what an operator has set in an index that a new one replaces: also
// those of ordering that this package doesn't make.
func (s settings) keep(live settings) settings {
	for _, name := range append([]string{"dictionary", "distinctAttribute", "faceting", "nonSeparatorTokens", "searchCutoffMs", "separatorTokens", "sortableAttributes"}, ordering...) {
		if _, made := s[name]; !made && live[name] != nil {
			s[name] = live[name]
		}
	}
	return s
}

func (s *server) settings(ctx context.Context, uid string) (v settings, err error) {
	if err = s.admin(ctx, http.MethodGet, "/indexes/"+uid+"/settings", nil, &v); err != nil {
		return nil, fmt.Errorf("reading the settings of %s: %w", uid, err)
	}
	return v, nil
}

// setUp sets an index's settings, and creates it if it is missing.
func (s *server) setUp(ctx context.Context, uid string, v settings) error {
	if err := s.task(ctx, http.MethodPatch, "/indexes/"+uid+"/settings", v); err != nil {
		return fmt.Errorf("setting up %s: %w", uid, err)
	}
	return nil
}

// userProvided is the source of an embedder whose vectors are sent with the
// documents.
const userProvided = "userProvided"

// embedder is one of an index's embedders.
type embedder struct {
	source     string
	dimensions int
}

// embedders returns the embedders in an index's settings.
func (s settings) embedders() map[string]embedder {
	out := map[string]embedder{}
	all, _ := s["embedders"].(map[string]any)
	for name, v := range all {
		e, _ := v.(map[string]any)
		source, _ := e["source"].(string)
		dimensions, _ := e["dimensions"].(float64)
		out[name] = embedder{source, int(dimensions)}
	}
	return out
}
