package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

// box is a search box, on a page alone.
type box struct {
	name string
	// head is its part of the page; open clicks the button that opens it;
	// field and result are JavaScript expressions: the text field, once it has
	// the focus, and the first result.
	head, open, field, result string
}

const docsearch = `<link rel="stylesheet" href="/docsearch/style.css"><script src="/docsearch/%s"></script><script>
addEventListener('DOMContentLoaded', () => docsearch({ container: '#box', appId: 'A', apiKey: 'k', indexName: 'docs', indices: ['docs'], %s
	transformSearchClient: c => ({ ...c, search: () => fetch('/algolia.json').then(r => r.json()) }) }))</script>`

// boxes are measured in turns. DocSearch needs Algolia's service: its client is
// one that fetches a recorded reply from this machine, so its times are without
// a search.
var boxes = []box{
	{
		"this project", `<script src="/v1/widget/bench.js" defer></script>`,
		`document.querySelector('caddy-docs').shadowRoot.querySelector('.button').click()`,
		`document.querySelector('caddy-docs').shadowRoot.activeElement`,
		`document.querySelector('caddy-docs').shadowRoot.querySelector('.result')`,
	},
	{
		"DocSearch 5.2.0, keyword", fmt.Sprintf(docsearch, "docsearch.js", ""),
		`document.querySelector('.DocSearch-Button').click()`, `document.querySelector('.DocSearch-Input:focus')`, `document.querySelector('.DocSearch-Hit a')`,
	},
	{
		"DocSearch 5.2.0, with Ask AI", fmt.Sprintf(docsearch, "index.js", "askAi: 'A',"),
		`document.querySelector('.DocSearch-Button').click()`, `document.querySelector('.DocSearch-Input:focus')`, `document.querySelector('.DocSearch-Hit a')`,
	},
	{
		"Pagefind 1.6.0, Component UI", `<link rel="stylesheet" href="/pagefind/pagefind-component-ui.css"><script type="module" src="/pagefind/pagefind-component-ui.js"></script>`,
		`document.querySelector('pagefind-modal-trigger button').click()`, `document.querySelector('.pf-input:focus')`, `document.querySelector('.pf-result-link')`,
	},
}

// recorded is a reply of Algolia's, with eight hits.
var recorded = func() []byte {
	var hits []string
	for i := range 8 {
		hits = append(hits, fmt.Sprintf(`{"objectID":"%[1]d","type":"lvl2","url":"/install.html#s%[1]d","anchor":"s%[1]d","content":null,"hierarchy":{"lvl0":"Docs","lvl1":"Install","lvl2":"Section %[1]d","lvl3":null,"lvl4":null,"lvl5":null,"lvl6":null},"_highlightResult":{"hierarchy":{"lvl0":{"value":"Docs"},"lvl1":{"value":"<mark>Install</mark>"},"lvl2":{"value":"Section %[1]d"}}},"_snippetResult":{}}`, i))
	}
	return []byte(`{"results":[{"hits":[` + strings.Join(hits, ",") + `],"nbHits":8,"page":0,"nbPages":1,"hitsPerPage":20,"processingTimeMS":1,"query":"install","params":"","index":"docs","queryID":"q"}]}`)
}()

// boxServer serves the pages and what they load, gzipped, and counts it.
type boxServer struct {
	files string // the site, with pagefind and docsearch in it
	api   http.Handler

	mu         sync.Mutex
	code, data int // bytes after gzip -9
}

func (s *boxServer) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code, s.data = 0, 0
}

func (s *boxServer) loaded() (code, data float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return float64(s.code) / 1e3, float64(s.data) / 1e3
}

// count adds what a page has loaded.
func (s *boxServer) count(name string, body []byte) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(body)
	_ = z.Close() // writes to memory don't fail
	s.mu.Lock()
	defer s.mu.Unlock()
	switch ext := path.Ext(name); {
	case ext == ".js" || ext == ".css" || strings.HasPrefix(path.Base(name), "wasm."):
		s.code += b.Len()
	default:
		s.data += b.Len()
	}
}

