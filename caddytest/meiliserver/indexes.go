package meiliserver

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func newIndex() *index {
	return &index{documents: map[string]map[string]json.RawMessage{}, settings: defaults()}
}

func (s *Server) listIndexes(w http.ResponseWriter, r *http.Request) {
	offset, limit := paging(r)
	names := make([]string, 0, len(s.indexes))
	for uid := range s.indexes {
		names = append(names, uid)
	}
	slices.Sort(names)
	total := len(names)
	names = names[min(offset, total):min(offset+limit, total)]
	results := []map[string]any{}
	for _, uid := range names {
		results = append(results, map[string]any{"uid": uid, "createdAt": stamp, "updatedAt": stamp, "primaryKey": orNull(s.indexes[uid].primaryKey)})
	}
	reply(w, 200, map[string]any{"results": results, "offset": offset, "limit": limit, "total": total})
}

func paging(r *http.Request) (offset, limit int) {
	limit = 20
	if n, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil {
		limit = n
	}
	offset, _ = strconv.Atoi(r.URL.Query().Get("offset"))
	return offset, limit
}

var indexUID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,512}$`)

func (s *Server) createIndex(w http.ResponseWriter, r *http.Request) {
	var body struct{ UID, PrimaryKey string }
	if !read(w, r, &body) {
		return
	}
	switch {
	case !indexUID.MatchString(body.UID):
		fail(w, "invalid_index_uid", body.UID)
		return
	case !s.rightsOf(r).may(body.UID):
		fail(w, "invalid_api_key")
		return
	}
	s.enqueue(w, "indexCreation", body.UID, map[string]any{"primaryKey": orNull(body.PrimaryKey)}, func() map[string]any {
		if s.indexes[body.UID] != nil {
			return problem("index_already_exists", body.UID)
		}
		s.indexes[body.UID] = newIndex()
		s.indexes[body.UID].primaryKey = body.PrimaryKey
		return nil
	})
}

func (s *Server) deleteIndex(w http.ResponseWriter, r *http.Request) {
	uid := r.PathValue("uid")
	details := map[string]any{"deletedDocuments": 0}
	s.enqueue(w, "indexDeletion", uid, details, func() map[string]any {
		x := s.indexes[uid]
		if x == nil {
			return problem("index_not_found", uid)
		}
		details["deletedDocuments"] = len(x.documents)
		delete(s.indexes, uid)
		return nil
	})
}

func (s *Server) swap(w http.ResponseWriter, r *http.Request) {
	var body []struct {
		Indexes []string `json:"indexes"`
		Rename  bool     `json:"rename"`
	}
	if !read(w, r, &body) {
		return
	}
	for _, p := range body {
		if len(p.Indexes) != 2 {
			s.calls["POST /swap-indexes"]-- // a client that tries its key
			fail(w, "invalid_swap_indexes", p.Indexes[0])
			return
		}
		if p.Indexes[0] == p.Indexes[1] {
			fail(w, "invalid_swap_duplicate_index_found", p.Indexes[0])
			return
		}
	}
	s.enqueue(w, "indexSwap", "", map[string]any{"swaps": body}, func() map[string]any {
		for _, p := range body {
			a, b := s.indexes[p.Indexes[0]], s.indexes[p.Indexes[1]]
			switch {
			case a == nil:
				return problem("index_not_found", p.Indexes[0])
			case b == nil && !p.Rename:
				return problem("index_not_found", p.Indexes[1])
			case b != nil && p.Rename:
				return problem("index_already_exists", p.Indexes[1])
			}
		}
		for _, p := range body {
			a, b := p.Indexes[0], p.Indexes[1]
			s.indexes[a], s.indexes[b] = s.indexes[b], s.indexes[a]
			if p.Rename {
				delete(s.indexes, a)
			}
			for _, t := range s.tasks { // they move with their index
				switch t.index {
				case a:
					t.index = b
				case b:
					t.index = a
				}
			}
		}
		return nil
	})
}

func (s *Server) compact(w http.ResponseWriter, r *http.Request) {
	uid := r.PathValue("uid")
	details := map[string]any{}
	s.enqueue(w, "indexCompaction", uid, details, func() map[string]any {
		if s.indexes[uid] == nil {
			return problem("index_not_found", uid)
		}
		details["preCompactionSize"], details["postCompactionSize"] = "20 KiB", "20 KiB"
		return nil
	})
}

// find returns the index in a route, or replies that there is none.
func (s *Server) find(w http.ResponseWriter, r *http.Request) *index {
	x := s.indexes[r.PathValue("uid")]
	if x == nil {
		fail(w, "index_not_found", r.PathValue("uid"))
	}
	return x
}

func (s *Server) stats(w http.ResponseWriter, r *http.Request) {
	if x := s.find(w, r); x != nil {
		embedded, fields := 0, map[string]int{}
		for _, d := range x.documents {
			if strings.Contains(string(d["_vectors"]), "embeddings") {
				embedded++
			}
			for k := range d {
				if k != "_vectors" {
					fields[k]++
				}
			}
		}
		reply(w, 200, map[string]any{
			"numberOfDocuments": len(x.documents), "rawDocumentDbSize": 4096, "avgDocumentSize": 512, "isIndexing": false,
			"numberOfEmbeddings": embedded, "numberOfEmbeddedDocuments": embedded, "fieldDistribution": fields,
		})
	}
}
