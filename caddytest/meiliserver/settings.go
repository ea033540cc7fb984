package meiliserver

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// defaults returns the settings of a new index.
func defaults() map[string]any {
	var v map[string]any
	if err := json.Unmarshal([]byte(`{
		"displayedAttributes": ["*"], "searchableAttributes": ["*"], "filterableAttributes": [], "sortableAttributes": [],
		"rankingRules": ["words", "typo", "proximity", "attributeRank", "sort", "wordPosition", "exactness"],
		"stopWords": [], "nonSeparatorTokens": [], "separatorTokens": [], "dictionary": [], "synonyms": {},
		"distinctAttribute": null, "proximityPrecision": "byWord",
		"typoTolerance": {"enabled": true, "minWordSizeForTypos": {"oneTypo": 5, "twoTypos": 9}, "disableOnWords": [], "disableOnAttributes": [], "disableOnNumbers": false},
		"faceting": {"maxValuesPerFacet": 100, "sortFacetValuesBy": {"*": "alpha"}},
		"pagination": {"maxTotalHits": 1000}, "embedders": {}, "searchCutoffMs": null, "localizedAttributes": null,
		"facetSearch": true, "prefixSearch": "indexingTime"}`), &v); err != nil {
		panic(err)
	}
	return v
}

func (s *Server) getSettings(w http.ResponseWriter, r *http.Request) {
	if x := s.find(w, r); x != nil {
		reply(w, 200, withoutSecrets(x.settings, true))
	}
}

func (s *Server) patchSettings(w http.ResponseWriter, r *http.Request) {
	var change map[string]any
	if !read(w, r, &change) {
		return
	}
	known := defaults()
	for k := range change {
		if _, ok := known[k]; !ok {
			fail(w, "bad_request", "Unknown field `"+k+"`")
			return
		}
	}
	rules, _ := change["rankingRules"].([]any)
	for _, rule := range rules {
		if !slices.Contains(rankingRules, rule.(string)) {
			fail(w, "invalid_settings_ranking_rules", rule)
			return
		}
	}
	for _, k := range []string{"filterableAttributes", "stopWords"} {
		if list, ok := change[k].([]any); ok {
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		}
	}
	uid := r.PathValue("uid")
	s.enqueue(w, "settingsUpdate", uid, withoutSecrets(change, false), func() map[string]any {
		if s.indexes[uid] == nil {
			s.indexes[uid] = newIndex()
		}
		x := s.indexes[uid]
		for k, v := range change {
			if k != "embedders" || v == nil {
				x.settings[k] = cmp.Or(v, known[k])
				continue
			}
			// Embedders that are not in the change stay.
			embedders := maps.Clone(x.settings[k].(map[string]any))
			for name, e := range v.(map[string]any) {
				if embedders[name] = e; e == nil {
					delete(embedders, name)
				}
			}
			x.settings[k] = embedders
		}
		if change["embedders"] != nil {
			return s.embedAll(x)
		}
		return nil
	})
}

var rankingRules = []string{"words", "typo", "proximity", "attribute", "attributeRank", "wordPosition", "sort", "exactness"}

// withoutSecrets returns a copy of settings with shortened API keys. whole adds
// the defaults of embedders.
func withoutSecrets(settings map[string]any, whole bool) map[string]any {
	out := maps.Clone(settings)
	all, _ := settings["embedders"].(map[string]any)
	if all == nil {
		return out
	}
	embedders := map[string]any{}
	for name, v := range all {
		e, _ := v.(map[string]any)
		if e = maps.Clone(e); e == nil {
			embedders[name] = nil
			continue
		}
		if key, ok := e["apiKey"].(string); ok {
			e["apiKey"] = key[:min(3, len(key))] + "XXXXX..."
		}
		if whole && e["source"] != "userProvided" {
			if e["documentTemplateMaxBytes"] == nil {
				e["documentTemplateMaxBytes"] = 400
			}
			if e["source"] == "rest" && e["headers"] == nil {
				e["headers"] = map[string]any{}
			}
		}
		embedders[name] = e
	}
	out["embedders"] = embedders
	return out
}

// resetSetting handles DELETE of one setting.
func (s *Server) resetSetting(w http.ResponseWriter, r *http.Request) {
	uid := r.PathValue("uid")
	key := map[string]string{"stop-words": "stopWords", "localized-attributes": "localizedAttributes"}[r.PathValue("setting")]
	s.enqueue(w, "settingsUpdate", uid, map[string]any{key: nil}, func() map[string]any {
		x := s.indexes[uid]
		if x == nil {
			return problem("index_not_found", uid)
		}
		x.settings[key] = defaults()[key]
		return nil
	})
}
