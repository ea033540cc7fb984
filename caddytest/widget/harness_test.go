// Package widget tests the widget in a real browser, on pages with the
// strictest Content-Security-Policy, in front of a real Caddy.
package widget

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/browser"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
	"github.com/caddy-docs/caddy-docs/widget"
)

// policy allows nothing that the widget can do without.
const policy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// site is the documentation that is searched.
var site = map[string]string{
	"index.html":        "Acme|<h1>Acme</h1><p>It runs rockets from a configuration file.</p>",
	"install.html":      "Install Acme|<h1>Install Acme</h1><p>Download the archive and unpack it.</p><h2 id=\"linux\">On Linux</h2><p>Run the installer with administrator rights.</p><pre><code>sudo acme-install --prefix /opt/acme</code></pre><h2 id=\"windows\">On Windows</h2><p>Start the installer acme-setup.exe and follow it.</p>",
	"config.html":       "Configure|<h1>Configure</h1><p>The file acme.toml holds the settings.</p><h2 id=\"thrust\">Thrust limits</h2><p>Set max_thrust to the newtons that your rocket may use.</p><h2 id=\"countdown\">Countdown</h2><p>Seconds before ignition, default 10.</p>",
	"guide/launch.html": "Launch|<nav aria-label=\"Breadcrumb\"><a href=\"/\">Guide</a></nav><h1>Launch</h1><p>Press the red igniter.</p>",
}

// stand is a Caddy with the module, the pages, and what they have requested.
type stand struct {
	*httptest.Server
	model *modelserver.Server
	caddy *caddytest.Server

	mu       sync.Mutex
	requests []request
	replies  map[string]modelserver.Reply // by question
	handle   map[string]http.HandlerFunc  // by path
}

type request struct {
	method, host, path, body string
	header                   http.Header
}

// on says what the model answers to a question.
func (s *stand) on(question string, r modelserver.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[question] = r
}

// sent returns the bodies of the requests to a path.
func (s *stand) sent(path string) (bodies []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r.path == path {
			bodies = append(bodies, r.body)
		}
	}
	return bodies
}

// all returns the requests so far.
func (s *stand) all() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// extra serves a script of a test.
func (s *stand) extra(path string, script []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle[path] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(script)
	}
}

func reply(text string) modelserver.Reply { return modelserver.Reply{Text: text} }

// asked returns the body of the question that holds a text.
func (s *stand) asked(text string) (last string) {
	for _, body := range s.sent("/v2/assistant/acme/message") {
		if strings.Contains(body, text) {
			last = body
		}
	}
	return last
}

