package meilisearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// Versions of the server: below minimum it can't rename an index while it
// swaps, below recommended it sends texts to any address that its settings
// name.
const (
	minimumVersion     = "1.18"
	recommendedVersion = "1.35"
)

// Bounds of talking to a server.
const (
	// requestTimeout is for calls that index, answerLimit for what any call
	// may answer, in bytes.
	requestTimeout = 60 * time.Second
	answerLimit    = 64 << 20
	// probeTimeout is for looking whether a server is there.
	probeTimeout = time.Second
	// Calls that may be repeated are, so often and after such pauses.
	attempts   = 3
	firstPause = 200 * time.Millisecond
	// A task is looked at with pauses from pollFirst to pollLast.
	pollFirst = 20 * time.Millisecond
	pollLast  = 500 * time.Millisecond
	// downFirst to downLast a server that failed is not asked again.
	downFirst = time.Second
	downLast  = 15 * time.Second
)

// instance is one server.
type instance struct {
	url, key      string
	admin, reader sdk.ServiceManager
	client        *http.Client
	transport     *http.Transport

	mu      sync.Mutex
	version string
	// refused is why this server is not used at all: its version.
	refused error
	// last is why it is not asked before until.
	last  error
	until time.Time
	pause time.Duration
	// behind: it doesn't hold the content that it should.
	behind bool
	// retryAfter and retryPause time the next attempt to mend that.
	retryAfter time.Time
	retryPause time.Duration
	// embedders are the vectors' dimensions by index, 0 for a server's own
	// embedder, where one of the name wanted is set.
	embedders map[string]int
	// lacks: sections have no vectors there, and after a start ours are not
	// at hand.
	lacks bool
	// own is how the server's own embedder does.
	own ownEmbedder
}

// limited bounds answers: a broken server must not fill our memory. It also
// sends bodies whole and with their length: the client leaves it out, and
// the many small packets of the other form wait for each other.
type limited struct{ base http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody && r.ContentLength <= 0 {
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	response, err := l.base.RoundTrip(r)
	if err == nil {
		response.Body = &limitedBody{ReadCloser: response.Body, left: answerLimit}
	}
	return response, err
}

type limitedBody struct {
	io.ReadCloser
	left int
}

var errAnswerTooLong = fmt.Errorf("the answer is longer than %d bytes", answerLimit)

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errAnswerTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func newInstance(url, adminKey, searchKey string) *instance {
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 3 * time.Second,
		MaxIdleConns:        64, MaxIdleConnsPerHost: 64, MaxConnsPerHost: 128,
		IdleConnTimeout: 30 * time.Second,
		// Compressed answers come in small pieces that wait for each other:
		// 44 ms on one machine instead of 5.
		DisableCompression: true,
	}
	client := &http.Client{
		Transport: limited{transport}, Timeout: requestTimeout,
		// A key must not follow a redirection to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	open := func(key string) sdk.ServiceManager {
		// Of the client's own options, encoding mixes up requests of several
		// goroutines and retries send an empty body: neither is used.
		return sdk.New(url, sdk.WithAPIKey(key), sdk.WithCustomClient(client), sdk.DisableRetries())
	}
	in := &instance{url: url, key: adminKey, admin: open(adminKey), client: client, transport: transport, pause: downFirst, behind: true, retryPause: downFirst, embedders: map[string]int{}}
	in.reader = in.admin
	if searchKey != "" && searchKey != adminKey {
		in.reader = open(searchKey)
	}
	return in
}

// ServerError is what a server said of a call. Message is the server's and
// must not reach a client: it may tell of settings.
type ServerError struct {
	URL     string
	Status  int // 0: no answer
	Code    string
	Message string
	cause   error
}

func (e *ServerError) Error() string {
	switch {
	case e.Status == 0:
		return fmt.Sprintf("%s does not answer: %v", e.URL, e.cause)
	case e.Code != "":
		return fmt.Sprintf("%s answered %d %s: %s", e.URL, e.Status, e.Code, e.Message)
	}
	return fmt.Sprintf("%s answered %d: %v", e.URL, e.Status, e.cause)
}

func (e *ServerError) Unwrap() error { return e.cause }

// explain makes a ServerError of the client's errors, which unwrap to
// nothing.
func (in *instance) explain(err error) error {
	var e *sdk.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	out := &ServerError{
		URL: in.url, Status: e.StatusCode, Code: e.MeilisearchApiError.Code,
		Message: e.MeilisearchApiError.Message, cause: e.OriginError,
	}
	if e.OriginError != nil && e.ErrCode != sdk.MeilisearchApiError && e.ErrCode != sdk.MeilisearchApiErrorWithoutMessage {
		if e.ErrCode == sdk.MeilisearchTimeoutError || e.ErrCode == sdk.MeilisearchCommunicationError {
			out.Status = 0
		}
	}
	if out.cause == nil {
		out.cause = errNoReason
	}
	return out
}

