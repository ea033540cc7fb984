package meiliserver

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
)

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

// refuse returns what is wrong with a document, and sets id to its id.
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

func (s *Server) deleteDocument(w http.ResponseWriter, r *http.Request) {
	uid, id := r.PathValue("uid"), r.PathValue("id")
	details := map[string]any{"providedIds": 1, "originalFilter": nil, "deletedDocuments": 0}
	s.enqueue(w, "documentDeletion", uid, details, func() map[string]any {
		x := s.indexes[uid]
		if x == nil {
			return problem("index_not_found", uid)
		}
		if x.documents[id] != nil {
			delete(x.documents, id)
			x.order = slices.DeleteFunc(x.order, func(other string) bool { return other == id })
			details["deletedDocuments"] = 1
		}
		return nil
	})
}

func (s *Server) getDocuments(w http.ResponseWriter, r *http.Request) {
	if x := s.find(w, r); x != nil {
		offset, limit := paging(r)
		x.page(w, x.order, offset, limit, nil, false)
	}
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
		IDs             []string
	}{Limit: 20}
	if !read(w, r, &body) {
		return
	}
	order := x.order
	if body.IDs != nil {
		order = slices.DeleteFunc(slices.Clone(order), func(id string) bool { return !slices.Contains(body.IDs, id) })
	}
	x.page(w, order, body.Offset, body.Limit, body.Fields, body.RetrieveVectors)
}

func (x *index) page(w http.ResponseWriter, order []string, offset, limit int, fields []string, vectors bool) {
	total := len(order)
	results := []map[string]json.RawMessage{}
	for _, id := range order[min(offset, total):min(offset+limit, total)] {
		d := maps.Clone(x.documents[id])
		maps.DeleteFunc(d, func(k string, _ json.RawMessage) bool {
			if k == "_vectors" {
				return !vectors
			}
			return len(fields) > 0 && !slices.Contains(fields, k)
		})
		results = append(results, d)
	}
	reply(w, 200, map[string]any{"results": results, "offset": offset, "limit": limit, "total": total})
}