func newStand(t testing.TB) *stand {
	t.Helper()
	model, modelURL := caddytest.StartModel(t)
	s := &stand{model: model, replies: map[string]modelserver.Reply{}, handle: map[string]http.HandlerFunc{}}
	model.Answer(func(r *modelserver.Request) modelserver.Reply {
		s.mu.Lock()
		defer s.mu.Unlock()
		for question, reply := range s.replies {
			if q := r.Question(); strings.Contains(q[max(0, strings.LastIndex(q, "\nQuestion\n")):], question) {
				return reply
			}
		}
		return modelserver.Reply{Text: "Run [the installer](/install#linux)."}
	})
	files := map[string]string{}
	for i := range 12 {
		files[fmt.Sprintf("b%d.html", i)] = fmt.Sprintf("<!doctype html><html lang=\"en\"><head><title>Stage %d</title></head><body><main><h1>Stage %d</h1><p>It has a booster.</p></main></body></html>", i, i)
	}
	// Pages in other languages: the button has its word in these from the start.
	for _, l := range []string{"de", "es", "fr", "it", "ja", "ko", "pt-BR", "ru", "zh-Hans"} {
		files[l+".html"] = "<!doctype html><html lang=\"" + l + "\"><head><title>" + l + "</title></head><body><main><h1>" + l + "</h1></main></body></html>"
	}
	for name, content := range site {
		title, body, _ := strings.Cut(content, "|")
		files[name] = "<!doctype html><html lang=\"en\"><head><title>" + title + "</title></head><body><main>" + body + "</main></body></html>"
	}
	notes := caddytest.Folder(t, map[string]string{"rust.html": "<!doctype html><html lang=\"en\"><head><title>Rust</title></head><body><main><h1>Rust</h1><p>It is on the igniter.</p></main></body></html>"})
	caddy := caddytest.Start(t, caddytest.LLM(modelURL, "fake", "")+"\ngroup all {\n\tsites acme notes\n\torganization acme\n}\nkey "+caddytest.Key+" {\n\torigins http://127.0.0.1:*\n}",
		"http://notes.test:0 {\n\tbind 127.0.0.1\n\troot "+notes+"\n\tdocs notes {\n\t\turl http://notes.test\n\t\tname \"Acme Notes\"\n\t\torganization acme\n\t}\n\tfile_server\n}\nhttp://:0 {\n\tbind 127.0.0.1\n\tsearch all\n\tdocs_widget all\n\theader Content-Security-Policy \""+policy+"\"\n\troot "+caddytest.Folder(t, files)+"\n\tdocs acme {\n\t\tclean_urls on\n\t\tsuggestions on\n\t\twidget inject\n\t}\n\ttry_files {path} {path}.html\n\tfile_server\n}\n")
	caddy.Ready("acme")
	s.caddy = caddy
	target, err := url.Parse(caddy.Base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, proxy)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// serve passes the API on to Caddy, and serves pages with their policy. ?config=
// of a page's tag changes the widget's settings.
func (s *stand) serve(w http.ResponseWriter, r *http.Request, proxy http.Handler) {
	q := request{r.Method, r.Host, r.URL.Path, readBody(r), r.Header.Clone()}
	record := func() {
		s.mu.Lock()
		s.requests = append(s.requests, q)
		s.mu.Unlock()
	}
	if strings.HasPrefix(r.URL.Path, "/v1/feedback/") || strings.HasPrefix(r.URL.Path, "/v1/events/") {
		defer record() // a tab that is closed before cancels the request
	} else {
		record()
	}
	s.mu.Lock()
	own := s.handle[r.URL.Path]
	s.mu.Unlock()
	if own != nil {
		own(w, r)
		return
	}
	switch name, isWidget := strings.CutPrefix(r.URL.Path, "/v1/widget/"); {
	case name == "broken.js" && isWidget:
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(broken(widget.Loader([]byte(`{"site":"acme"}`))))
	case name == "acme.js" && isWidget && r.URL.Query().Has("config"):
		w.Header().Set("Content-Type", "text/javascript")
		config := map[string]any{}
		if err := json.Unmarshal([]byte(r.URL.Query().Get("config")), &config); err != nil {
			panic(err)
		}
		if config["site"] == nil {
			config["site"] = "acme"
		}
		if all, ok := config["strings"].(map[string]any); ok {
			for language, texts := range all {
				all[language] = places(texts.(map[string]any))
			}
		}
		b, _ := json.Marshal(config)
		_, _ = w.Write(widget.Loader(b))
	case strings.HasPrefix(r.URL.Path, "/v"), r.Header.Get("Accept") == "text/markdown":
		proxy.ServeHTTP(w, r)
	default:
		s.page(w, r)
	}
}

// places are texts as the module puts them into the script.
func places(texts map[string]any) map[string]string {
	named := make(map[string]string)
	for name, text := range texts {
		named[name] = text.(string)
	}
	placed, err := widget.Texts(named)
	if err != nil {
		panic(err)
	}
	return placed
}

func readBody(r *http.Request) string {
	if r.Body == nil || r.Method != http.MethodPost {
		return ""
	}
	b, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(b))
	return string(b)
}

const patience = caddytest.Patience