// get reads an answer whose form the client does not know in full.
func (in *instance) get(ctx context.Context, path string, to any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, in.url+path, http.NoBody)
	if err != nil {
		return err
	}
	if in.key != "" {
		r.Header.Set("Authorization", "Bearer "+in.key)
	}
	response, err := in.client.Do(r)
	if err != nil {
		return &ServerError{URL: in.url, cause: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return &ServerError{URL: in.url, cause: err}
	}
	if response.StatusCode != http.StatusOK {
		var said struct{ Message, Code string }
		_ = json.Unmarshal(body, &said)
		return &ServerError{URL: in.url, Status: response.StatusCode, Code: said.Code, Message: said.Message, cause: errNoReason}
	}
	if err := json.Unmarshal(body, to); err != nil {
		return &ServerError{URL: in.url, Status: response.StatusCode, cause: err}
	}
	return nil
}

var errNoReason = errors.New("it gave no reason")

// unavailable reports whether an error says that the server can't answer
// now, which another one, or a later call, may.
func unavailable(err error) bool {
	var e *ServerError
	if !errors.As(err, &e) {
		return errors.Is(err, context.DeadlineExceeded)
	}
	switch e.Status {
	case 0, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// refused reports whether an error says that the server won't do what it is
// asked, and won't later: a wrong key, or a request that it doesn't take. An
// index that it lacks, 404 or in a search 400, is another matter, which is
// made anew.
func refused(err error) bool {
	e, ok := errors.AsType[*ServerError](err)
	return ok && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden ||
		e.Status == http.StatusBadRequest && e.Code != "" && e.Code != "index_not_found")
}

// codeOf is the server's code of an error, "" if it is none of the server's.
func codeOf(err error) string {
	if e, ok := errors.AsType[*ServerError](err); ok {
		return e.Code
	}
	return ""
}

// repeat calls f again where the server was unavailable. f must be
// idempotent, and make its request anew each time.
func (in *instance) repeat(ctx context.Context, f func() error) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := in.explain(f())
		if err == nil || try == attempts || !unavailable(err) || ctx.Err() != nil {
			return err
		}
		if !sleep(ctx, pause) {
			return err
		}
		pause *= 2
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// TaskError is a task that the server did not carry out.
type TaskError struct {
	Task                        int64
	Type, Status, Code, Message string
}

func (e *TaskError) Error() string {
	return fmt.Sprintf("task %d (%s) %s: %s %s", e.Task, e.Type, e.Status, e.Code, e.Message)
}

// await waits until a task has succeeded.
func (in *instance) await(ctx context.Context, info *sdk.TaskInfo) error {
	pause := pollFirst
	for {
		var task *sdk.Task
		err := in.repeat(ctx, func() (err error) {
			task, err = in.admin.GetTaskWithContext(ctx, info.TaskUID)
			return err
		})
		if err != nil {
			return fmt.Errorf("awaiting task %d: %w", info.TaskUID, err)
		}
		switch task.Status {
		case sdk.TaskStatusSucceeded:
			return nil
		case sdk.TaskStatusEnqueued, sdk.TaskStatusProcessing:
		default:
			return &TaskError{info.TaskUID, string(task.Type), string(task.Status), task.Error.Code, task.Error.Message}
		}
		if !sleep(ctx, pause) {
			return fmt.Errorf("awaiting task %d: %w", info.TaskUID, ctx.Err())
		}
		pause = min(pause*3/2, pollLast)
	}
}

// probe asks for the server's version and takes it as a sign of life.
func (in *instance) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	v, err := in.admin.VersionWithContext(ctx)
	if err = in.explain(err); err == nil {
		err = checkVersion(in.url, v.PkgVersion)
		in.mu.Lock()
		in.version, in.refused = v.PkgVersion, err
		in.mu.Unlock()
	}
	in.note(err)
	return err
}

// VersionError refuses a server that is too old.
type VersionError struct{ URL, Found string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the Meilisearch at %s is version %s; it must be %s or later", e.URL, e.Found, minimumVersion)
}

func checkVersion(url, found string) error {
	if older(found, minimumVersion) {
		return &VersionError{url, found}
	}
	return nil
}

// older compares the first two numbers of versions. What can't be read is
// taken as old.
func older(version, than string) bool {
	a, b := numbers(version), numbers(than)
	return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
}

func numbers(version string) (n [2]int) {
	for i, part := range strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3) {
		if i < 2 {
			n[i], _ = strconv.Atoi(part)
		}
	}
	return n
}

// note keeps what a call said of the server's health.
func (in *instance) note(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err == nil {
		in.last, in.until, in.pause = nil, time.Time{}, downFirst
		return
	}
	in.last = err
	in.until = time.Now().Add(in.pause)
	in.pause = min(2*in.pause, downLast)
}

// resting reports whether a server that failed is left alone for now.
func (in *instance) resting() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.refused != nil || time.Now().Before(in.until)
}

func (in *instance) isBehind() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.behind
}

// close lets go of connections.
func (in *instance) close() { in.transport.CloseIdleConnections() }
