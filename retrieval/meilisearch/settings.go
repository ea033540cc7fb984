package meilisearch

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// locales are the server's names of languages written without spaces. It must
// know the language to find the words.
var locales = map[string]string{"ja": "jpn", "zh": "cmn", "ko": "kor", "th": "tha", "km": "khm"}

// ownAttributes are searched by this package: the words of a section in their
// stems. Other clients search the others.
var ownAttributes = []string{"terms.heading", "terms.text", "terms.title"}

// settingsOf returns the settings of an index. Lists without an order are
// sorted, as the server returns them.
func (x *Index) settingsOf(ix *languageIndex) *sdk.Settings {
	s := &sdk.Settings{
		// In order of weight.
		SearchableAttributes: []string{"title", "heading", "keywords", "slug", "headings", "breadcrumbs", "description", "text", "tags", "terms.title", "terms.heading", "terms.text"},
		DisplayedAttributes:  displayed,
		FilterableAttributes: []string{"language", "page", "tags", "version"},
		RankingRules:         []string{"words", "typo", "proximity", "attribute", "sort", "exactness"},
		TypoTolerance: &sdk.TypoTolerance{
			Enabled:             true,
			MinWordSizeForTypos: sdk.MinWordSizeForTypos{OneTypo: 5, TwoTypos: 9},
			DisableOnWords:      []string{},
			DisableOnAttributes: ownAttributes, // terms are corrected before they are sent
			DisableOnNumbers:    true,          // 2.11 is not 2.12
		},
		// Terms have no order. By word, indexing takes twice the time.
		ProximityPrecision: sdk.ByAttribute,
		Pagination:         &sdk.Pagination{MaxTotalHits: 1000},
		Synonyms:           map[string][]string{},
	}
	for _, set := range append(words.Abbreviations(), x.options.Synonyms...) {
		for i, word := range set {
			others := append(slices.Clone(set[:i]), set[i+1:]...)
			s.Synonyms[normal(word)] = append(s.Synonyms[normal(word)], others...)
		}
	}
	for word, others := range s.Synonyms {
		for i := range others {
			others[i] = normal(others[i])
		}
		slices.Sort(others)
		s.Synonyms[word] = slices.Compact(others)
	}
	if l := locales[ix.language]; l != "" {
		s.LocalizedAttributes = []*sdk.LocalizedAttributes{{Locales: []string{l}, AttributePatterns: []string{"*"}}}
	}
	if x.options.Embedder == "" && ix.dimensions > 0 {
		s.Embedders = map[string]sdk.Embedder{vectorName: {Source: sdk.UserProvidedEmbedderSource, Dimensions: ix.dimensions}}
	}
	return s
}

// settingsDiffer reports whether an index must get other settings. The
// operator may set what want leaves out, except for what changes results.
// serverEmbedder: the embedders are the operator's.
func settingsDiffer(have map[string]any, want *sdk.Settings, serverEmbedder bool) bool {
	entries := func(key string) int {
		switch v := have[key].(type) {
		case []any:
			return len(v)
		case map[string]any:
			return len(v)
		}
		return 0
	}
	if !serverEmbedder && len(want.Embedders) == 0 && entries("embedders") > 0 || len(want.StopWords) != entries("stopWords") ||
		len(want.Synonyms) != entries("synonyms") || len(want.LocalizedAttributes) != entries("localizedAttributes") {
		return true
	}
	data, err := json.Marshal(want)
	if err != nil {
		panic(err) // the SDK's own type
	}
	var plain any
	_ = json.Unmarshal(data, &plain)
	return !contains(have, plain)
}

// contains reports whether have has all values of want.
func contains(have, want any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(want, have)
	}
	h, ok := have.(map[string]any)
	if !ok {
		return false
	}
	for k, v := range w {
		if m, empty := v.(map[string]any); empty && len(m) == 0 && h[k] == nil {
			continue
		}
		if !contains(h[k], v) {
			return false
		}
	}
	return true
}

// settings reads an index's settings. The SDK's type has no place for some
// that an operator may set.
func (s *server) settings(ctx context.Context, uid string) (map[string]any, error) {
	settings, err := repeat(ctx, s, func() (v map[string]any, err error) {
		err = s.get(ctx, "/indexes/"+uid+"/settings", &v)
		return v, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the settings of %s: %w", uid, err)
	}
	return settings, nil
}

// userProvided is the source of an embedder whose vectors are sent with the
// documents.
const userProvided = "userProvided"

// embedder is one of an index's embedders.
type embedder struct {
	source     string
	dimensions int
}

// embeddersOf returns the embedders in an index's settings.
func embeddersOf(settings map[string]any) map[string]embedder {
	out := map[string]embedder{}
	all, _ := settings["embedders"].(map[string]any)
	for name, v := range all {
		e, _ := v.(map[string]any)
		source, _ := e["source"].(string)
		dimensions, _ := e["dimensions"].(float64)
		out[name] = embedder{source, int(dimensions)}
	}
	return out
}

// resetSettings empties the lists that want has empty, which the SDK leaves
// out of an update.
func (s *server) resetSettings(ctx context.Context, uid string, want *sdk.Settings) error {
	have, err := s.settings(ctx, uid)
	if err != nil {
		return err
	}
	ix := s.admin.Index(uid)
	if words, _ := have["stopWords"].([]any); len(words) > 0 && len(want.StopWords) == 0 {
		err = s.task(ctx, func() (*sdk.TaskInfo, error) { return ix.ResetStopWordsWithContext(ctx) })
	}
	if rules, _ := have["localizedAttributes"].([]any); err == nil && len(rules) > 0 && len(want.LocalizedAttributes) == 0 {
		err = s.task(ctx, func() (*sdk.TaskInfo, error) { return ix.ResetLocalizedAttributesWithContext(ctx) })
	}
	return err
}