// page serves a page of the site. Its query sets the attributes of <html> and
// the widget's settings.
func (s *stand) page(w http.ResponseWriter, r *http.Request) {
	content, ok := site[strings.Trim(r.URL.Path, "/")+".html"]
	if r.URL.Path == "/" {
		content, ok = site["index.html"], true
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	title, body, _ := strings.Cut(content, "|")
	q := r.URL.Query()
	lang, dir := q.Get("lang"), q.Get("dir")
	if lang == "" {
		lang = "en"
	}
	if dir == "" {
		dir = "ltr"
	}
	src := "/v1/widget/acme.js"
	if q.Has("elsewhere") { // on another origin: Caddy's own
		src = s.caddy.Base + src
	}
	if q.Has("broken") {
		src = "/v1/widget/broken.js"
	}
	config := q.Get("config")
	if c, err := r.Cookie("config"); err == nil && config == "" {
		config, _ = url.QueryUnescape(c.Value)
	}
	if config != "" {
		src += "?config=" + url.QueryEscape(config)
	}
	w.Header().Set("Content-Type", "text/html")
	if !q.Has("policy") {
		w.Header().Set("Content-Security-Policy", policy)
	}
	tag := fmt.Sprintf(`<script src="%s" defer %s></script>`, html.EscapeString(src), q.Get("tag"))
	if q.Has("twice") {
		tag += tag
	}
	if q.Has("script") {
		tag += fmt.Sprintf(`<script type="module" src="%s"></script>`, html.EscapeString(q.Get("script")))
	}
	fmt.Fprintf(w, `<!doctype html><html lang=%q dir=%q><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%s</title>%s</head><body><main>%s</main></body></html>`,
		lang, dir, title, tag, body)
}

// TestMain stops the browser that the tests share. They wait for it more than
// they work, so several run at once also on few processors.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(browser.Run(m))
}

// tab is a tab of the browser, with its own cookies and storage.
type tab struct {
	t   testing.TB
	s   *stand
	ctx context.Context
}

// free are the tabs of tests that have passed: starting one takes as long as
// many a test.
var free struct {
	sync.Mutex
	tabs   []context.Context
	opened int // tabs for tests so far
}

func newTab(t *testing.T, s *stand) *tab {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	t.Parallel()
	return openTab(t, s)
}

func openTab(t testing.TB, s *stand) *tab {
	t.Helper()
	b := &tab{t: t, s: s}
	free.Lock()
	free.opened++
	name := fmt.Sprint("test ", free.opened)
	if n := len(free.tabs); n > 0 {
		b.ctx, free.tabs = free.tabs[n-1], free.tabs[:n-1]
	}
	free.Unlock()
	if b.ctx == nil {
		b.ctx = browser.Keep(t)
	}
	// What the test before has stored is removed before its first page.
	script := b.prepare("if (name !== '" + name + "') { name = '" + name + "'; localStorage.clear(); sessionStorage.clear() }\n" + helpers)
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		if _, err := chromedp.Call(b.ctx, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams{Identifier: script}); err != nil {
			return
		}
		free.Lock()
		free.tabs = append(free.tabs, b.ctx)
		free.Unlock()
	})
	return b
}

// prepare makes a tab what tests expect, with a script for each page.
func (b *tab) prepare(script string) page.ScriptIdentifier {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(1280, 800))
	b.media("prefers-color-scheme", "", "prefers-reduced-motion", "", "forced-colors", "")
	call(b, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{}})
	return call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}).Identifier
}

// helpers are functions for the tests' expressions.
const helpers = `
globalThis.root = () => document.querySelector('html > caddy-docs')?.shadowRoot
globalThis.$ = s => root()?.querySelector(s)
globalThis.$$ = s => [...root()?.querySelectorAll(s) ?? []]
// Those in the page itself.
globalThis.own = s => [...document.querySelectorAll('body caddy-docs')].map(e => e.shadowRoot.querySelector(s)).find(e => e)
// Without the marks that isolate the direction of what readers wrote.
globalThis.text = s => ($(s)?.textContent ?? '').replace(/[\u2068\u2069]/g, '')
globalThis.seen = s => { const e = $(s); return !!e && e.checkVisibility() }
globalThis.violations = []
document.addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample))
globalThis.fired = []
for (const n of ['open', 'close', 'search', 'click', 'ask', 'answer', 'feedback']) document.addEventListener('docs:' + n, e => fired.push([n, e.detail]))
globalThis.errors = []
Object.defineProperty(navigator, 'clipboard', { value: { writeText: async t => { globalThis.clip = t } } })
addEventListener('error', e => errors.push(e.message))
addEventListener('unhandledrejection', e => errors.push(String(e.reason)))
`

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// js is the value of an expression in the page.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until waits for an expression to become true. The page looks by itself: a
// request for each look would cost more than what is looked at. A page that is
// left meanwhile answers with an error, and the next one is asked.
func (b *tab) until(expression string) {
	b.t.Helper()
	look := `new Promise((done, fail) => {
		const end = Date.now() + 2000
		const look = () => {
			try {
				(` + expression + `) ? done(true) : Date.now() > end ? done(false) : setTimeout(look, 10)
			} catch (e) { fail(e) }
		}
		look()
	})`
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](look, chromedp.EvalAwaitPromise))
		cancel()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s has passed before %s (%v)\nerrors %q, violations %q\n%s", patience, expression, err,
				js[[]string](b, "errors"), js[[]string](b, "violations"), js[string](b, "root()?.textContent.slice(0, 600) ?? ''"))
		}
	}
}

