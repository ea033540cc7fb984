//go:build unix

// Package locks tests that nobody is shown a page that they can't open, and
// that nobody misses one that they can, in any way out of a site. The judge is
// each client's own GET of each page, over HTTP.
package locks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
	"github.com/caddy-docs/caddy-docs/caddytest/oracle"
	"github.com/caddy-docs/caddy-docs/handlers/command"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
)

func TestMain(m *testing.M) { caddytest.Main(m) }

// doc is a page of a row. The word title is in its title, key is in its text,
// and proof near the end of it: tests ask for key, and title and proof show that
// the page was shown.
type doc struct {
	path, file        string
	title, key, proof string
	html              string // of the file
}

// word returns a word that is like no other.
func word(of string) string {
	sum := sha256.Sum256([]byte(of))
	var b strings.Builder
	for i := range 4 {
		b.WriteByte("bdfgklmnprtvz"[sum[2*i]%13])
		b.WriteByte("aeiou"[sum[2*i+1]%5])
	}
	return b.String() + "k"
}

// vocabulary is what pages say in different orders.
var vocabulary = strings.Fields(`the valve opens before pressure rises and each pump takes water from a tank where
operators read values on panels during long shifts while sensors report heat to rooms below so that crews change
filters after storms because dust enters pipes through old seals which engineers replace every spring with parts
made by local workshops under strict rules about metal glass rubber paint wire steam oil gas light sound`)

// newDoc returns a page at a separate path.
func newDoc(path string) *doc {
	d := &doc{path: path, file: strings.TrimPrefix(path, "/"), title: word("title " + path), key: word("key " + path), proof: word("proof " + path)}
	if strings.HasSuffix(path, "/") {
		d.file += "index.html"
	}
	sum := sha256.Sum256([]byte(path))
	text := func(part int) string {
		var b strings.Builder
		for i := range 40 {
			b.WriteString(vocabulary[(int(sum[(part*7+i)%32])*(i+3)+part)%len(vocabulary)] + " ")
		}
		return b.String()
	}
	d.html = fmt.Sprintf("<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>About %[1]s</title></head>\n<body>\n<nav><a href=\"/\">Manual</a> <a href=\"/help\">Help</a></nav>\n<main>\n<h1>About %[1]s</h1>\n<p>A café &amp; bar: %[2]s The word is %[3]s.</p>\n<!-- a comment -->\n<h2 id=\"details\">Details</h2>\n<p>%[4]s Of %[3]s it says %[5]s.</p>\n</main>\n<footer>Made by hand</footer>\n</body>\n</html>\n",
		d.title, text(0), d.key, text(1), d.proof)
	return d
}

// The pages of most rows.
var (
	front = newDoc("/")
	one   = newDoc("/guide/one.html")
	plan  = newDoc("/internal/plan.html")
	deep  = newDoc("/internal/deep/log.html")

	manual = []*doc{front, one, plan, deep}
	open   = []*doc{front, one}
)

// client is who asks.
type client struct {
	name   string
	header map[string]string
	// from is the IP, of loopback.
	from string
	// certificate reports that the client has one.
	certificate bool
	// opens are the pages that the client's own requests open. The test checks
	// that they do: a row whose lock opens for nobody tests nothing.
	opens []*doc
}

const outside, office, denied = "198.51.100.7", "10.1.2.3", "203.0.113.9"

// from returns a client whose IP a proxy names.
func from(name, ip string, opens []*doc) client {
	return client{name: name, header: map[string]string{"X-Forwarded-For": ip}, opens: opens}
}

// with returns a client who sends a header.
func with(name, header, value string, opens []*doc) client {
	return client{name: name, header: map[string]string{"X-Forwarded-For": outside, header: value}, opens: opens}
}

// reader:secret
const (
	readerHash  = "$2a$04$g0ENMs0qKsGT6qHYUhSqj.9WAgrgoQ6.SD/3KExvytz85gg4HL44W"
	readerLogin = "Basic cmVhZGVyOnNlY3JldA=="
	wrongLogin  = "Basic cmVhZGVyOndyb25n"
)

