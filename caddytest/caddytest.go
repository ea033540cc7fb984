// Package caddytest runs a real Caddy with this module inside the test's
// process, on ports that the system chooses, and asks it over real HTTP. A
// process has one Caddy with one configuration, so the tests of a package
// do not run in parallel; those of different packages do.
package caddytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/caddy-docs/caddy-docs"
)

// Key opens every site of a configuration that Global makes.
const Key = "svc_dsc_test_key_0123456789abcdef"

// Patience bounds every wait for something that happens in the background. With
// the race detector, on a busy machine, an index takes a minute.
const Patience = 2 * time.Minute

// Server is a running Caddy.
type Server struct {
	// Base is the address of its first server, like http://localhost:41234.
	Base string
	// Dir holds its storage, data and log.
	Dir string
	// Client sends the requests. It does not follow redirects.
	Client *http.Client

	t testing.TB
}

// New returns a server without a configuration. When the test ends, it is
// stopped and its folder removed.
func New(t testing.TB) *Server {
	t.Helper()
	return NewIn(t, t.TempDir())
}

// NewIn is New with a folder that exists.
func NewIn(t testing.TB, dir string) *Server {
	t.Helper()
	t.Cleanup(func() {
		if err := caddy.Stop(); err != nil {
			t.Errorf("stopping Caddy: %v", err)
		}
		// Replies that end only now may still store their turns.
		Until(t, "its folder is removed", func() bool { return os.RemoveAll(dir) == nil })
	})
	return newServer(t, dir)
}

