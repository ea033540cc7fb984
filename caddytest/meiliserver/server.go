// Package meiliserver is a fake Meilisearch server for tests: the routes,
// replies and errors that package retrieval/meilisearch uses, with indexes in
// memory and faults on demand. It ranks by a count of words and a cosine. The
// replies of a real server are recorded in testdata, and those of this package
// have the same form.
package meiliserver

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Server is a fake Meilisearch.
type Server struct {
	*httptest.Server
	// Key may do anything, ScopedKey anything with the indexes docs-*, ViewKey only
	// search in these, and SearchKey only in _docs-*.
	Key, ScopedKey, SearchKey, ViewKey string

	mu          sync.Mutex
	version     string
	denyPrivate bool
	indexes     map[string]*index
	tasks       []*task
	calls       map[string]int
	keys        map[string]rights

	fault    func(r *http.Request) *Fault
	failTask func(kind, uid string) string
}

// Fault is what happens to a request instead of a reply.
type Fault struct {
	// Cut closes the connection.
	Cut bool
	// Hang waits until the client gives up.
	Hang bool
	// Status and the server's error code are the reply.
	Status int
	Code   string
}

type index struct {
	documents map[string]map[string]json.RawMessage
	order     []string
	settings  map[string]any
	// primaryKey is the field with a document's id, "" if it is not set yet.
	primaryKey string
}

type task struct {
	uid     int
	index   string
	kind    string
	details map[string]any
	problem map[string]any
}

// New starts a server of version 1.50.0 with the keys "admin" and "search".
func New() *Server {
	s := &Server{Key: "admin", ScopedKey: "scoped", SearchKey: "search", ViewKey: "view", version: "1.50.0", indexes: map[string]*index{}, calls: map[string]int{}}
	s.keys = map[string]rights{
		s.Key: {actions: []string{"*"}}, s.SearchKey: {indexes: "_docs-", actions: []string{"search"}},
		s.ViewKey:   {indexes: "docs-", actions: []string{"search"}},
		s.ScopedKey: {indexes: "docs-", actions: []string{"documents.*", "indexes.*", "settings.*", "tasks.get", "stats.get", "search"}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", s.getVersion)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]string{"status": "available"}) })
	mux.HandleFunc("GET /indexes", s.listIndexes)
	mux.HandleFunc("POST /indexes", s.createIndex)
	mux.HandleFunc("DELETE /indexes/{uid}", s.deleteIndex)
	mux.HandleFunc("GET /indexes/{uid}/stats", s.stats)
	mux.HandleFunc("GET /indexes/{uid}/settings", s.getSettings)
	mux.HandleFunc("PATCH /indexes/{uid}/settings", s.patchSettings)
	mux.HandleFunc("DELETE /indexes/{uid}/settings/{setting}", s.resetSetting)
	mux.HandleFunc("POST /indexes/{uid}/documents/fetch", s.fetchDocuments)
	mux.HandleFunc("POST /indexes/{uid}/documents", s.addDocuments)
	mux.HandleFunc("POST /indexes/{uid}/documents/delete-batch", s.deleteDocuments)
	mux.HandleFunc("GET /indexes/{uid}/documents", s.getDocuments)
	mux.HandleFunc("DELETE /indexes/{uid}/documents/{id}", s.deleteDocument)
	mux.HandleFunc("POST /swap-indexes", s.swap)
	mux.HandleFunc("POST /indexes/{uid}/compact", s.compact)
	mux.HandleFunc("GET /tasks", s.listTasks)
	mux.HandleFunc("GET /tasks/{uid}", s.getTask)
	mux.HandleFunc("POST /multi-search", s.multiSearch)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.calls[r.Method+" "+route(r.URL.Path)]++
		fault := s.fault
		s.mu.Unlock()
		if fault != nil && s.happens(w, r, fault(r)) {
			return
		}
		if !s.allowed(w, r) || !s.knows(w, r) {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	return s
}

var pattern = regexp.MustCompile(`/(_?docs-[A-Za-z0-9_-]+|\d+)`)

// route returns a path without what differs from call to call.
func route(path string) string {
	return pattern.ReplaceAllStringFunc(path, func(part string) string {
		if strings.HasSuffix(part, "_state") {
			return "/*_state"
		}
		return "/*"
	})
}

// happens applies a fault and reports whether there is one.
func (s *Server) happens(w http.ResponseWriter, r *http.Request, f *Fault) bool {
	switch {
	case f == nil:
		return false
	case f.Cut:
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = c.Close()
		}
	case f.Hang:
		// net/http notices that the client left only after reading the body.
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	default:
		if f.Status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "10")
		}
		reply(w, f.Status, problem(f.Code))
	}
	return true
}

