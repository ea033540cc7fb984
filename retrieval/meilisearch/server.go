package meilisearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/version"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Versions of the server. Below minimumVersion it can't rename an index in a
// swap. Below recommendedVersion it sends texts to any address in its
// settings.
const (
	minimumVersion     = "1.18"
	recommendedVersion = "1.35"
)

// Limits of requests to a server.
const (
	requestTimeout = 60 * time.Second
	maxResponse    = 64 << 20 // bytes
	// Idempotent calls are made up to maxTries times, after pauses that begin
	// with firstPause and double.
	maxTries   = 3
	firstPause = 200 * time.Millisecond
	// A task is polled after pauses from pollFirst to pollLast.
	pollFirst = 20 * time.Millisecond
	pollLast  = 500 * time.Millisecond
	// A server that is down is probed after probeInterval. The pauses don't
	// grow: a probe costs little, and searches fail until it succeeds.
	probeInterval = 400 * time.Millisecond
)

// server is one Meilisearch server.
type server struct {
	url            string
	key, searchKey string // equal without a key for searches
	client         *http.Client
	probeTimeout   time.Duration

	mu sync.Mutex
	known
}

// newClient returns a client for one server.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 3 * time.Second,
			MaxIdleConns:        64, MaxIdleConnsPerHost: 64, MaxConnsPerHost: 128,
			IdleConnTimeout: 30 * time.Second,
			// The server sends compressed answers in small packets, which
			// delays them.
			DisableCompression: true,
		},
		Timeout: requestTimeout,
		// A key must not follow a redirect to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// call makes a request with a key, and decodes the answer into to unless that
// is nil. body is JSON, nil for none.
func (s *server) call(ctx context.Context, key, method, path string, body []byte, to any) error {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if strings.HasSuffix(path, "/multi-search") || strings.HasSuffix(path, "/fetch") {
		// These change nothing, and are sent again if the server has closed the
		// idle connection. A header without a value is not sent.
		r.Header["Idempotency-Key"] = []string{}
	}
	response, err := s.client.Do(r)
	if err != nil {
		return &ServerError{URL: s.url, cause: err}
	}
	defer response.Body.Close()
	data, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, maxResponse))
	if err != nil {
		return &ServerError{URL: s.url, cause: err}
	}
	if response.StatusCode/100 != 2 {
		e := &ServerError{URL: s.url, Status: response.StatusCode}
		_ = json.Unmarshal(data, e)
		return e
	}
	if to == nil {
		return nil
	}
	if err := jsonv2.Unmarshal(data, to, lenient); err != nil {
		return &ServerError{URL: s.url, Status: response.StatusCode, cause: err}
	}
	return nil
}

// lenient reads names twice, broken characters, which pages may have, and
// names in any letter case.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsonv2.MatchCaseInsensitiveNames(true))

// admin makes a call with the key for indexing, again while the server is
// unavailable: it must be idempotent. body is encoded unless it is nil.
func (s *server) admin(ctx context.Context, method, path string, body, to any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for pause, try := firstPause, 1; ; pause, try = 2*pause, try+1 {
		err := s.call(ctx, s.key, method, path, data, to)
		if err == nil || try == maxTries || !unavailable(err) || !retrieval.Sleep(ctx, pause) {
			return err
		}
	}
}

// indexStats are the numbers of an index.
type indexStats struct{ NumberOfDocuments, NumberOfEmbeddedDocuments int }

func (s *server) stats(ctx context.Context, uid string) (stats indexStats, err error) {
	if err = s.admin(ctx, http.MethodGet, "/indexes/"+uid+"/stats", nil, &stats); err != nil {
		err = fmt.Errorf("counting the sections of %s: %w", uid, err)
	}
	return stats, err
}