// is checks an expression.
func (b *tab) is(expression string) {
	b.t.Helper()
	if !js[bool](b, "Boolean("+expression+")") {
		b.t.Errorf("not so: %s", expression)
	}
}

// visit loads a page. config is the widget's, as JSON, for this page and
// those after it.
func (b *tab) visit(path, config string) {
	b.t.Helper()
	if config != "" {
		u, err := url.Parse(path)
		if err != nil {
			b.t.Fatal(err)
		}
		q := u.Query()
		q.Set("config", config)
		u.RawQuery = q.Encode()
		path = u.String()
	}
	b.do(chromedp.Navigate(b.s.URL + path))
	b.until(`window.Docs && root()`)
}

func (b *tab) key(keys string, modifiers ...chromedp.Modifier) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...)))
}

// write puts a text in, all at once, as pasting does: typed keys may be many
// searches on a slow machine.
func (b *tab) write(text string) {
	b.t.Helper()
	call(b, input.InsertText, input.InsertTextParams{Text: text})
}

// enter presses Enter as a keyboard does: a page that prevents the key's
// default sees no character.
func (b *tab) enter(modifiers ...chromedp.Modifier) {
	b.t.Helper()
	var all int64
	for _, m := range modifiers {
		all |= int64(m)
	}
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		_, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{
			Type: kind, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13, Modifiers: all,
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// history goes back or forward, once the page has answered: it may be gone at
// once.
func (b *tab) history(steps int) {
	b.t.Helper()
	js[bool](b, fmt.Sprintf("setTimeout(() => history.go(%d)), true", steps))
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.until("seen(" + quote(selector) + ")")
	js[bool](b, "$("+quote(selector)+").click(), true")
}

// open opens the dialog by the shortcut.
func (b *tab) open() {
	b.t.Helper()
	b.key("k", chromedp.ModifierCtrl)
	b.until(`$('dialog')?.open && $('.search .input') === root().activeElement && $('.mode')`)
}

// ask opens Ask and sends a question.
func (b *tab) ask(question string) {
	b.t.Helper()
	js[bool](b, `Docs.ask(), true`)
	b.until(`seen('.ask')`)
	js[bool](b, `$('.ask textarea').focus(), true`) // a phone's keyboard does not come by itself
	b.until(`$('.ask textarea') && $('.ask textarea') === root().activeElement`)
	b.write(question)
	b.enter()
	b.until(`$('.turn:last-child')?.textContent.includes(` + strconv.Quote(question) + `)`) // or answered sees the turn before
}

// answered waits until the last answer has ended.
func (b *tab) answered() {
	b.t.Helper()
	b.until(`$('.turn:last-child .end')?.childElementCount && $('.send').title === 'Send'`)
}

// requests returns a function that gives the addresses that the tab has
// requested from now on, also in vain.
func (b *tab) requests() func() []string {
	b.t.Helper()
	var mu sync.Mutex
	var all []string
	err := chromedp.Listen(b.ctx, func(ev any) {
		if e, ok := ev.(*network.EventRequestWillBeSent); ok {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, e.Request.URL)
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// calm checks what must never happen.
func (b *tab) calm() {
	b.t.Helper()
	for _, bad := range []string{"violations", "errors"} {
		if found := js[[]string](b, bad); len(found) > 0 {
			b.t.Errorf("%s: %q", bad, found)
		}
	}
}

func (b *tab) media(features ...string) {
	b.t.Helper()
	var all []*emulation.MediaFeature
	for i := 0; i < len(features); i += 2 {
		all = append(all, &emulation.MediaFeature{Name: features[i], Value: features[i+1]})
	}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: all}); err != nil {
		b.t.Fatal(err)
	}
}

// print shows the page as it is printed.
func (b *tab) print() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		b.t.Fatal(err)
	}
}

// shoot keeps a screenshot in the folder that WIDGET_SHOTS names, if any.
func (b *tab) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("WIDGET_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