// newServer returns a server that the test does not stop.
func newServer(t testing.TB, dir string) *Server {
	return &Server{Dir: dir, t: t, Client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// For returns the server for a test that uses the one of another: its failures
// are the test's.
func (s *Server) For(t testing.TB) *Server {
	other := *s
	other.t = t
	return &other
}

// Global returns a global options block for tests, with the given lines in
// its docs block: storage and data in dir, a log file there, no admin API.
// Key is added where the lines bring no key.
func Global(dir, docs string) string {
	if !strings.Contains(docs, "key ") {
		docs += "\nkey " + Key
	}
	return fmt.Sprintf(`{
	admin off
	persist_config off
	auto_https off
	skip_install_trust
	storage file_system %[1]q
	log {
		output file %[2]q
		level DEBUG
	}
	docs {
		data_dir %[3]q
%[4]s
	}
}
`, filepath.Join(dir, "storage"), filepath.Join(dir, "log"), filepath.Join(dir, "data"), docs)
}

// Folder writes files into a new folder and returns it. Names are slash
// paths.
func Folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	Write(t, dir, files)
	return dir
}

// Write writes files below dir.
func Write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Socket returns a path for a Unix socket, which may have about 100 bytes: those of
// TempDir have the name of the test.
func Socket(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// ReadFile returns the content of a file.
func ReadFile(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Adapt turns a Caddyfile into JSON.
func Adapt(caddyfile string) ([]byte, error) {
	adapter := caddyconfig.GetAdapter("caddyfile")
	cfg, _, err := adapter.Adapt([]byte(caddyfile), map[string]any{"filename": "Caddyfile"})
	return cfg, err
}

// Start runs a Caddyfile whose docs lines and site blocks are given; the
// block's address should be http://:0 or http://localhost:0. It is stopped
// when the test ends.
func Start(t testing.TB, docs, sites string) *Server {
	t.Helper()
	return StartIn(t, t.TempDir(), docs, sites)
}

// StartIn is Start with the folder of an earlier server, for restarts.
func StartIn(t testing.TB, dir, docs, sites string) *Server {
	t.Helper()
	s := NewIn(t, dir)
	s.Load(docs, sites)
	return s
}

// Load loads a configuration, in place of one that runs (a reload).
func (s *Server) Load(docs, sites string) {
	s.t.Helper()
	if err := s.TryLoad(Global(s.Dir, docs) + sites); err != nil {
		s.t.Fatal(err)
	}
}

// TryLoad loads a whole Caddyfile.
func (s *Server) TryLoad(caddyfile string) error {
	cfg, err := Adapt(caddyfile)
	if err != nil {
		return fmt.Errorf("adapting: %w", err)
	}
	return s.TryLoadJSON(cfg)
}

// TryLoadJSON loads a configuration in JSON.
func (s *Server) TryLoadJSON(cfg []byte) error {
	if err := caddy.Load(cfg, true); err != nil {
		return err
	}
	app, err := caddy.ActiveContext().App("http")
	if err != nil {
		return err
	}
	for _, name := range []string{"srv0", "srv1"} {
		if srv, ok := app.(*caddyhttp.App).Servers[name]; ok && len(srv.Listeners()) > 0 {
			_, port, err := net.SplitHostPort(srv.Listeners()[0].Addr().String())
			if err != nil {
				return err
			}
			if base := "http://localhost:" + port; base != s.Base { // requests that run meanwhile read it
				s.Base = base
			}
			return nil
		}
	}
	return fmt.Errorf("the configuration serves no HTTP")
}

// Log returns what the server logged so far.
func (s *Server) Log() string {
	data, err := os.ReadFile(filepath.Join(s.Dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(data)
}

// Response is an answer, read whole.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Error returns the error body of a response.
func (r *Response) Error(t testing.TB) (e struct{ Error, Code, RequestID string }) {
	t.Helper()
	if err := json.Unmarshal(r.Body, &e); err != nil {
		t.Fatalf("status %d, body is no error: %v\n%s", r.Status, err, r.Body)
	}
	return e
}

// Request is one request. The zero Method is POST; Key "" sends the test
// key, "-" none.
type Request struct {
	Method, Path, Key, Body string
	Header                  map[string]string
	Host                    string
}

// Open sends a request and leaves the body to the caller.
func (s *Server) Open(ctx context.Context, q Request) (*http.Response, error) {
	method := q.Method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, s.Base+q.Path, strings.NewReader(q.Body))
	if err != nil {
		return nil, err
	}
	if q.Host != "" {
		req.Host = q.Host
	}
	if q.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	switch q.Key {
	case "":
		req.Header.Set("Authorization", "Bearer "+Key)
	case "-":
	default:
		req.Header.Set("Authorization", "Bearer "+q.Key)
	}
	for k, v := range q.Header {
		if v == "" {
			req.Header.Del(k)
			continue
		}
		req.Header.Set(k, v)
	}
	return do(s.Client, req)
}

// do sends a request, and sends it again where a reload closed its connection
// before the server read it: a kept connection, or one that waited in the queue
// of the listener that was replaced.
func do(c *http.Client, req *http.Request) (*http.Response, error) {
	req.Header["Idempotency-Key"] = []string{} // not sent; see http.Transport
	resp, err := c.Do(req)
	if (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) && req.GetBody != nil {
		if req.Body, err = req.GetBody(); err == nil {
			resp, err = c.Do(req)
		}
	}
	return resp, err
}

// Do sends a request and reads the answer.
func (s *Server) Do(q Request) *Response {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	resp, err := s.Open(ctx, q)
	if err != nil {
		s.t.Fatalf("%s %s: %v", q.Method, q.Path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s %s: reading: %v", q.Method, q.Path, err)
	}
	return &Response{Status: resp.StatusCode, Header: resp.Header, Body: body}
}

// Result is a search result as clients see it.
type Result struct {
	Content, Path string
	Metadata      struct {
		Title, Heading, Description, Version, Language, URL, Site string
		Breadcrumbs, Tags                                         []string
		Score                                                     float64
	}
}

// Search searches a site and fails the test if the answer is not 200.
func (s *Server) Search(site, body string) []Result {
	s.t.Helper()
	r := s.Do(Request{Path: "/v1/search/" + site, Body: body})
	if r.Status != http.StatusOK {
		s.t.Fatalf("searching %s: %d %s", body, r.Status, r.Body)
	}
	var results []Result
	if err := json.Unmarshal(r.Body, &results); err != nil {
		s.t.Fatalf("searching %s: %v\n%s", body, err, r.Body)
	}
	return results
}

// Until waits for something that happens in the background. The event
// completes the sentence "20s has passed before …".
func Until(t testing.TB, event string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("%s has passed before %s", Patience, event)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Ready waits until a site has an index.
func (s *Server) Ready(site string) {
	s.t.Helper()
	Until(s.t, "site "+site+" is ready", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		resp, err := s.Open(ctx, Request{Path: "/v1/search/" + site, Body: `{"query":"x"}`})
		if err != nil {
			return false // on its way to a listener that a reload closes
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
			s.t.Fatalf("waiting for %s: %d %s", site, resp.StatusCode, body)
		}
		return resp.StatusCode == http.StatusOK
	})
}

// FreePort returns a port that is free for TCP and UDP, for servers that keep
// their port over a reload. HTTP/3 needs the same port for both.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 50 {
		l, err := net.Listen("tcp", ":0") //nolint:gosec // as Caddy listens
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		u, err := net.ListenPacket("udp", fmt.Sprintf(":%d", port))
		l.Close()
		if err == nil {
			u.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// AdaptWith adapts a Caddyfile and lets change edit the JSON.
func AdaptWith(t testing.TB, caddyfile string, change func(map[string]any)) []byte {
	t.Helper()
	cfg, err := Adapt(caddyfile)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(cfg, &c); err != nil {
		t.Fatal(err)
	}
	change(c)
	if cfg, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	return cfg
}
