//go:build unix

package assistant

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
)

// meili is a server that a test may do harm to: a real Meilisearch where
// MEILISEARCH_BIN names its program, otherwise the fake server.
type meili interface {
	address() string
	// documents counts them by index.
	documents(t *testing.T) map[string]int
	// lose deletes an index, as a server does that starts with another disk.
	lose(t *testing.T, uid string)
	// vectors counts documents that have one.
	vectors(t *testing.T, uid string) int
	// hang leaves every request without an answer, until resume.
	hang(t *testing.T)
	resume(t *testing.T)
	// kill ends the server at once, stop asks it to end; restart is the same
	// one again.
	kill(t *testing.T)
	stop(t *testing.T)
	restart(t *testing.T)
	// empty ends the server and removes its data, until refound.
	empty(t *testing.T)
	refound(t *testing.T)
	// revoke takes the keys back, until grant.
	revoke(t *testing.T)
	grant(t *testing.T)
	// replaceKeys makes new keys, and takes the old ones back when reload has
	// returned.
	replaceKeys(t *testing.T, reload func())
	// limit takes an action from the key for indexing; "" gives it all back.
	limit(t *testing.T, action string)
}

// newMeili starts a server, and sets its keys in the environment.
func newMeili(t *testing.T) meili {
	t.Helper()
	if bin := os.Getenv("MEILISEARCH_BIN"); bin != "" {
		return startReal(t, bin)
	}
	return &standIn{caddytest.StartMeilisearch(t)}
}

// waitForSections waits until a server holds so many sections of the site and
// nothing that an interrupted run left beside the state of the site.
func waitForSections(t *testing.T, m meili, sections int) {
	t.Helper()
	caddytest.Until(t, fmt.Sprintf("the server holds %d sections and nothing else", sections), func() bool {
		total, left := 0, false
		for uid, n := range m.documents(t) {
			if strings.Contains(uid, "-_") {
				continue // whose indexes these are, and the state
			}
			total += n
			left = left || strings.LastIndex(uid, "_") > 0
		}
		return total == sections && !left
	})
}

type standIn struct{ *meiliserver.Server }

func (s *standIn) address() string                     { return s.URL }
func (s *standIn) documents(*testing.T) map[string]int { return s.Indexes() }
func (s *standIn) resume(*testing.T)                   { s.Break(nil) }
func (s *standIn) restart(*testing.T)                  { s.Break(nil) }
func (s *standIn) grant(*testing.T)                    { s.Break(nil) }

func (s *standIn) stop(t *testing.T)    { s.kill(t) }
func (s *standIn) refound(t *testing.T) { s.restart(t) }

func (s *standIn) empty(t *testing.T) {
	for uid := range s.Indexes() {
		s.lose(t, uid)
	}
	s.kill(t)
}

func (s *standIn) replaceKeys(t *testing.T, reload func()) {
	t.Helper()
	s.Grant("new", append(without(""), "search")...)
	t.Setenv("TEST_MEILI_KEY", "new")
	t.Setenv("TEST_MEILI_SEARCH_KEY", "new")
	reload()
	s.Break(func(r *http.Request) *meiliserver.Fault {
		if r.Header.Get("Authorization") == "Bearer new" {
			return nil
		}
		return &meiliserver.Fault{Status: http.StatusForbidden, Code: "invalid_api_key"}
	})
}

func (s *standIn) limit(t *testing.T, action string) {
	t.Helper()
	s.Grant("limited", without(action)...)
	t.Setenv("TEST_MEILI_KEY", "limited")
}

// without are the actions of the key for indexing except one.
func without(action string) []string {
	return slices.DeleteFunc([]string{
		"documents.add", "documents.get", "documents.delete", "indexes.create", "indexes.get", "indexes.delete", "indexes.swap",
		"settings.get", "settings.update", "tasks.get", "stats.get", "version",
	}, func(a string) bool { return a == action })
}

func (s *standIn) lose(t *testing.T, uid string) {
	ask(t, s.URL, s.Key, http.MethodDelete, "/indexes/"+uid, nil)
}

func (s *standIn) vectors(t *testing.T, uid string) int {
	return embedded(ask(t, s.URL, s.Key, http.MethodGet, "/indexes/"+uid+"/stats", nil))
}