// A row is a site with a lock.
type row struct {
	name string
	// docs are the pages. Default: manual.
	docs []*doc
	// lines are those of the block of docs, after come behind it, before come
	// before it.
	lines, after, before string
	// origin responds to what {origin} is asked, login to {auth}, by the path
	// that the client asked for.
	origin, login http.HandlerFunc
	// stranger are the pages that a stranger opens.
	stranger []*doc
	readers  []client
	// everything is set where the operator opened all pages.
	everything bool
	// tells is set where the site itself tells missing pages from locked ones.
	tells bool
	// hangs is set where the site does not respond.
	hangs bool
	// fault is what origin or login respond with in an outage. keeps is set where
	// what was proven before it stays.
	fault          http.HandlerFunc
	keeps, forgets bool
	// refuses is the status for clients that get none of the pages.
	refuses int

	host, site, root string

	mu       sync.Mutex
	findings []string
}

// errorf adds a finding. The rows are tested at once, and reported in order.
func (r *row) errorf(format string, arguments ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.findings = append(r.findings, fmt.Sprintf(format, arguments...))
}

func (r *row) pages() []*doc {
	if r.docs == nil {
		return manual
	}
	return r.docs
}

func (r *row) clients() []client {
	clients := []client{from("a stranger", outside, r.stranger)}
	return append(clients, r.readers...)
}

// world is a Caddy with all rows, and the servers behind it.
type world struct {
	*caddytest.Server
	rows []*row

	model  string
	origin *httptest.Server
	auth   *httptest.Server
	mortal *mortal
	shared string // the folder with manual
	tls    string // the address of the second server
	cert   tls.Certificate
	pool   string // the file with its authority

	mu      sync.Mutex
	clients map[string]*http.Client
	faults  map[string]http.HandlerFunc // by host, instead of origin and login
	phase   int                         // readers of each phase are others to the server
	extra   string                      // a directive that makes a configuration another one
}

func newWorld(t *testing.T, rows []*row) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "locks") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Server: caddytest.NewIn(t, dir), rows: rows, clients: make(map[string]*http.Client), faults: make(map[string]http.HandlerFunc)}
	m, url := caddytest.StartModel(t)
	m.Answer(witness)
	w.model = url
	w.shared = folderOf(t, manual)
	for i, r := range rows {
		r.site = fmt.Sprintf("r%02d", i)
		r.host = r.site + ".test"
		switch {
		case r.root != "":
		case r.docs == nil && r.origin == nil && r.login == nil:
			r.root = w.shared
		default:
			r.root = folderOf(t, r.pages())
		}
	}
	peer := func(pick func(*row) http.HandlerFunc) *httptest.Server {
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
			w.mu.Lock()
			fault := w.faults[q.Host]
			w.mu.Unlock()
			if fault != nil {
				fault(rw, q)
				return
			}
			for _, r := range rows {
				if h := pick(r); h != nil && r.host == q.Host {
					h(rw, q)
					return
				}
			}
			http.Error(rw, "no such host", http.StatusInternalServerError)
		}))
		t.Cleanup(func() {
			srv.CloseClientConnections()
			srv.Close()
		})
		return srv
	}
	w.origin = peer(func(r *row) http.HandlerFunc { return r.origin })
	w.auth = peer(func(r *row) http.HandlerFunc { return r.login })
	w.mortal = newMortal(t, http.HandlerFunc(staffOnly))
	if w.cert, w.pool, err = oracle.ClientCertificate(w.Dir, "clients.pem"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range w.clients {
			c.CloseIdleConnections()
		}
	})
	return w
}

// folderOf writes pages into a folder.
func folderOf(t *testing.T, docs []*doc) string {
	files := make(map[string]string)
	for _, d := range docs {
		files[d.file] = d.html
	}
	if docs[0] == rendered[0] {
		files["_site/page.html"] = template
	}
	return caddytest.Folder(t, files)
}

// load loads a configuration with all rows.
func (w *world) load(t *testing.T) {
	t.Helper()
	if err := w.TryLoad(w.config(t)); err != nil {
		t.Fatal(err)
	}
	w.clients = map[string]*http.Client{}
}