// Break sets the function that returns the fault of each request; nil sets
// none.
func (s *Server) Break(fault func(r *http.Request) *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Down is a fault for every request.
func Down(*http.Request) *Fault { return &Fault{Cut: true} }

// FailTasks makes tasks fail with the code that f returns, unless it is "".
func (s *Server) FailTasks(f func(kind, uid string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failTask = f
}

// SetVersion sets the server's version, and so which fields of requests it
// knows.
func (s *Server) SetVersion(v string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = v
}

// Calls returns the number of calls of a route, like "POST /swap-indexes" or
// "POST /indexes/*/documents". The index of the state is "*_state".
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

// Drop removes half of an index's documents.
func (s *Server) Drop(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.indexes[uid]
	for _, id := range x.order[:len(x.order)/2] {
		delete(x.documents, id)
	}
	x.order = x.order[len(x.order)/2:]
}

// Plant creates an empty index.
func (s *Server) Plant(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexes[uid] = newIndex()
}

// rights are the permissions of a key: actions for the indexes whose names
// begin with indexes.
type rights struct {
	indexes string
	actions []string
}

// may reports whether the key is for an index.
func (k rights) may(uid string) bool { return strings.HasPrefix(uid, k.indexes) }

func (k rights) permits(action string) bool {
	group, _, _ := strings.Cut(action, ".")
	return slices.Contains(k.actions, "*") || slices.Contains(k.actions, action) || slices.Contains(k.actions, group+".*")
}

// Grant adds a key for all indexes, or changes it.
func (s *Server) Grant(key string, actions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[key] = rights{actions: actions}
}

func keyOf(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (s *Server) rightsOf(r *http.Request) rights { return s.keys[keyOf(r)] }

// actions are those that requests need, by method and path.
var actions = []struct{ method, path, action string }{
	{"GET", `/version`, "version"},
	{"GET", `/indexes`, "indexes.get"},
	{"POST", `/indexes`, "indexes.create"},
	{"DELETE", `/indexes/[^/]+`, "indexes.delete"},
	{"GET", `/indexes/[^/]+/documents`, "documents.get"},
	{"POST", `/indexes/[^/]+/documents/fetch`, "documents.get"},
	{"POST", `/indexes/[^/]+/documents`, "documents.add"},
	{"POST", `/indexes/[^/]+/documents/delete-batch`, "documents.delete"},
	{"DELETE", `/indexes/[^/]+/documents/[^/]+`, "documents.delete"},
	{"GET", `/indexes/[^/]+/settings`, "settings.get"},
	{"PATCH", `/indexes/[^/]+/settings`, "settings.update"},
	{"DELETE", `/indexes/[^/]+/settings/[^/]+`, "settings.update"},
	{"GET", `/indexes/[^/]+/stats`, "stats.get"},
	{"GET", `/tasks(/\d+)?`, "tasks.get"},
	{"POST", `/swap-indexes`, "indexes.swap"},
	{"POST", `/indexes/[^/]+/compact`, "indexes.compact"},
	{"POST", `/multi-search`, "search"},
}

func actionOf(r *http.Request) string {
	for _, a := range actions {
		if a.method == r.Method && regexp.MustCompile("^"+a.path+"$").MatchString(r.URL.Path) {
			return a.action
		}
	}
	return "unknown"
}

func (s *Server) allowed(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	k, known := s.keys[keyOf(r)]
	s.mu.Unlock()
	action := actionOf(r)
	switch {
	case r.URL.Path == "/health":
	case r.Header.Get("Authorization") == "":
		fail(w, "missing_authorization_header")
		return false
	case !known, !k.permits(action), action == "version" && k.indexes != "":
		fail(w, "invalid_api_key")
		return false
	}
	if uid := strings.Split(r.URL.Path, "/"); len(uid) > 2 && uid[1] == "indexes" && !indexUID.MatchString(uid[2]) {
		fail(w, "invalid_index_uid", uid[2])
		return false
	}
	return true
}

func (s *Server) getVersion(w http.ResponseWriter, _ *http.Request) {
	reply(w, 200, map[string]string{"commitSha": "unknown", "commitDate": "unknown", "pkgVersion": s.version})
}
