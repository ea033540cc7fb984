package meilisearch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"
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
	// A server that is down is probed after probeInterval, and after
	// refusedInterval if it refuses the key. The pauses don't grow: a probe
	// costs little, and searches fail until it succeeds.
	probeInterval   = 400 * time.Millisecond
	refusedInterval = 2 * time.Second
)

// server is one Meilisearch server.
type server struct {
	url            string
	key, searchKey string // equal without a key for searches
	admin, reader  sdk.ServiceManager
	client         *http.Client
	probeTimeout   time.Duration

	mu      sync.Mutex
	version string
	err     error // why it is down, nil if it isn't
	// answered is when the last successful probe began. What a call that began
	// earlier says is outdated: the server may have been restarted since.
	answered, probed time.Time
	// lacking is what the keys may not do, nil if they may do everything, or if
	// rightsChecked is zero.
	lacking       *keyError
	rightsChecked time.Time
}

func newServer(url, adminKey, searchKey string, probeTimeout time.Duration) *server {
	client := &http.Client{
		Transport: transport{&http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 3 * time.Second,
			MaxIdleConns:        64, MaxIdleConnsPerHost: 64, MaxConnsPerHost: 128,
			IdleConnTimeout: 30 * time.Second,
			// The server sends compressed answers in small packets, which
			// delays them.
			DisableCompression: true,
		}},
		Timeout: requestTimeout,
		// A key must not follow a redirect to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	open := func(key string) sdk.ServiceManager {
		// The SDK's content encoding mixes up concurrent requests, and its
		// retries send an empty body.
		return sdk.New(url, sdk.WithAPIKey(key), sdk.WithCustomClient(client), sdk.DisableRetries())
	}
	s := &server{
		url: url, key: adminKey, searchKey: adminKey, admin: open(adminKey), client: client, probeTimeout: probeTimeout,
	}
	s.reader = s.admin
	if searchKey != "" && searchKey != adminKey {
		s.reader, s.searchKey = open(searchKey), searchKey
	}
	return s
}

// transport limits the length of responses, and sends bodies with their
// length: the SDK leaves it out, and chunks sent one by one are slow.
type transport struct{ *http.Transport }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody && r.ContentLength <= 0 {
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.Body, _ = r.GetBody()
		r.ContentLength = int64(len(body))
		if readOnly(r.URL.Path) {
			// It is sent again if the server has closed the idle connection. A
			// header without a value is not sent.
			r.Header["Idempotency-Key"] = []string{}
		}
	}
	response, err := t.Transport.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxResponse)
	}
	return response, err
}

// readOnly reports whether a POST to a path changes nothing.
func readOnly(path string) bool {
	return strings.HasSuffix(path, "/multi-search") || strings.HasSuffix(path, "/documents/fetch")
}

// get reads an answer that the SDK's types can't hold.
func (s *server) get(ctx context.Context, path string, to any) error {
	return s.call(ctx, s.key, http.MethodGet, path, "", to)
}

// call makes a request with a key. body is JSON, "" for none.
func (s *server) call(ctx context.Context, key, method, path, body string, to any) error {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return s.send(r, key, to)
}