const dashboardHost = "admin.test"

func (w *world) config(t *testing.T) string {
	t.Helper()
	global := caddytest.Global(w.Dir, caddytest.LLM(w.model, "witness", ""))
	global = strings.Replace(global, "level DEBUG", "level INFO", 1)
	global = strings.Replace(global, "{\n", "{\n\tservers {\n\t\ttrusted_proxies static 127.0.0.1/32\n\t\ttrusted_proxies_strict\n\t}\n", 1)
	global = strings.Replace(global, "admin off", "admin unix/"+w.socket(), 1)
	global = strings.Replace(global, "auto_https off", "auto_https disable_redirects\n\tlocal_certs", 1)
	var b strings.Builder
	b.WriteString(global)
	replace := strings.NewReplacer("{origin}", strings.TrimPrefix(w.origin.URL, "http://"), "{auth}", strings.TrimPrefix(w.auth.URL, "http://"), "{mortal}", w.mortal.addr, "{hash}", readerHash, "{pool}", w.pool)
	b.WriteString("&(lock) {\n@out {\npath /internal/*\nnot header Cookie *session=staff*\n}\nrespond @out 403\n}\n")
	for _, r := range w.rows {
		address := "http://" + r.host + ":0"
		if strings.Contains(r.before, "client_auth") {
			address = "https://" + r.host + ":" + w.tlsPort(t)
		}
		fmt.Fprintf(&b, "%s {\n%s\nroot * %q\n%s\ndocs %s {\nrate_limit off\norganization acme\nsuggestions on\n%s\n}\n%s\n}\n",
			address, w.extra, r.root, replace.Replace(r.before), r.site, r.lines, replace.Replace(r.after))
	}
	fmt.Fprintf(&b, "http://%s:0 {\nbasic_auth {\nreader %s\n}\ndocs_dashboard {\nadmin reader\n}\n}\n", dashboardHost, readerHash)
	return b.String()
}

func (w *world) socket() string { return filepath.Join(w.Dir, "admin.sock") }

// doctor is what the command says.
func (w *world) doctor(t *testing.T) string {
	t.Helper()
	cmd := &cobra.Command{Use: "docs"}
	command.Fill(cmd)
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs([]string{"--address", "unix/" + w.socket(), "doctor"})
	cmd.SetContext(t.Context())
	_ = cmd.Execute() // it fails where it finds something
	return out.String()
}

func (w *world) tlsPort(t *testing.T) string {
	if w.tls == "" {
		w.tls = fmt.Sprint(caddytest.FreePort(t))
	}
	return w.tls
}

// settle waits until a stranger's request for each page was answered, or that
// is not to be expected.
func (w *world) settle(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for _, r := range w.rows {
		// Certificates are made in the background.
		for strings.Contains(r.before, "client_auth") && time.Now().Before(deadline) {
			if _, err := w.send(r, &client{}, get("/")); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		for !r.hangs && !w.known(t, r) && time.Now().Before(deadline) {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func (w *world) known(t *testing.T, r *row) bool {
	site := caddytest.App(t).Site(r.site)
	if site == nil {
		return false
	}
	pages := site.Reach.Pages()
	return len(pages) >= len(r.pages()) && !slices.ContainsFunc(pages, func(p reach.Page) bool {
		return p.State == reach.Unknown && (p.Why == "" || strings.HasPrefix(p.Why, "was not asked"))
	})
}

// send sends a request as a client of a row's host.
func (w *world) send(r *row, c *client, q caddytest.Request) (*caddytest.Response, error) {
	base := w.Base
	if q.Host == "" && strings.Contains(r.before, "client_auth") {
		base = "https://" + r.host + ":" + w.tls
	}
	method := q.Method
	if method == "" {
		method = http.MethodPost
	}
	patience := time.Minute
	w.mu.Lock()
	hangs := r.hangs && (r.fault == nil || w.faults[r.host] != nil)
	w.mu.Unlock()
	if hangs && !strings.HasPrefix(q.Path, "/v") && q.Host == "" {
		patience = 200 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, base+q.Path, strings.NewReader(q.Body))
	if err != nil {
		return nil, err
	}
	req.Host = r.host
	if q.Host != "" {
		req.Host = q.Host
	}
	if q.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range c.header {
		req.Header.Set(k, v)
	}
	if cookie := req.Header.Get("Cookie"); cookie != "" && w.phase > 0 {
		req.Header.Set("Cookie", fmt.Sprintf("phase=%d; %s", w.phase, cookie))
	}
	for k, v := range q.Header {
		req.Header.Set(k, v)
	}
	res, err := w.client(c).Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return &caddytest.Response{Status: res.StatusCode, Header: res.Header, Body: body}, err
}

// client returns the connections of a client.
func (w *world) client(c *client) *http.Client {
	key := fmt.Sprint(c.from, c.certificate)
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.clients[key]; known != nil {
		return known
	}
	dialer := new(net.Dialer)
	if c.from != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(c.from)}
	}
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // Caddy's own authority
	if c.certificate {
		config.Certificates = []tls.Certificate{w.cert}
	}
	w.clients[key] = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{TLSClientConfig: config, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, network, "127.0.0.1:"+port)
		}},
	}
	return w.clients[key]
}

