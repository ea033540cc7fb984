// Package meiliserver is a stand-in for a Meilisearch server: the routes,
// replies and errors that the index in retrieval/meilisearch meets, over
// indexes in memory, with faults on demand. Its ranking is a plain count of
// words and a cosine; what it answers to settings, tasks, swaps, filters and
// keys has the form that the real server's replies have.
package meiliserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server is a fake Meilisearch.
type Server struct {
	*httptest.Server
	// Key may do anything, SearchKey search alone.
	Key, SearchKey string

	mu      sync.Mutex
	version string
	indexes map[string]*index
	tasks   []*task
	calls   map[string]int

	fault    func(r *http.Request) *Fault
	failTask func(kind, uid string) string
}

// Fault is what happens to a request instead of an answer.
type Fault struct {
	// Cut closes the connection.
	Cut bool
	// Hang waits for the client to give up.
	Hang bool
	// Status, with a code of the server's, is the answer.
	Status int
	Code   string
}

type index struct {
	documents map[string]map[string]json.RawMessage
	order     []string
	settings  map[string]any
	created   time.Time
}

type task struct {
	uid       int
	index     string
	kind      string
	errorCode string
}

// New starts a server of version 1.50.0 with the keys "admin" and "search".
func New() *Server {
	s := &Server{Key: "admin", SearchKey: "search", version: "1.50.0", indexes: map[string]*index{}, calls: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", s.getVersion)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]string{"status": "available"}) })
	mux.HandleFunc("GET /indexes", s.listIndexes)
	mux.HandleFunc("POST /indexes", s.createIndex)
	mux.HandleFunc("DELETE /indexes/{uid}", s.deleteIndex)
	mux.HandleFunc("GET /indexes/{uid}/stats", s.stats)
	mux.HandleFunc("GET /indexes/{uid}/settings", s.getSettings)
	mux.HandleFunc("PATCH /indexes/{uid}/settings", s.patchSettings)
	mux.HandleFunc("POST /indexes/{uid}/documents/fetch", s.fetchDocuments)
	mux.HandleFunc("POST /indexes/{uid}/documents", s.addDocuments)
	mux.HandleFunc("POST /indexes/{uid}/documents/delete-batch", s.deleteDocuments)
	mux.HandleFunc("POST /swap-indexes", s.swap)
	mux.HandleFunc("GET /tasks/{uid}", s.getTask)
	mux.HandleFunc("POST /multi-search", s.multiSearch)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.calls[r.Method+" "+pattern.ReplaceAllString(r.URL.Path, "/*")]++
		fault := s.fault
		s.mu.Unlock()
		if fault != nil && s.happens(w, r, fault(r)) {
			return
		}
		if !s.allowed(w, r) {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	return s
}

var pattern = regexp.MustCompile(`/(docs-[A-Za-z0-9_-]+|\d+)`)

// happens carries out a fault.
func (s *Server) happens(w http.ResponseWriter, r *http.Request, f *Fault) bool {
	switch {
	case f == nil:
		return false
	case f.Cut:
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = c.Close()
		}
	case f.Hang:
		// Only a server that has read the body learns that the client left.
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	default:
		if f.Status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "10")
		}
		fail(w, f.Status, f.Code)
	}
	return true
}

// Break has every request from now on go through fault; nil ends that.
func (s *Server) Break(fault func(r *http.Request) *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Down is a fault for every request.
func Down(*http.Request) *Fault { return &Fault{Cut: true} }

// FailTasks has tasks fail with the code that f gives, "" for none.
func (s *Server) FailTasks(f func(kind, uid string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failTask = f
}

// SetVersion changes what /version says.
func (s *Server) SetVersion(v string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = v
}

// Calls returns how often a route was called, as "POST /swap-indexes" or
// "POST /indexes/*/documents".
func (s *Server) Calls(route string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[route]
}

// Indexes returns the number of documents by index.
func (s *Server) Indexes() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for uid, x := range s.indexes {
		out[uid] = len(x.documents)
	}
	return out
}

// Drop removes documents behind everybody's back, half of an index's.
func (s *Server) Drop(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.indexes[uid]
	for _, id := range x.order[:len(x.order)/2] {
		delete(x.documents, id)
	}
	x.order = x.order[len(x.order)/2:]
}

// Plant makes an index as a run that was killed leaves it.
func (s *Server) Plant(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexes[uid] = newIndex()
}

func (s *Server) allowed(w http.ResponseWriter, r *http.Request) bool {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case r.URL.Path == "/health":
	case !ok:
		fail(w, http.StatusUnauthorized, "missing_authorization_header")
		return false
	case key != s.Key && (key != s.SearchKey || r.URL.Path != "/multi-search"):
		fail(w, http.StatusForbidden, "invalid_api_key")
		return false
	}
	return true
}

// messages are the server's own, by code.
var messages = map[string]string{
	"missing_authorization_header": "The Authorization header is missing. It must use the bearer authorization method.",
	"invalid_api_key":              "The provided API key is invalid.",
	"index_not_found":              "Index `%s` not found.",
	"index_already_exists":         "Index `%s` already exists.",
	"too_many_search_requests":     "Too many search requests running at the same time: 1000. Retry after 10s.",
	"invalid_search_embedder":      "Cannot find embedder with name `%s`.",
	"invalid_search_filter":        "Was expecting an operation `=`, `!=`, `>=`, `>`, `<=`, `<`, `IN`, `NOT IN`, `TO`, `EXISTS`, `NOT EXISTS`, `IS NULL`, `IS NOT NULL`, `IS EMPTY`, `IS NOT EMPTY`, `CONTAINS`, `NOT CONTAINS`, `STARTS WITH`, `NOT STARTS WITH`, `_geoRadius`, or `_geoBoundingBox` at `%s`.",
	"no_space_left_on_device":      "There is no more space left on the device. Consider increasing the size of the disk/partition.",
	"vector_embedding_error":       "While embedding documents for embedder `%s`: no vectors provided for document.",
}