// send sends a request, and decodes the answer into to unless that is nil, or
// for the answer as it is.
func (s *server) send(r *http.Request, key string, to any) error {
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := s.client.Do(r)
	if err != nil {
		return &ServerError{URL: s.url, cause: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return &ServerError{URL: s.url, cause: err}
	}
	if response.StatusCode/100 != 2 {
		e := &ServerError{URL: s.url, Status: response.StatusCode}
		_ = json.Unmarshal(body, e)
		return e
	}
	if raw, ok := to.(*[]byte); ok {
		*raw = body
		to = nil
	}
	if to == nil {
		return nil
	}
	if err := json.Unmarshal(body, to); err != nil {
		return &ServerError{URL: s.url, Status: response.StatusCode, cause: err}
	}
	return nil
}

// repeat makes a call again while the server is unavailable. The call must be
// idempotent.
func repeat[T any](ctx context.Context, s *server, call func() (T, error)) (T, error) {
	for pause, try := firstPause, 1; ; pause, try = 2*pause, try+1 {
		v, err := call()
		err = s.explain(err)
		if err == nil || try == maxTries || !unavailable(err) || !sleep(ctx, pause) {
			return v, err
		}
	}
}

// sleep reports whether d has passed before ctx was done.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// stats returns the numbers of an index.
func (s *server) stats(ctx context.Context, uid string) (*sdk.StatsIndex, error) {
	return repeat(ctx, s, func() (*sdk.StatsIndex, error) {
		return s.admin.Index(uid).GetStatsWithContext(ctx, &sdk.StatsParams{})
	})
}

// document reads a document of an index into to, which stays as it is if there
// is none.
func (s *server) document(ctx context.Context, uid, id string, to any) error {
	page, err := repeat(ctx, s, func() (sdk.DocumentsResult, error) {
		var page sdk.DocumentsResult
		return page, s.admin.Index(uid).GetDocumentsWithContext(ctx, &sdk.DocumentsQuery{Limit: 1, Ids: []string{id}}, &page)
	})
	if err != nil || len(page.Results) == 0 {
		return err
	}
	data, err := json.Marshal(page.Results[0])
	_ = json.Unmarshal(data, to) // what has another form is left out
	return err
}

// add adds documents to an index.
func (s *server) add(ctx context.Context, uid string, documents any) error {
	return s.task(ctx, func() (*sdk.TaskInfo, error) {
		return s.admin.Index(uid).AddDocumentsWithContext(ctx, documents, primaryKey)
	})
}

// primaryKey is that of all indexes.
var primaryKey = &sdk.DocumentOptions{PrimaryKey: new("id")}

// task starts a task and waits until it has succeeded. start must be
// idempotent.
func (s *server) task(ctx context.Context, start func() (*sdk.TaskInfo, error)) error {
	info, err := repeat(ctx, s, start)
	if err != nil {
		return err
	}
	return s.await(ctx, info)
}

// await waits until a task has succeeded.
func (s *server) await(ctx context.Context, info *sdk.TaskInfo) error {
	for pause := pollFirst; ; pause = min(pause*3/2, pollLast) {
		task, err := repeat(ctx, s, func() (*sdk.Task, error) { return s.admin.GetTaskWithContext(ctx, info.TaskUID) })
		if err != nil {
			return fmt.Errorf("waiting for task %d: %w", info.TaskUID, err)
		}
		switch task.Status {
		case sdk.TaskStatusSucceeded:
			progressed(ctx)
			return nil
		case sdk.TaskStatusEnqueued, sdk.TaskStatusProcessing:
		default:
			return &TaskError{info.TaskUID, string(task.Type), string(task.Status), task.Error.Code, task.Error.Message}
		}
		if !sleep(ctx, pause) {
			return fmt.Errorf("waiting for task %d: %w", info.TaskUID, ctx.Err())
		}
	}
}

// probe asks for the server's version, and so whether it is up.
func (s *server) probe(ctx context.Context) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.probeTimeout)
	defer cancel()
	v, err := s.admin.VersionWithContext(ctx)
	if err = s.explain(err); err == nil && older(v.PkgVersion, minimumVersion) {
		err = fmt.Errorf("the Meilisearch at %s %w: it is version %s and must be %s or later", s.url, errTooOld, v.PkgVersion, minimumVersion)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v != nil && v.PkgVersion != "" {
		s.version = v.PkgVersion
	}
	s.probed, s.err = time.Now(), err
	if err == nil {
		s.answered = began
	}
	return err
}

// probeIsDue reports whether a server that is down should be probed now.
func (s *server) probeIsDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	pause := probeInterval
	if refused(s.err) {
		pause = refusedInterval
	}
	return time.Since(s.probed) >= pause
}

// older compares the first two numbers of versions. A version that can't be
// read is old.
func older(version, than string) bool {
	a, b := numbers(version), numbers(than)
	return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
}

func numbers(version string) (n [2]int) {
	for i, field := range strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3) {
		if i < len(n) {
			n[i], _ = strconv.Atoi(field)
		}
	}
	return n
}

// failed keeps why a call failed that began at a time.
func (s *server) failed(began time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if began.Before(s.answered) {
		return
	}
	if s.err == nil {
		s.probed = time.Now()
	}
	s.err = err
	if unauthorized(err) {
		s.rightsChecked = time.Time{}
	}
}

// down reports whether the server is down.
func (s *server) down() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}
