package meiliserver

import (
	"encoding/json"
	"maps"
	"net/http"
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
		reply(w, 200, x.settings)
	}
}

func (s *Server) patchSettings(w http.ResponseWriter, r *http.Request) {
	var change map[string]any
	if !read(w, r, &change) {
		return
	}
	uid := r.PathValue("uid")
	s.enqueue(w, "settingsUpdate", uid, func() string {
		if s.indexes[uid] == nil {
			s.indexes[uid] = newIndex()
		}
		for k, v := range change {
			if k == "filterableAttributes" || k == "stopWords" {
				slices.SortFunc(v.([]any), func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
			}
			s.indexes[uid].settings[k] = v
		}
		return ""
	})
}

func (s *Server) addDocuments(w http.ResponseWriter, r *http.Request) {
	var documents []map[string]json.RawMessage
	if !read(w, r, &documents) {
		return
	}
	uid := r.PathValue("uid")
	s.enqueue(w, "documentAdditionOrUpdate", uid, func() string {
		x := s.indexes[uid]
		if x == nil {
			x = newIndex()
			s.indexes[uid] = x
		}
		embedders, _ := x.settings["embedders"].(map[string]any)
		for _, d := range documents {
			var vectors map[string]json.RawMessage
			_ = json.Unmarshal(d["_vectors"], &vectors)
			for name, e := range embedders {
				if _, given := vectors[name]; !given && e.(map[string]any)["source"] == "userProvided" {
					return "vector_embedding_error"
				}
			}
		}
		for _, d := range documents {
			var id string
			if json.Unmarshal(d["id"], &id) != nil {
				return "invalid_document_id"
			}
			if x.documents[id] == nil {
				x.order = append(x.order, id)
			}
			x.documents[id] = d
		}
		return ""
	})
}

func (s *Server) deleteDocuments(w http.ResponseWriter, r *http.Request) {
	var ids []string
	if !read(w, r, &ids) {
		return
	}
	uid := r.PathValue("uid")
	s.enqueue(w, "documentDeletion", uid, func() string {
		x := s.indexes[uid]
		if x == nil {
			return "index_not_found"
		}
		for _, id := range ids {
			delete(x.documents, id)
		}
		x.order = slices.DeleteFunc(x.order, func(id string) bool { return x.documents[id] == nil })
		return ""
	})
}

func (s *Server) fetchDocuments(w http.ResponseWriter, r *http.Request) {
	x := s.find(w, r)
	if x == nil {
		return
	}
	body := struct {
		Offset, Limit int
		Fields        []string
	}{Limit: 20}
	if !read(w, r, &body) {
		return
	}
	total := len(x.order)
	results := []map[string]json.RawMessage{}
	for _, id := range x.order[min(body.Offset, total):min(body.Offset+body.Limit, total)] {
		d := maps.Clone(x.documents[id])
		maps.DeleteFunc(d, func(k string, _ json.RawMessage) bool {
			return k == "_vectors" || len(body.Fields) > 0 && !slices.Contains(body.Fields, k)
		})
		results = append(results, d)
	}
	reply(w, 200, map[string]any{"results": results, "offset": body.Offset, "limit": body.Limit, "total": total})
}
