// Package dashboard tests the dashboard in a real browser, in front of a real
// Caddy, with and without JavaScript, and what a running Caddy records for it.
package dashboard

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"golang.org/x/crypto/bcrypt"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/browser"
	"github.com/caddy-docs/caddy-docs/caddytest/npm"
)

// patience is for machines that are much slower than the developer's.
const patience = time.Minute

// pages are the documentation of both organizations.
var pages = map[string]string{
	"index.html":   "<!doctype html><html lang=en><title>Acme</title><main><h1>Acme</h1><p>It runs rockets from a configuration file.</p></main>",
	"install.html": "<!doctype html><html lang=en><title>Install Acme</title><main><h1>Install Acme</h1><p>Download the archive and unpack it.</p><h2 id=linux>On Linux</h2><p>Run the installer with administrator rights.</p></main>",
	"config.html":  "<!doctype html><html lang=en><title>Configure</title><main><h1>Configure</h1><p>The file acme.toml holds the settings.</p><h2 id=thrust>Thrust limits</h2><p>Set max_thrust to the newtons that your rocket may use.</p></main>",
}

// hostile are texts that visitors and writers can put anywhere.
var hostile = map[string]string{
	"a script":    `<script>bad.push("script")</script><img src=x onerror=bad.push("img")>`,
	"a template":  `{{"x"}} ${7*7} javascript:bad.push(1)`,
	"a formula":   `=HYPERLINK("http://evil.example","x")`,
	"bidi":        "safe \u202egnp.exe\u2066 \u202d end",
	"a long word": strings.Repeat("x", 100_000),
	"RTL":         "كيف أثبت البرنامج؟ שלום",
}

// password is that of every user.
const password = "pw"

// start runs a Caddy with two organizations, what readers did there, and the
// dashboard behind basic_auth with a user of each role.
func start(t *testing.T, options string) *caddytest.Server {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	var users strings.Builder
	for _, name := range []string{"ada", "mia", "vic", "rob"} {
		users.WriteString("\t\t" + name + " " + string(hash) + "\n")
	}
	folder := caddytest.Folder(t, pages)
	for name, text := range hostile {
		title := html.EscapeString(text)
		caddytest.Write(t, folder, map[string]string{"hostile " + name + ".html": "<!doctype html><html lang=en><title>" + title + "</title><main><h1>" + title + "</h1><p>A hostile page: " + title + "</p></main>"})
	}
	s := caddytest.Start(t, `
		site acme-docs {
			root `+folder+`
			organization acme
			name "Acme Docs"
			locks off
		}
		site rival-docs {
			root `+folder+`
			organization rival
			locks off
		}
		key `+caddytest.Key+` {
			organization acme
			name "the fixed key"
		}
		`+options, `http://:0 {
	search
	assistant
	docs_widget
	@closed not path /open/* /v1/* /v2/*
	basic_auth @closed {
`+users.String()+`	}
	handle_path /open/* {
		docs_dashboard
	}
	docs_dashboard @closed {
		admin ada
		member acme mia
		viewer acme vic
		member rival rob
	}
}
`)
	caddytest.Until(t, "both sites are ready", func() bool { return strings.Count(s.Log(), "the site is ready") >= 2 })
	readers(t, s)
	return s
}

// TestMain stops the browser that the tests share.
func TestMain(m *testing.M) {
	caddytest.RunProcess()
	os.Exit(browser.Run(m))
}

// hostileText is all hostile texts but the long word.
func hostileText() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(hostile)) {
		if name != "a long word" {
			all = append(all, hostile[name])
		}
	}
	return strings.Join(all, " ")
}

// tab is a tab of the browser.
type tab struct {
	t       *testing.T
	ctx     context.Context
	base    string
	scripts bool // of the pages
}

// idle are the tabs that no test has.
var idle struct {
	sync.Mutex
	tabs []*tab
}

// newTab returns a tab for a user, which another test may have used before: a
// new one takes a second. Without a user, "", the tab is new and has its own
// cookies.
func newTab(t *testing.T, s *caddytest.Server, user string) *tab {
	t.Helper()
	var b *tab
	if user != "" {
		b = takeTab()
	}
	if b == nil {
		b = &tab{ctx: browser.Keep(t)}
		if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: helpers}); err != nil {
			t.Fatal(err)
		}
	}
	b.t, b.base = t, s.Base
	if user != "" {
		login := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
		if _, err := chromedp.Call(b.ctx, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": login}}); err != nil {
			t.Fatal(err)
		}
	}
	b.size(1280, 900)
	b.colors("light")
	b.allowScripts(true)
	t.Cleanup(func() {
		if user != "" && !t.Failed() {
			idle.Lock()
			defer idle.Unlock()
			idle.tabs = append(idle.tabs, b)
		}
	})
	return b
}

// takeTab returns an idle tab, nil for none.
func takeTab() *tab {
	idle.Lock()
	defer idle.Unlock()
	n := len(idle.tabs) - 1
	if n < 0 {
		return nil
	}
	b := idle.tabs[n]
	idle.tabs = idle.tabs[:n]
	return b
}

// helpers are what the tests' expressions use.
const helpers = `
globalThis.$ = s => document.querySelector(s)
globalThis.$$ = s => [...document.querySelectorAll(s)]
globalThis.text = s => $(s)?.textContent.trim() ?? ''
globalThis.bad = []
document.addEventListener('securitypolicyviolation', e => bad.push(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample))
addEventListener('error', e => bad.push(e.message))
addEventListener('unhandledrejection', e => bad.push(String(e.reason)))
`

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// js is the value of an expression in the page.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until waits for an expression to become true, also over a navigation.
func (b *tab) until(expression string) {
	b.t.Helper()
	pause := 5 * time.Millisecond
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		pause = min(2*pause, 100*time.Millisecond)
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")", chromedp.EvalAwaitPromise))
		cancel()
		if ok && err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s has passed before %s (%v)\n%s", patience, expression, err, js[string](b, "document.body?.innerText.slice(0, 2000) ?? ''"))
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

