package meiliserver

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// defaults are the settings of a new index, as the server tells them.
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
			// Those that the change doesn't name stay.
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

// withoutSecrets is a copy of settings as the server shows them: of a key
// to an embedder the beginning. Where whole, defaults are filled in.
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

func (s *Server) addDocuments(w http.ResponseWriter, r *http.Request) {
	var documents []map[string]json.RawMessage
	if !read(w, r, &documents) {
		return
	}
	uid := r.PathValue("uid")
	details := map[string]any{"receivedDocuments": len(documents), "indexedDocuments": 0}
	s.enqueue(w, "documentAdditionOrUpdate", uid, details, func() map[string]any {
		x := s.indexes[uid]
		if x == nil {
			x = newIndex()
			s.indexes[uid] = x
		}
		key := r.URL.Query().Get("primaryKey")
		if x.primaryKey == "" {
			x.primaryKey = key
		}
		if key != x.primaryKey {
			return problem("index_primary_key_already_exists", x.primaryKey)
		}
		ids := make([]string, len(documents))
		for i, d := range documents {
			if p := x.refuse(d, &ids[i]); p != nil {
				return p
			}
		}
		if p := s.embed(x, documents); p != nil {
			return p
		}
		for i, d := range documents {
			if x.documents[ids[i]] == nil {
				x.order = append(x.order, ids[i])
			}
			x.documents[ids[i]] = d
		}
		details["indexedDocuments"] = len(documents)
		return nil
	})
}

var documentID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,511}$`)

// refuse says what is wrong with a document, and which its id is.
func (x *index) refuse(d map[string]json.RawMessage, id *string) map[string]any {
	if d[x.primaryKey] == nil {
		return problem("missing_document_id", x.primaryKey)
	}
	if json.Unmarshal(d[x.primaryKey], id) != nil || !documentID.MatchString(*id) {
		return problem("invalid_document_id", *id)
	}
	embedders, _ := x.settings["embedders"].(map[string]any)
	var vectors map[string]*struct{ Embeddings [][]float64 }
	_ = json.Unmarshal(d["_vectors"], &vectors)
	for name, e := range embedders {
		settings := e.(map[string]any)
		if settings["source"] != "userProvided" {
			continue
		}
		v, given := vectors[name]
		if !given {
			return problem("vector_embedding_error", name)
		}
		if v == nil {
			continue
		}
		for _, u := range v.Embeddings {
			if n, ok := settings["dimensions"].(float64); ok && len(u) != int(n) {
				return problem("invalid_vector_dimensions", n, len(u))
			}
		}
	}
	return nil
}

func (s *Server) deleteDocuments(w http.ResponseWriter, r *http.Request) {
	var ids []string
	if !read(w, r, &ids) {
		return
	}
	uid := r.PathValue("uid")
	details := map[string]any{"providedIds": len(ids), "originalFilter": nil, "deletedDocuments": 0}
	s.enqueue(w, "documentDeletion", uid, details, func() map[string]any {
		x := s.indexes[uid]
		if x == nil {
			return problem("index_not_found", uid)
		}
		before := len(x.documents)
		for _, id := range ids {
			delete(x.documents, id)
		}
		x.order = slices.DeleteFunc(x.order, func(id string) bool { return x.documents[id] == nil })
		details["deletedDocuments"] = before - len(x.documents)
		return nil
	})
}

func (s *Server) fetchDocuments(w http.ResponseWriter, r *http.Request) {
	x := s.find(w, r)
	if x == nil {
		return
	}
	body := struct {
		Offset, Limit   int
		Fields          []string
		RetrieveVectors bool
	}{Limit: 20}
	if !read(w, r, &body) {
		return
	}
	total := len(x.order)
	results := []map[string]json.RawMessage{}
	for _, id := range x.order[min(body.Offset, total):min(body.Offset+body.Limit, total)] {
		d := maps.Clone(x.documents[id])
		maps.DeleteFunc(d, func(k string, _ json.RawMessage) bool {
			if k == "_vectors" {
				return !body.RetrieveVectors
			}
			return len(body.Fields) > 0 && !slices.Contains(body.Fields, k)
		})
		results = append(results, d)
	}
	reply(w, 200, map[string]any{"results": results, "offset": body.Offset, "limit": body.Limit, "total": total})
}
