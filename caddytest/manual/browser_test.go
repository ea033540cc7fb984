package manual

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browser opens a headless Chromium that reaches nothing but this machine.
// The test is skipped where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	binary := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			binary = path
			break
		}
	}
	if binary == "" {
		t.Skip("no Chromium is installed: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(binary), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost"),
	)
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); cancel() })
	return ctx
}

// do runs actions in the browser, or fails the test.
func do(ctx context.Context, t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// js is the value of an expression in the page.
func js[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

func TestTheManualsSearchBoxFindsPagesInABrowser(t *testing.T) {
	ctx := browser(t)
	s := startManual(t)
	do(ctx, t,
		chromedp.Navigate(s.Base+"/"),
		chromedp.SendKeys("#ui-search input", "rate limit"),
		chromedp.WaitVisible("#ui-hits a"),
	)
	links := js[[]string](ctx, t, `[...document.querySelectorAll('#ui-hits a')].map(a => a.href)`)
	do(ctx, t, chromedp.SendKeys("#ui-search input", kb.ArrowDown))
	selected := js[string](ctx, t, `document.activeElement.closest('#ui-hits') ? document.activeElement.href : ''`)
	if len(links) < 3 || selected != links[0] {
		t.Fatalf("found %v; the arrow key selected %q", links, selected)
	}
	do(ctx, t, chromedp.SendKeys("#ui-hits a", kb.Escape))
	if js[bool](ctx, t, `document.activeElement !== document.querySelector('#ui-search input') || !document.querySelector('#ui-hits').hidden`) {
		t.Error("Escape on a result does not close the list and return to the box")
	}
	v := &visitor{s, map[string]string{}}
	for _, link := range links {
		address, ok := strings.CutPrefix(link, s.Base)
		if !ok {
			t.Errorf("%s leads elsewhere", link)
		}
		v.visit(t, "the search box", address)
	}
}

func TestTheManualsAskBoxStreamsAnswersInABrowser(t *testing.T) {
	ctx := browser(t)
	s := startManual(t)
	do(ctx, t, chromedp.Navigate(s.Base+"/keys"))
	// What the page sends, to see the thread go on.
	js[bool](ctx, t, `window.bodies = []; { const own = window.fetch; window.fetch = (u, o) => { bodies.push(o.body); return own(u, o) } }; true`)
	do(ctx, t, chromedp.Click("#ui-open-ask"), chromedp.WaitVisible("#ui-question input"))
	for i, question := range []string{"How do I create a key?", "And how do I revoke it?"} {
		do(ctx, t, chromedp.SendKeys("#ui-question input", question+kb.Enter))
		caddytest.Until(t, "the answer has come", func() bool {
			return js[bool](ctx, t, fmt.Sprintf(`document.querySelectorAll('#ui-turns .answer .sources').length > %d && document.querySelector('#ui-question button').textContent === 'Send'`, i))
		})
	}
	answers := js[[]string](ctx, t, `[...document.querySelectorAll('#ui-turns .answer')].map(a => a.textContent)`)
	links := js[[]string](ctx, t, `[...document.querySelectorAll('#ui-turns .answer > div a')].map(a => a.href)`)
	sources := js[[]string](ctx, t, `[...document.querySelectorAll('#ui-turns .sources a')].map(a => a.href)`)
	prose := js[string](ctx, t, `[...document.querySelectorAll('#ui-turns .answer > div')].map(d => { d = d.cloneNode(true); d.querySelectorAll('pre, code').forEach(c => c.remove()); return d.textContent }).join()`)
	bodies := js[[]string](ctx, t, `bodies`)
	if len(answers) != 2 || !strings.Contains(answers[0], "caddy docs key create") || !strings.Contains(answers[1], "revoke") {
		t.Errorf("the answers are %q", answers)
	}
	if strings.Contains(prose, "](") || strings.Contains(prose, "**") || strings.Contains(prose, "```") {
		t.Errorf("Markdown is left in the answers:\n%s", prose)
	}
	if len(links) == 0 || len(sources) < 2 {
		t.Errorf("links %v, sources %v", links, sources)
	}
	v := &visitor{s, map[string]string{}}
	for _, link := range append(links, sources...) {
		v.visit(t, "the ask box", strings.TrimPrefix(link, s.Base))
	}
	if len(bodies) != 2 || strings.Contains(bodies[0], "threadId") || !strings.Contains(bodies[1], `"threadId":"thr_`) {
		t.Errorf("the thread is not carried on: %v", bodies)
	}
}

func TestTheManualsAskBoxShowsErrorsInABrowser(t *testing.T) {
	ctx := browser(t)
	s := startManual(t)
	do(ctx, t, chromedp.Navigate(s.Base+"/"))
	js[bool](ctx, t, `window.fetch = async () => new Response('{"error":"too many requests; try again in 7 seconds","code":"rate_limited"}', { status: 429 }); true`)
	do(ctx, t,
		chromedp.Click("#ui-open-ask"),
		chromedp.WaitVisible("#ui-question input"),
		chromedp.SendKeys("#ui-question input", "anything"+kb.Enter),
		chromedp.WaitVisible("#ui-turns .error"),
	)
	if shown := js[string](ctx, t, `document.querySelector('#ui-turns .error').textContent`); shown != "too many requests; try again in 7 seconds" {
		t.Errorf("shown is %q", shown)
	}
}

func TestTheManualsAskBoxReadsMarkdownAsCommonMarkDoes(t *testing.T) {
	ctx := browser(t)
	s := startManual(t)
	do(ctx, t, chromedp.Navigate(s.Base+"/"))
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // a parser that never ends
	t.Cleanup(cancel)
	for name, c := range map[string]struct{ markdown, html string }{
		"a line separator in a paragraph":          {"a\u2028b", "<p>a\u2028b</p>"},
		"a line separator in a heading":            {"# a\u2028b", "<h3>a\u2028b</h3>"},
		"a line separator in a list":               {"- a\u2028b", "<ul><li>a\u2028b</li></ul>"},
		"a line separator behind a fence":          {"```a\u2028b\nc\n```", "<pre><code>c</code></pre>"},
		"a closing fence with text is code":        {"```\na\n``` b\nc\n```\nd", "<pre><code>a\n``` b\nc</code></pre><p>d</p>"},
		"a longer fence closes":                    {"```\na\n`````\nb", "<pre><code>a</code></pre><p>b</p>"},
		"a shorter fence is code":                  {"````\n```\n````\nb", "<pre><code>```</code></pre><p>b</p>"},
		"tildes don't close backticks":             {"```\n~~~\n```\nb", "<pre><code>~~~</code></pre><p>b</p>"},
		"backticks behind backticks open no block": {"``` a`b\nc", "<p>``` a`b\nc</p>"},
		"a fence that is still open":               {"```go\na", "<pre><code>a</code></pre>"},
		"HTML is text":                             {"<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>"},
		"a link with another scheme is no link":    {"[a](javascript:b)", "<p><span>a</span></p>"},
	} {
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf(`import('/_site/markdown.js').then(m => { const d = document.createElement('div'); m.render(d, %q); return d.innerHTML })`, c.markdown),
			chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got != c.html {
			t.Errorf("%s: %q is shown as\n%s\nwant\n%s", name, c.markdown, got, c.html)
		}
	}
}
