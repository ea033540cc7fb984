package meilisearch

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// locales are the names that the server gives to languages written without
// spaces, whose words it must know where to part.
var locales = map[string]string{"ja": "jpn", "zh": "cmn", "ko": "kor", "th": "tha", "km": "khm"}

// settingsOf are the settings that an index of ours has. Lists whose order
// means nothing to the server are sorted, as it returns them.
func (x *Index) settingsOf(ix *indexContent) *sdk.Settings {
	s := &sdk.Settings{
		// Attributes that stand first weigh more: what names a section
		// before what stands in it.
		SearchableAttributes: []string{"title", "heading", "keywords", "slug", "headings", "breadcrumbs", "description", "text", "tags"},
		DisplayedAttributes:  []string{"id", "page", "section", "title", "heading", "vector"},
		FilterableAttributes: []string{"language", "page", "tags", "version"},
		RankingRules:         []string{"words", "typo", "proximity", "attribute", "sort", "exactness"},
		TypoTolerance: &sdk.TypoTolerance{
			Enabled:             true,
			MinWordSizeForTypos: sdk.MinWordSizeForTypos{OneTypo: 5, TwoTypos: 9},
			DisableOnWords:      []string{}, DisableOnAttributes: []string{},
			DisableOnNumbers: true, // 2.11 is not 2.12
		},
		Pagination: &sdk.Pagination{MaxTotalHits: 1000},
		Synonyms:   map[string][]string{},
	}
	for _, set := range append(embedded.Abbreviations(), x.o.Synonyms...) {
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
	if words := slices.Clone(x.o.StopWords); len(words) > 0 {
		for i := range words {
			words[i] = normal(words[i])
		}
		slices.Sort(words)
		s.StopWords = slices.Compact(words)
	}
	if x.o.Embedder == "" && ix.dimensions > 0 {
		s.Embedders = map[string]sdk.Embedder{embedderName: {Source: sdk.UserProvidedEmbedderSource, Dimensions: ix.dimensions}}
	}
	return s
}

// settingsDiffer reports whether an index lacks a setting that we want. A
// setting that we leave out may be what the operator likes, but for what
// would change results: embedders that we no longer use, words to stop at.
func settingsDiffer(have map[string]any, want *sdk.Settings, ownEmbedder bool) bool {
	entries := func(key string) int {
		switch v := have[key].(type) {
		case []any:
			return len(v)
		case map[string]any:
			return len(v)
		}
		return 0
	}
	if !ownEmbedder && len(want.Embedders) == 0 && entries("embedders") > 0 || len(want.StopWords) != entries("stopWords") ||
		len(want.Synonyms) != entries("synonyms") || len(want.LocalizedAttributes) != entries("localizedAttributes") {
		return true
	}
	return !within(plainJSON(want), have)
}

func plainJSON(s *sdk.Settings) (v any) {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // the client's own type
	}
	_ = json.Unmarshal(data, &v)
	return v
}

// within reports whether all that want says is so in have.
func within(want, have any) bool {
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
		if !within(v, h[k]) {
			return false
		}
	}
	return true
}

// settings reads an index's settings as the server tells them: the client's
// type lacks forms that an operator's embedder and filters may have.
func (in *instance) settings(ctx context.Context, uid string) (have map[string]any, err error) {
	err = in.repeat(ctx, func() error {
		have = nil
		return in.get(ctx, "/indexes/"+uid+"/settings", &have)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the settings of %s: %w", uid, err)
	}
	return have, nil
}

// embeddersOf are the embedders in an index's settings.
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

// reset empties the lists that we want empty, which the client leaves out of
// an update.
func (in *instance) reset(ctx context.Context, uid string, want *sdk.Settings) error {
	have, err := in.settings(ctx, uid)
	if err != nil {
		return err
	}
	ix := in.admin.Index(uid)
	for _, list := range []struct {
		key   string
		empty bool
		reset func(context.Context) (*sdk.TaskInfo, error)
	}{
		{"stopWords", len(want.StopWords) == 0, ix.ResetStopWordsWithContext},
		{"localizedAttributes", len(want.LocalizedAttributes) == 0, ix.ResetLocalizedAttributesWithContext},
	} {
		if held, _ := have[list.key].([]any); !list.empty || len(held) == 0 {
			continue
		}
		var info *sdk.TaskInfo
		err := in.repeat(ctx, func() (err error) {
			info, err = list.reset(ctx)
			return err
		})
		if err == nil {
			err = in.await(ctx, info)
		}
		if err != nil {
			return fmt.Errorf("emptying %s of %s: %w", list.key, uid, err)
		}
	}
	return nil
}