// counted is a response that is counted when it has been written.
type counted struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (c *counted) Write(p []byte) (int, error) {
	c.body.Write(p)
	return c.ResponseWriter.Write(p)
}

func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (s *boxServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for i, b := range boxes {
		if r.URL.Path == fmt.Sprintf("/box%d", i) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Box</title>%s</head><body><div id="box"></div><pagefind-modal-trigger></pagefind-modal-trigger><pagefind-modal></pagefind-modal></body></html>`, b.head)
			return
		}
	}
	if r.URL.Path == "/favicon.ico" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	c := &counted{ResponseWriter: w}
	switch {
	case strings.HasPrefix(r.URL.Path, "/v"):
		r.Header.Del("Accept-Encoding")
		s.api.ServeHTTP(c, r)
	case r.URL.Path == "/algolia.json":
		w.Header().Set("Content-Type", "application/json")
		_, _ = c.Write(recorded)
	default:
		http.ServeFileFS(c, r, os.DirFS(s.files), strings.TrimPrefix(path.Clean(r.URL.Path), "/"))
	}
	s.count(r.URL.Path, c.body.Bytes())
}

// benchWidget compares the widget with DocSearch and Pagefind's Component UI,
// in Chromium, over the manual.
func benchWidget(ctx context.Context, b *bench) error {
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if file, err := exec.LookPath(name); err == nil {
			chromium = file
			break
		}
	}
	if chromium == "" || !b.peers(ctx) {
		fmt.Fprintln(os.Stderr, "bench: widget needs Chromium, Node and npm")
		return nil
	}
	site := filepath.Join(b.dir, "site")
	if err := b.manualAsHTML(ctx, site); err != nil {
		return err
	}
	caddy, err := b.startCaddy(ctx, fmt.Sprintf("\tdocs {\n\t\tkey %s\n\t}", benchKey), fmt.Sprintf("\troot * %q\n\tdocs bench\n", site), "")
	if err != nil {
		return err
	}
	defer caddy.end()
	if err := caddy.ready(ctx); err != nil {
		return err
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: caddy.addr})
	proxy.FlushInterval = -1
	files := &boxServer{files: site, api: proxy}
	server := httptest.NewServer(files)
	defer server.Close()

	ctx, cancel := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.UserDataDir(filepath.Join(b.dir, "chromium")),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		return fmt.Errorf("starting Chromium: %w", err)
	}
	figures := make([]series, len(boxes))
	for i := range figures {
		figures[i] = series{}
	}
	words := series{}
	for range b.rounds {
		for i, box := range boxes {
			if err := measureBox(ctx, server.URL+fmt.Sprintf("/box%d", i), box, files, figures[i].add); err != nil {
				return fmt.Errorf("%s: %w", box.name, err)
			}
		}
		if err := measureAnswer(ctx, server.URL+"/box0", words.add); err != nil {
			return err
		}
	}
	var rows [][]string
	for i, box := range boxes {
		f, own := figures[i], figures[0]
		ratio := func(name string) string {
			return fmt.Sprintf("%s (%s)", number(f.median(name)), number(f.median(name)/own.median(name)))
		}
		rows = append(rows, []string{box.name, ratio("before"), ratio("code"), ratio("data"), ratio("result"), ratio("script"), ratio("tasks")})
	}
	table("The widget and others on a page, over the manual: median (ratio to this project)",
		[]string{"box", "scripts and styles before the first use, kB gzip", "at the first result, kB gzip", "index, token and replies, kB gzip", "first result after the query, ms", "script until then, ms", "main thread until then, ms"}, rows)
	fmt.Printf("\nFirst words of an extractive answer in the widget after Enter: %s ms. DocSearch's replies are recorded: its times have no search.\n", number(words.median("words")))
	return nil
}

// manualAsHTML writes the manual as HTML, with the files of the other boxes.
func (b *bench) manualAsHTML(ctx context.Context, site string) error {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		return err
	}
	if len(pages) == 0 {
		return errors.New("run it in the folder bench of the project: ../docs has no pages")
	}
	if err := os.MkdirAll(filepath.Join(site, "docsearch"), 0o755); err != nil {
		return err
	}
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	for _, page := range pages {
		source, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		_, text, _ := strings.Cut(strings.TrimPrefix(string(source), "---\n"), "\n---\n")
		var body bytes.Buffer
		if err := markdown.Convert([]byte(text), &body); err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		content := fmt.Sprintf("<!doctype html><html lang=\"en\"><head><title>%s</title></head><body><main>%s</main></body></html>", name, body.String())
		if err := os.WriteFile(filepath.Join(site, name+".html"), []byte(content), 0o600); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "npx", "pagefind", "--site", site)
	cmd.Dir = b.node
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pagefind: %w\n%s", err, out)
	}
	for name, from := range map[string]string{"index.js": "js/dist/umd/index.js", "docsearch.js": "js/dist/umd/docsearch.js", "style.css": "css/dist/style.css"} {
		content, err := os.ReadFile(filepath.Join(b.node, "node_modules", "@docsearch", from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(site, "docsearch", name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// openPage opens a page in a tab with an empty cache, and opens its box.
func openPage(ctx context.Context, address string, b box, loaded func()) (context.Context, func(), error) {
	ctx, cancel := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	end := func() { stop(); cancel() }
	button, _, _ := strings.Cut(b.open, ".click")
	if err := chromedp.Do(ctx); err != nil {
		return ctx, end, err
	}
	if _, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		return ctx, end, err
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
		return ctx, end, err
	}
	if err := becomes(ctx, button); err != nil {
		return ctx, end, err
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`new Promise(done => requestIdleCallback(() => setTimeout(() => done(true), 300)))`, chromedp.EvalAwaitPromise)); err != nil {
		return ctx, end, err
	}
	loaded()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](b.open+", true")); err != nil {
		return ctx, end, err
	}
	return ctx, end, becomes(ctx, b.field)
}

// becomes waits until an expression is true.
func becomes(ctx context.Context, expression string) error {
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(() => { try { return Boolean(`+expression+`) } catch { return false } })()`))
		if ok || err != nil {
			return err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// measureBox opens a box, searches, and adds what it cost.
func measureBox(ctx context.Context, address string, b box, files *boxServer, add func(string, float64)) error {
	files.reset()
	ctx, end, err := openPage(ctx, address, b, func() {
		before, _ := files.loaded()
		add("before", before)
	})
	defer end()
	if err != nil {
		return err
	}
	watch := `addEventListener('input', () => {
		globalThis.began ??= performance.now()
		const look = () => { if (` + b.result + `?.checkVisibility()) globalThis.took ??= performance.now() - began; else requestAnimationFrame(look) }
		look()
	}, { capture: true, once: true }), true`
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](watch)); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: "install"}); err != nil {
		return err
	}
	if err := becomes(ctx, "globalThis.took"); err != nil {
		return err
	}
	took, err := chromedp.Run(ctx, chromedp.Evaluate[float64]("took"))
	if err != nil {
		return err
	}
	add("result", took)
	metrics, err := chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		return err
	}
	for _, m := range metrics.Metrics {
		switch m.Name {
		case "ScriptDuration":
			add("script", 1e3*m.Value)
		case "TaskDuration":
			add("tasks", 1e3*m.Value)
		}
	}
	code, data := files.loaded()
	add("code", code)
	add("data", data)
	return nil
}

// measureAnswer asks in the widget, and adds the time to the first words.
func measureAnswer(ctx context.Context, address string, add func(string, float64)) error {
	b := boxes[0]
	ctx, end, err := openPage(ctx, address, b, func() {})
	defer end()
	if err != nil {
		return err
	}
	took, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`new Promise(done => {
		const root = document.querySelector('caddy-docs').shadowRoot
		Docs.ask('How do I install it?')
		setTimeout(() => {
			const began = performance.now()
			const look = () => { if (root.querySelector('.answer')?.textContent) done(performance.now() - began); else requestAnimationFrame(look) }
			root.querySelector('.send').click()
			look()
		}, 100)
	})`, chromedp.EvalAwaitPromise))
	if err != nil {
		return err
	}
	add("words", took)
	return nil
}