func kindOf(status int) string {
	switch {
	case status == 401 || status == 403:
		return "auth"
	case status >= 500:
		return "system"
	}
	return "invalid_request"
}

func problem(status int, code string, with ...any) map[string]any {
	message := messages[code]
	if strings.Contains(message, "%s") {
		if len(with) == 0 {
			with = []any{"?"}
		}
		message = fmt.Sprintf(message, with...)
	}
	return map[string]any{
		"message": message, "code": code, "type": kindOf(status),
		"link": "https://docs.meilisearch.com/errors#" + code,
	}
}

func fail(w http.ResponseWriter, status int, code string, with ...any) {
	reply(w, status, problem(status, code, with...))
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) getVersion(w http.ResponseWriter, _ *http.Request) {
	reply(w, 200, map[string]string{"commitSha": "unknown", "commitDate": "unknown", "pkgVersion": s.version})
}

// enqueue carries a task out at once, unless it is to fail.
func (s *Server) enqueue(w http.ResponseWriter, kind, uid string, f func() string) {
	t := &task{uid: len(s.tasks), index: uid, kind: kind}
	if s.failTask != nil {
		t.errorCode = s.failTask(kind, uid)
	}
	if t.errorCode == "" {
		t.errorCode = f()
	}
	s.tasks = append(s.tasks, t)
	var indexUID any = uid
	if uid == "" {
		indexUID = nil
	}
	reply(w, http.StatusAccepted, map[string]any{
		"taskUid": t.uid, "indexUid": indexUID, "status": "enqueued", "type": kind, "enqueuedAt": stamp,
	})
}

const stamp = "2026-11-20T15:00:00.123456789Z"

func (s *Server) getTask(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("uid"))
	if err != nil || n < 0 || n >= len(s.tasks) {
		fail(w, 404, "task_not_found")
		return
	}
	t := s.tasks[n]
	out := map[string]any{
		"uid": t.uid, "batchUid": t.uid, "indexUid": t.index, "status": "succeeded", "type": t.kind, "canceledBy": nil,
		"details": map[string]any{}, "error": nil, "duration": "PT0.012345678S", "enqueuedAt": stamp, "startedAt": stamp, "finishedAt": stamp,
	}
	if t.errorCode != "" {
		out["status"], out["error"] = "failed", problem(400, t.errorCode, t.index)
	}
	reply(w, 200, out)
}

func newIndex() *index {
	return &index{documents: map[string]map[string]json.RawMessage{}, settings: defaults(), created: time.Now()}
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
		results = append(results, map[string]any{"uid": uid, "createdAt": stamp, "updatedAt": stamp, "primaryKey": "id"})
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

func (s *Server) createIndex(w http.ResponseWriter, r *http.Request) {
	var body struct{ UID string }
	if !read(w, r, &body) {
		return
	}
	s.enqueue(w, "indexCreation", body.UID, func() string {
		if s.indexes[body.UID] != nil {
			return "index_already_exists"
		}
		s.indexes[body.UID] = newIndex()
		return ""
	})
}

func (s *Server) deleteIndex(w http.ResponseWriter, r *http.Request) {
	uid := r.PathValue("uid")
	s.enqueue(w, "indexDeletion", uid, func() string {
		if s.indexes[uid] == nil {
			return "index_not_found"
		}
		delete(s.indexes, uid)
		return ""
	})
}

func (s *Server) swap(w http.ResponseWriter, r *http.Request) {
	var body []struct {
		Indexes []string
		Rename  bool
	}
	if !read(w, r, &body) {
		return
	}
	s.enqueue(w, "indexSwap", "", func() string {
		for _, p := range body {
			if s.indexes[p.Indexes[0]] == nil || (s.indexes[p.Indexes[1]] == nil) != p.Rename {
				return "index_not_found"
			}
		}
		for _, p := range body {
			a, b := p.Indexes[0], p.Indexes[1]
			s.indexes[a], s.indexes[b] = s.indexes[b], s.indexes[a]
			if p.Rename {
				delete(s.indexes, a)
			}
		}
		return ""
	})
}

// find returns the index that a route names, or answers that there is none.
func (s *Server) find(w http.ResponseWriter, r *http.Request) *index {
	x := s.indexes[r.PathValue("uid")]
	if x == nil {
		fail(w, 404, "index_not_found", r.PathValue("uid"))
	}
	return x
}

func (s *Server) stats(w http.ResponseWriter, r *http.Request) {
	if x := s.find(w, r); x != nil {
		embedded := 0
		for _, d := range x.documents {
			if v := string(d["_vectors"]); strings.Contains(v, "embeddings") {
				embedded++
			}
		}
		reply(w, 200, map[string]any{
			"numberOfDocuments": len(x.documents), "rawDocumentDbSize": 4096, "avgDocumentSize": 512, "isIndexing": false,
			"numberOfEmbeddings": embedded, "numberOfEmbeddedDocuments": embedded, "fieldDistribution": map[string]int{"id": len(x.documents)},
		})
	}
}

func read(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		reply(w, 400, map[string]any{"message": "Json deserialize error: " + err.Error(), "code": "bad_request", "type": "invalid_request", "link": ""})
		return false
	}
	return true
}
