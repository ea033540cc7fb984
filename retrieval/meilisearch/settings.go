package meilisearch

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	sdk "github.com/meilisearch/meilisearch-go"
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
	for _, set := range x.o.Synonyms {
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
func settingsDiffer(have, want *sdk.Settings, ownEmbedder bool) bool {
	if !ownEmbedder && len(want.Embedders) == 0 && len(have.Embedders) > 0 || len(want.StopWords) != len(have.StopWords) ||
		len(want.Synonyms) != len(have.Synonyms) || len(want.LocalizedAttributes) != len(have.LocalizedAttributes) {
		return true
	}
	return !within(plainJSON(want), plainJSON(have))
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

// settings reads an index's settings, nil where they are of a form that is
// not ours.
func (in *instance) settings(ctx context.Context, uid string) (*sdk.Settings, error) {
	var have *sdk.Settings
	err := in.repeat(ctx, func() (err error) {
		have, err = in.admin.Index(uid).GetSettingsWithContext(ctx)
		return err
	})
	if err != nil {
		if e := (*ServerError)(nil); asServer(err, &e) && e.Status == 200 {
			return nil, nil // granular rules, which the client can't read
		}
		return nil, err
	}
	return have, nil
}