func embedded(status int, stats map[string]any) int {
	n, _ := stats["numberOfEmbeddedDocuments"].(float64)
	return int(n)
}

func (s *standIn) hang(*testing.T) {
	s.Break(func(*http.Request) *meiliserver.Fault { return &meiliserver.Fault{Hang: true} })
}

func (s *standIn) kill(*testing.T) {
	s.Break(meiliserver.Down)
	s.CloseClientConnections()
}

func (s *standIn) revoke(*testing.T) {
	s.Break(func(*http.Request) *meiliserver.Fault {
		return &meiliserver.Fault{Status: http.StatusForbidden, Code: "invalid_api_key"}
	})
}

// masterKey is that of the real servers of the tests.
const masterKey = "the-master-key-of-a-test"

// meiliKeys are the keys of the manual, by the variable that holds them.
// Their ids make that a key that is made again is the same.
var meiliKeys = []struct {
	variable, uid, indexes string
	actions                []string
}{
	{"TEST_MEILI_KEY", "11111111-1111-4111-8111-111111111111", "*", []string{"documents.*", "indexes.*", "settings.*", "tasks.get", "stats.get", "version"}},
	{"TEST_MEILI_SEARCH_KEY", "22222222-2222-4222-8222-222222222222", "_docs-*", []string{"search"}},
}

// realMeili is a process.
type realMeili struct {
	bin, dir, addr string
	cmd            *exec.Cmd
}

func startReal(t *testing.T, bin string) *realMeili {
	t.Helper()
	m := &realMeili{bin: bin, dir: t.TempDir(), addr: fmt.Sprintf("127.0.0.1:%d", caddytest.FreePort(t))}
	m.restart(t)
	t.Cleanup(func() { m.kill(t) })
	m.grant(t)
	return m
}

func (m *realMeili) address() string { return "http://" + m.addr }

func (m *realMeili) restart(t *testing.T) { m.start(t) }