// opens reports whether a client's own GET of a page is answered with the page,
// perhaps after redirects on the site.
func (w *world) opens(r *row, c *client, d *doc) bool {
	path := d.path
	for range 5 {
		res, err := w.send(r, c, caddytest.Request{Method: http.MethodGet, Path: path, Header: map[string]string{"Accept": "text/html,*/*;q=0.8"}})
		if err != nil {
			return false
		}
		if location := res.Header.Get("Location"); res.Status/100 == 3 && strings.HasPrefix(location, "/") && !strings.HasPrefix(location, "//") {
			path = location
			continue
		}
		return res.Status == http.StatusOK && strings.Contains(string(res.Body), d.proof)
	}
	return false
}

// witness is a model that says which pages it was told of. It looks for what it
// is asked.
func witness(q *modelserver.Request) modelserver.Reply {
	user := q.Question()
	if len(q.Tools) > 0 && q.Text("tool") == "" {
		page := regexp.MustCompile(`/[a-z/]+\.(html|md)`).FindString(user)
		return modelserver.Reply{ToolCalls: []modelserver.ToolCall{
			modelserver.Call("a", "search", fmt.Sprintf(`{"query":%q}`, strings.Fields(user + " x")[0])),
			modelserver.Call("b", "read_page", fmt.Sprintf(`{"page":%q}`, page)),
		}}
	}
	var told strings.Builder
	for _, role := range []string{"system", "user", "assistant", "tool"} {
		told.WriteString(q.Text(role))
	}
	seen := []string{"I read:"}
	for _, word := range slices.Sorted(maps.Keys(proofs)) {
		if strings.Contains(told.String(), word) {
			seen = append(seen, word)
		}
	}
	return modelserver.Reply{Text: strings.Join(seen, " ") + "."}
}

// proofs are the words that show pages.
var proofs = func() map[string]bool {
	all := make(map[string]bool)
	for _, r := range table() {
		for _, d := range r.pages() {
			all[d.proof], all[d.title] = true, true
		}
	}
	return all
}()

// mortal is a server that can die and live again at its address.
type mortal struct {
	addr    string
	handler http.Handler
	srv     *http.Server
}

func newMortal(t *testing.T, h http.Handler) *mortal {
	t.Helper()
	m := &mortal{addr: "127.0.0.1:0", handler: h}
	m.live(t)
	t.Cleanup(m.die)
	return m
}

func (m *mortal) live(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", m.addr)
	if err != nil {
		t.Fatal(err)
	}
	m.addr, m.srv = l.Addr().String(), &http.Server{Handler: m.handler, ReadHeaderTimeout: time.Minute}
	go func(srv *http.Server) { _ = srv.Serve(l) }(m.srv)
}

func (m *mortal) die() { _ = m.srv.Close() }
