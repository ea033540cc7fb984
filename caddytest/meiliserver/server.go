// Package meiliserver is a stand-in for a Meilisearch server: the routes,
// replies and errors that the index in retrieval/meilisearch meets, over
// indexes in memory, with faults on demand. Its ranking is a plain count of
// words and a cosine; what it answers has the form of a real server's
// replies, which are recorded in testdata and compared with its own.
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
)

// Server is a fake Meilisearch.
type Server struct {
	*httptest.Server
	// Key may do anything; ScopedKey anything with the indexes docs-*, as
	// the manual's key for indexing; SearchKey search in them alone.
	Key, ScopedKey, SearchKey string

	mu      sync.Mutex
	version string
	// denyPrivate: see DenyPrivate.
	denyPrivate bool
	indexes     map[string]*index
	tasks       []*task
	calls       map[string]int

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
	// primaryKey is the field that tells documents apart, "" before the first
	// one came.
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
	s := &Server{Key: "admin", ScopedKey: "scoped", SearchKey: "search", version: "1.50.0", indexes: map[string]*index{}, calls: map[string]int{}}
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
		if !s.allowed(w, r) || !s.knows(w, r) {
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
		reply(w, f.Status, problem(f.Code))
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

// SetVersion changes what /version says, and which fields of requests are
// known.
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

// rights are what a request's key may do.
type rights struct{ all, scoped, search bool }

// may reports whether the key is for an index; those of the manual's
// examples are for docs-*.
func (k rights) may(uid string) bool { return k.all || strings.HasPrefix(uid, "docs-") }

func (s *Server) rightsOf(r *http.Request) rights {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	return rights{all: key == s.Key, scoped: key == s.ScopedKey, search: key == s.SearchKey}
}

func (s *Server) allowed(w http.ResponseWriter, r *http.Request) bool {
	k := s.rightsOf(r)
	switch {
	case r.URL.Path == "/health":
	case r.Header.Get("Authorization") == "":
		fail(w, "missing_authorization_header")
		return false
	case k.all, k.search && r.URL.Path == "/multi-search", k.scoped && r.URL.Path != "/version":
	default:
		fail(w, "invalid_api_key")
		return false
	}
	return true
}

// refusal is what the server says with a code. Of an error in a task the
// status is not told.
type refusal struct {
	status  int
	message string
}

var refusals = map[string]refusal{
	"bad_request":                        {400, "%s"},
	"index_already_exists":               {409, "Index `%s` already exists."},
	"index_not_found":                    {404, "Index `%s` not found."},
	"index_primary_key_already_exists":   {400, "Index already has a primary key: `%s`."},
	"invalid_api_key":                    {403, "The provided API key is invalid."},
	"invalid_content_type":               {415, "The Content-Type `%s` is invalid. Accepted values for the Content-Type header are: `application/json`"},
	"invalid_document_id":                {400, "Document identifier `%q` is invalid. A document identifier can be of type integer or string, only composed of alphanumeric characters (a-z A-Z 0-9), hyphens (-) and underscores (_), and can not be more than 511 bytes."},
	"invalid_index_uid":                  {400, "Invalid value at `.uid`: `%s` is not a valid index uid."},
	"invalid_search_embedder":            {400, "Cannot find embedder with name `%s`."},
	"invalid_search_filter":              {400, "Was expecting an operation `=`, `!=`, `>=`, `>`, `<=`, `<`, `IN`, `NOT IN`, … at `%s`."},
	"invalid_search_locales":             {400, "Unknown value `%s` at `.locales`"},
	"invalid_search_semantic_ratio":      {400, "the value of `semanticRatio` is invalid, expected a float between `0.0` and `1.0`."},
	"invalid_settings_ranking_rules":     {400, "`%s` ranking rule is invalid."},
	"invalid_swap_duplicate_index_found": {400, "Indexes must be declared only once during a swap. `%s` was specified several times."},
	"invalid_vector_dimensions":          {400, "Invalid vector dimensions: expected: `%v`, found: `%d`."},
	"malformed_payload":                  {400, "The json payload provided is malformed. `%s`."},
	"missing_authorization_header":       {401, "The Authorization header is missing. It must use the bearer authorization method."},
	"missing_content_type":               {415, "A Content-Type header is missing. Accepted values for the Content-Type header are: `application/json`"},
	"missing_document_id":                {400, "Document doesn't have a `%s` attribute."},
	"missing_search_hybrid":              {400, "Invalid request: missing `hybrid` parameter when `vector` or `media` are present."},
	"no_space_left_on_device":            {422, "There is no more space left on the device. Consider increasing the size of the disk/partition."},
	"payload_too_large":                  {413, "The provided payload reached the size limit. The maximum accepted payload size is 100 MB."},
	"task_not_found":                     {404, "Task `%s` not found."},
	"too_many_search_requests":           {503, "Too many search requests running at the same time: 1000. Retry after 10s."},
	vectorEmbeddingError:                 {400, "While embedding documents for embedder `%s`: no vectors provided for document."},
}

// problem is an error as the server writes it.
func problem(code string, with ...any) map[string]any {
	r := refusals[code]
	kind := "invalid_request"
	switch {
	case r.status == 401 || r.status == 403:
		kind = "auth"
	case r.status >= 500 || code == "no_space_left_on_device":
		kind = "system"
	}
	message := r.message
	if n := strings.Count(message, "%"); n > 0 {
		for len(with) < n {
			with = append(with, "?")
		}
		message = fmt.Sprintf(message, with[:n]...)
	}
	return map[string]any{"message": message, "code": code, "type": kind, "link": "https://docs.meilisearch.com/errors#" + code}
}

func fail(w http.ResponseWriter, code string, with ...any) {
	reply(w, refusals[code].status, problem(code, with...))
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) getVersion(w http.ResponseWriter, _ *http.Request) {
	reply(w, 200, map[string]string{"commitSha": "unknown", "commitDate": "unknown", "pkgVersion": s.version})
}

// enqueue carries a task out at once, unless it is to fail. What f returns
// is why it failed.
func (s *Server) enqueue(w http.ResponseWriter, kind, uid string, details map[string]any, f func() (problem map[string]any)) {
	t := &task{uid: len(s.tasks), index: uid, kind: kind, details: details}
	if s.failTask != nil {
		if code := s.failTask(kind, uid); code != "" {
			t.problem = problem(code, uid)
		}
	}
	if t.problem == nil {
		t.problem = f()
	}
	s.tasks = append(s.tasks, t)
	reply(w, http.StatusAccepted, map[string]any{
		"taskUid": t.uid, "indexUid": orNull(uid), "status": "enqueued", "type": kind, "enqueuedAt": stamp,
	})
}

func orNull(uid string) any {
	if uid == "" {
		return nil
	}
	return uid
}

const stamp = "2026-11-20T15:00:00.123456789Z"

func (s *Server) getTask(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("uid"))
	if err != nil || n < 0 || n >= len(s.tasks) || !s.rightsOf(r).may(s.tasks[n].index) {
		// So a key for some indexes does not see a swap's task.
		fail(w, "task_not_found", r.PathValue("uid"))
		return
	}
	t := s.tasks[n]
	out := map[string]any{
		"uid": t.uid, "batchUid": t.uid, "indexUid": orNull(t.index), "status": "succeeded", "type": t.kind, "canceledBy": nil,
		"details": t.details, "error": nil, "duration": "PT0.012345678S", "enqueuedAt": stamp, "startedAt": stamp, "finishedAt": stamp,
	}
	if t.problem != nil {
		out["status"], out["error"] = "failed", t.problem
	}
	reply(w, 200, out)
}

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
		if len(p.Indexes) != 2 || p.Indexes[0] == p.Indexes[1] {
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
		}
		return nil
	})
}

// find returns the index that a route names, or answers that there is none.
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

// payloadLimit is the longest body that the server takes, in bytes.
const payloadLimit = 100 << 20

func read(w http.ResponseWriter, r *http.Request, v any) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch {
	case kind == "":
		fail(w, "missing_content_type")
		return false
	case kind != "application/json":
		fail(w, "invalid_content_type", kind)
		return false
	case r.ContentLength > payloadLimit:
		fail(w, "payload_too_large")
		return false
	}
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		fail(w, "malformed_payload", err)
		return false
	}
	return true
}