// start starts the server, with options more than it always has.
func (m *realMeili) start(t *testing.T, options ...string) {
	t.Helper()
	m.cmd = exec.Command(m.bin, append([]string{
		"--http-addr", m.addr, "--db-path", filepath.Join(m.dir, "data"), "--dump-dir", filepath.Join(m.dir, "dumps"),
		"--snapshot-dir", filepath.Join(m.dir, "snapshots"), "--no-analytics", "--log-level", "WARN",
	}, options...)...)
	m.cmd.Dir = m.dir
	m.cmd.Env = append(os.Environ(), "MEILI_MASTER_KEY="+masterKey)
	output, err := os.OpenFile(filepath.Join(m.dir, "output"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	m.cmd.Stdout, m.cmd.Stderr = output, output
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "Meilisearch answers", func() bool {
		status, _ := m.call(t, http.MethodGet, "/health", nil)
		return status == http.StatusOK
	})
}

// call is the master's.
func (m *realMeili) call(t *testing.T, method, path string, body any) (status int, answer map[string]any) {
	t.Helper()
	return ask(t, m.address(), masterKey, method, path, body)
}

func (m *realMeili) lose(t *testing.T, uid string) {
	t.Helper()
	m.call(t, http.MethodDelete, "/indexes/"+uid, nil)
	caddytest.Until(t, "the index is gone", func() bool { return m.documents(t)[uid] == 0 })
}

func (m *realMeili) vectors(t *testing.T, uid string) int {
	t.Helper()
	return embedded(m.call(t, http.MethodGet, "/indexes/"+uid+"/stats", nil))
}

func (m *realMeili) documents(t *testing.T) map[string]int {
	t.Helper()
	out := map[string]int{}
	var indexes map[string]any
	// While an index is being deleted, this answers 404.
	caddytest.Until(t, "there are counts", func() bool {
		status, answer := m.call(t, http.MethodGet, "/stats", nil)
		indexes, _ = answer["indexes"].(map[string]any)
		return status == http.StatusOK
	})
	for uid, x := range indexes {
		out[uid] = int(x.(map[string]any)["numberOfDocuments"].(float64))
	}
	return out
}

func (m *realMeili) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := m.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (m *realMeili) hang(t *testing.T)   { m.signal(t, syscall.SIGSTOP) }
func (m *realMeili) resume(t *testing.T) { m.signal(t, syscall.SIGCONT) }

func (m *realMeili) kill(*testing.T) {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
}

func (m *realMeili) stop(t *testing.T) {
	t.Helper()
	m.signal(t, syscall.SIGTERM)
	_ = m.cmd.Wait()
}

func (m *realMeili) empty(t *testing.T) {
	t.Helper()
	m.kill(t)
	if err := os.RemoveAll(filepath.Join(m.dir, "data")); err != nil {
		t.Fatal(err)
	}
}

func (m *realMeili) refound(t *testing.T) {
	t.Helper()
	m.restart(t)
	m.grant(t)
}

func (m *realMeili) replaceKeys(t *testing.T, reload func()) {
	t.Helper()
	for _, k := range meiliKeys {
		_, answer := m.call(t, http.MethodPost, "/keys", map[string]any{"actions": k.actions, "indexes": []string{k.indexes}, "expiresAt": nil})
		t.Setenv(k.variable, answer["key"].(string))
	}
	reload()
	m.revoke(t)
}

func (m *realMeili) revoke(t *testing.T) {
	t.Helper()
	for _, k := range meiliKeys {
		if status, answer := m.call(t, http.MethodDelete, "/keys/"+k.uid, nil); status != http.StatusNoContent {
			t.Fatalf("revoking a key: %d %v", status, answer)
		}
	}
}

func (m *realMeili) grant(t *testing.T) {
	t.Helper()
	for _, k := range meiliKeys {
		status, answer := m.call(t, http.MethodPost, "/keys", map[string]any{"uid": k.uid, "actions": k.actions, "indexes": []string{k.indexes}, "expiresAt": nil})
		key, _ := answer["key"].(string)
		if status != http.StatusCreated || key == "" {
			t.Fatalf("making a key: %d %v", status, answer)
		}
		t.Setenv(k.variable, key)
	}
}

// limit makes the key again: a key's actions can't be changed, and its id makes
// that it is the same.
func (m *realMeili) limit(t *testing.T, action string) {
	t.Helper()
	k := meiliKeys[0]
	m.call(t, http.MethodDelete, "/keys/"+k.uid, nil)
	status, answer := m.call(t, http.MethodPost, "/keys", map[string]any{"uid": k.uid, "actions": without(action), "indexes": []string{k.indexes}, "expiresAt": nil})
	if status != http.StatusCreated {
		t.Fatalf("making a key: %d %v", status, answer)
	}
}

// gate is a proxy in front of a server that can fail requests.
type gate struct {
	*httptest.Server
	mu   sync.Mutex
	rule func(w http.ResponseWriter, r *http.Request, pass http.Handler)
	open chan struct{}
}

func newGate(t *testing.T, m meili) *gate {
	t.Helper()
	target, err := url.Parse(m.address())
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	g := &gate{open: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		rule := g.rule
		g.mu.Unlock()
		if rule == nil {
			proxy.ServeHTTP(w, r)
		} else {
			rule(w, r, proxy)
		}
	}))
	t.Cleanup(func() {
		close(g.open)
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

// set makes a rule for requests to come; nil lets them pass.
func (g *gate) set(rule func(w http.ResponseWriter, r *http.Request, pass http.Handler)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rule = rule
}

// triesKey reports whether a request only finds out what a key permits: it
// names no index, or only one to swap.
func triesKey(r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/swap-indexes") {
		return strings.Contains(r.URL.Path, ".")
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && !strings.Contains(string(body), ",") // one index, where a swap has two
}

// holdAt returns a channel that is closed when the first request comes that
// matches; from then on all are held. Where after, that first one reaches
// the server, only its answer doesn't come back.
func (g *gate) holdAt(match func(*http.Request) bool, after bool) <-chan struct{} {
	reached := make(chan struct{})
	var once sync.Once
	g.set(func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		select {
		case <-reached:
		default:
			if !match(r) || triesKey(r) {
				pass.ServeHTTP(w, r)
				return
			}
			if after {
				pass.ServeHTTP(httptest.NewRecorder(), r)
			}
			once.Do(func() { close(reached) })
		}
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-g.open:
		}
	})
	return reached
}