func (b *tab) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + path))
}

func (b *tab) size(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

// dark and light switch the colors.
func (b *tab) colors(scheme string) {
	b.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		b.t.Fatal(err)
	}
}

// allowScripts turns JavaScript of pages on and off. Expressions work without
// it.
func (b *tab) allowScripts(allow bool) {
	b.t.Helper()
	b.scripts = allow
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !allow}); err != nil {
		b.t.Fatal(err)
	}
}

// forms are those that pages have, by what they are, and how they were sent:
// with and without scripts.
var forms = struct {
	sync.Mutex
	sent map[string]map[bool]bool
}{sent: make(map[string]map[bool]bool)}

// formName is what a form is: its method, its path without IDs, and its fields.
// That for the period is the same on each page.
const formName = `(f => f.matches('.dates form') ? 'dates' : [f.method, new URL(f.action).pathname.replace(/^.*?\/(acme|-)\//, '').replace(/thr_\w+|(?<=(feedback|keys)\/)[\w-]+/, '{id}'),
	...new Set([...f.elements].map(e => e.name).filter(n => n && n !== 'list'))].join(' '))`

// send sends the form of a button, an expression, and notes that it was sent.
func (b *tab) send(button string) {
	b.t.Helper()
	name := js[string](b, `(button => { const name = `+formName+`(button.form); globalThis.left = true; button.click(); return name })(`+button+`)`)
	forms.Lock()
	defer forms.Unlock()
	if forms.sent[name] == nil {
		forms.sent[name] = make(map[bool]bool)
	}
	forms.sent[name][b.scripts] = true
}

// arrived waits for the page that a form leads to.
func (b *tab) arrived() {
	b.t.Helper()
	b.until(`!globalThis.left && document.readyState === 'complete'`)
}

// fill sends the form of a button, a selector, after typing texts into its
// fields, given as selectors and texts.
func (b *tab) fill(button string, fields ...string) {
	b.t.Helper()
	b.until(`document.readyState === 'complete' && $(` + quote(button) + `)`)
	for i := 0; i+1 < len(fields); i += 2 {
		js[string](b, `$(`+quote(fields[i])+`).value = `+quote(fields[i+1]))
	}
	b.send("$(" + quote(button) + ")")
}

// check looks at a page as every test does: no violation of its policy, no
// error, nothing that axe finds by all of its rules on a desktop and on a phone,
// light and dark, no scrolling to the side. Its forms must be sent by some test.
func (b *tab) check(name string) {
	b.t.Helper()
	if axe := axeSource(b.t); axe != "" {
		js[bool](b, axe+"\n;true")
	}
	for _, width := range []int64{1280, 390} {
		b.size(width, 900)
		for _, scheme := range []string{"dark", "light"} {
			b.colors(scheme)
			b.axe(fmt.Sprintf("%s, %d, %s", name, width, scheme))
			b.shoot(name, width, scheme)
		}
	}
	b.fits(name)
}

// axe reports what axe finds.
func (b *tab) axe(name string) {
	b.t.Helper()
	found := js[[]string](b, `(async () => {
		if (!('axe' in globalThis)) return []
		const r = await axe.run(document, { resultTypes: ['violations'] })
		return r.violations.flatMap(v => v.nodes.map(n => v.id + ' ' + n.target + ' ' + n.failureSummary))
	})()`)
	for _, f := range found {
		b.t.Errorf("%s: axe: %s", name, f)
	}
}

// fits is check without axe, for pages that differ from a checked one only in
// their texts.
func (b *tab) fits(name string) {
	b.t.Helper()
	for _, f := range js[[]string](b, `$$('form').map(`+formName+`)`) {
		forms.Lock()
		if forms.sent[f] == nil {
			forms.sent[f] = make(map[bool]bool)
		}
		forms.Unlock()
	}
	for _, width := range []int64{1280, 390} {
		b.size(width, 900)
		if over := js[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			b.t.Errorf("%s is %v pixels too wide for %d", name, over, width)
		}
		if cut := js[[]string](b, `$$('.table').filter(t => t.scrollWidth > t.clientWidth + 1).map(t => t.ariaLabel)`); len(cut) > 0 {
			b.t.Errorf("%s: the tables %q are cut off at %d", name, cut, width)
		}
	}
	b.size(1280, 900)
	if bad := js[[]string](b, "bad"); len(bad) > 0 {
		b.t.Errorf("%s: %q", name, bad)
	}
}

var axe struct {
	once   sync.Once
	source string
}

// axeSource is axe-core of the widget's tests, "" where npm can't install it.
func axeSource(t *testing.T) string {
	t.Helper()
	axe.once.Do(func() {
		const dir = "../widget"
		err := npm.Install(context.Background(), dir)
		if err == nil {
			var data []byte
			data, err = os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
			axe.source = string(data)
		}
		if err != nil {
			t.Errorf("axe-core: %v", err)
		}
	})
	return axe.source
}

// shoot keeps a picture of the whole page in the folder that DASHBOARD_SHOTS
// names, if any.
func (b *tab) shoot(name string, width int64, scheme string) {
	b.t.Helper()
	dir := os.Getenv("DASHBOARD_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// get asks for a page with a client, and a name and password if there is a
// name.
func get(t *testing.T, c *http.Client, address, user string, header ...string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