// documentQuery asks for documents of an index: those with the IDs, or all.
type documentQuery struct {
	Limit           int      `json:"limit"`
	Offset          int      `json:"offset"`
	IDs             []string `json:"ids,omitempty"`
	Filter          string   `json:"filter,omitempty"`
	Fields          []string `json:"fields,omitempty"`
	RetrieveVectors bool     `json:"retrieveVectors,omitempty"`
}

// documents calls each with the documents of an index that a query asks for.
func documents[T any](ctx context.Context, s *server, uid string, query documentQuery, each func(*T)) error {
	for {
		var page struct {
			Results []T
			Total   int
		}
		if err := s.admin(ctx, http.MethodPost, "/indexes/"+uid+"/documents/fetch", &query, &page); err != nil {
			return fmt.Errorf("reading the documents of %s: %w", uid, err)
		}
		for i := range page.Results {
			each(&page.Results[i])
		}
		progressed(ctx)
		query.Offset += len(page.Results)
		if len(page.Results) == 0 || query.Offset >= page.Total {
			return nil
		}
	}
}

// start starts a task, and returns its number. The call must be idempotent.
func (s *server) start(ctx context.Context, method, path string, body any) (number int64, err error) {
	var started struct{ TaskUID int64 }
	err = s.admin(ctx, method, path, body, &started)
	return started.TaskUID, err
}

// task starts a task and waits until it has succeeded.
func (s *server) task(ctx context.Context, method, path string, body any) error {
	number, err := s.start(ctx, method, path, body)
	if err != nil {
		return err
	}
	return s.await(ctx, number)
}

// documentsPath is where documents are added. The primary key is that of all
// indexes.
func documentsPath(uid string) string { return "/indexes/" + uid + "/documents?primaryKey=id" }

// await waits until a task has succeeded.
func (s *server) await(ctx context.Context, number int64) error {
	for pause := pollFirst; ; pause = min(pause*3/2, pollLast) {
		var t serverTask
		if err := s.admin(ctx, http.MethodGet, fmt.Sprintf("/tasks/%d", number), nil, &t); err != nil {
			return fmt.Errorf("waiting for task %d: %w", number, err)
		}
		switch t.Status {
		case "succeeded":
			progressed(ctx)
			return nil
		case "enqueued", "processing":
		default:
			return &TaskError{t}
		}
		if !retrieval.Sleep(ctx, pause) {
			return fmt.Errorf("waiting for task %d: %w", number, ctx.Err())
		}
	}
}

// serverTask is a task of a server.
type serverTask struct {
	UID                    int64
	IndexUID, Type, Status string
	FinishedAt             time.Time
	Problem                struct{ Code, Message string } `json:"error"`
}

// probe asks for the server's version, and so whether it is up. A server that
// refuses the key is up: what it has can be searched.
func (s *server) probe(ctx context.Context) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.probeTimeout)
	defer cancel()
	var v struct{ PkgVersion string }
	err := s.call(ctx, s.key, http.MethodGet, "/version", nil, &v)
	if unauthorized(err) {
		err = nil
	} else if err == nil && older(v.PkgVersion, minimumVersion) {
		err = fmt.Errorf("the Meilisearch at %s %w: it is version %s and must be %s or later", s.url, errTooOld, v.PkgVersion, minimumVersion)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = cmp.Or(v.PkgVersion, s.version)
	s.probed, s.down = time.Now(), err
	if err == nil {
		s.answered = began
	}
	return err
}

// older compares versions, which have the form of Go's up to a "-". One that can't
// be read is old.
func older(v, than string) bool {
	numbers, _, _ := strings.Cut(strings.TrimPrefix(v, "v"), "-")
	return version.Compare("go"+numbers, "go"+than) < 0
}

// failed keeps why a call failed that began at a time. It reports whether the
// server was up until then.
func (s *server) failed(began time.Time, err error) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if began.Before(s.answered) {
		return false
	}
	if unauthorized(err) {
		s.accessChecked = time.Time{}
		return false
	}
	if first = s.down == nil; first {
		s.probed = time.Now()
	}
	s.down = err
	return first
}
