package manual

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/browser"
	"github.com/caddy-docs/caddy-docs/caddytest/npm"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestMain ends the browser that the tests share.
func TestMain(m *testing.M) { os.Exit(browser.Run(m)) }

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
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// box is the widget's root.
const box = `document.querySelector('caddy-docs').shadowRoot`

func theManualsWidgetFindsPagesInABrowser(t *testing.T, s *caddytest.Server) {
	ctx := browser.Tab(t)
	do(ctx, t, chromedp.Navigate(s.Base+"/"), chromedp.Click("#ui-search"))
	caddytest.Until(t, "the box is open", func() bool {
		return js[bool](ctx, t, `Boolean(`+box+`.querySelector('dialog')?.open && `+box+`.activeElement === `+box+`.querySelector('.search .input'))`)
	})
	do(ctx, t, chromedp.KeyEvent("rate limit"))
	caddytest.Until(t, "results are shown", func() bool { return js[int](ctx, t, box+`.querySelectorAll('.result').length`) > 2 })
	v := &visitor{s, map[string]string{}}
	for _, link := range js[[]string](ctx, t, `[...`+box+`.querySelectorAll('.result')].map(a => a.href)`) {
		address, ok := strings.CutPrefix(link, s.Base)
		if !ok {
			t.Errorf("%s leads elsewhere", link)
		}
		v.visit(t, "the widget", address)
	}
}

func theManualsWidgetAnswersInABrowser(t *testing.T, s *caddytest.Server) {
	ctx := browser.Tab(t)
	do(ctx, t, chromedp.Navigate(s.Base+"/keys?ask=How+do+I+create+a+key%3F"))
	caddytest.Until(t, "the question is filled in", func() bool {
		return js[bool](ctx, t, `document.querySelector('caddy-docs')?.shadowRoot.querySelector('.ask .input')?.value === 'How do I create a key?'`)
	})
	if js[int](ctx, t, box+`.querySelectorAll('.turn').length`) != 0 {
		t.Error("the link sends its question")
	}
	do(ctx, t, chromedp.KeyEvent("\r"))
	caddytest.Until(t, "the answer has come", func() bool {
		return js[bool](ctx, t, box+`.querySelector('.sources') !== null`)
	})
	answer := js[string](ctx, t, box+`.querySelector('.answer').textContent`)
	if !strings.Contains(answer, "caddy docs key create") || strings.Contains(answer, "](") || strings.Contains(answer, "**") || strings.Contains(answer, "```") {
		t.Errorf("the answer is %q", answer)
	}
	links := js[[]string](ctx, t, `[...`+box+`.querySelectorAll('.answer a, .sources a')].map(a => a.href)`)
	if len(links) < 3 {
		t.Errorf("links %v", links)
	}
	v := &visitor{s, map[string]string{}}
	for _, link := range links {
		v.visit(t, "the widget", strings.TrimPrefix(link, s.Base))
	}
}

// On a phone a page begins with its text. The menu opens and closes by keyboard
// and has all pages.
func theManualOnAPhoneBeginsWithTheText(t *testing.T, s *caddytest.Server) {
	ctx := browser.Tab(t)
	const (
		open = `document.querySelector('nav').matches(':popover-open')`
		seen = `document.querySelector('nav').checkVisibility()`
	)
	do(ctx, t, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.Base+"/install"))
	if !js[bool](ctx, t, seen) || js[bool](ctx, t, `document.querySelector('.menu').checkVisibility()`) {
		t.Error("on a wide screen the pages are not beside the text, or there is a button for them")
	}
	do(ctx, t, chromedp.EmulateViewport(390, 844))
	if js[bool](ctx, t, seen) || js[float64](ctx, t, `document.querySelector('h1').getBoundingClientRect().top`) > 200 {
		t.Error("on a phone the text does not come first")
	}
	do(ctx, t, chromedp.KeyEvent("\t"), chromedp.KeyEvent("\r"))
	if !js[bool](ctx, t, open) {
		t.Fatal("the first Tab and Enter don't open the menu")
	}
	if wide := js[string](ctx, t, `[...document.querySelectorAll('nav a')].filter(a => a.getBoundingClientRect().right > 390).map(a => a.textContent).join()`); wide != "" {
		t.Errorf("out of sight: %s", wide)
	}
	do(ctx, t, chromedp.KeyEvent("\x1b"))
	if js[bool](ctx, t, open) {
		t.Error("Escape doesn't close the menu")
	}
}

// The front page's own field opens the box with results, and without the box it
// leads to the page of results.
func theFrontPageHasABoxToTry(t *testing.T, s *caddytest.Server) {
	ctx := browser.Tab(t)
	do(ctx, t, chromedp.EmulateViewport(390, 844), chromedp.Navigate(s.Base+"/"), chromedp.Focus(".ui-try input"),
		chromedp.KeyEvent("How do I keep private pages private?\r"))
	caddytest.Until(t, "results are shown", func() bool {
		return js[int](ctx, t, `document.querySelector('caddy-docs')?.shadowRoot.querySelectorAll('.result').length ?? 0`) > 2
	})
	do(ctx, t, chromedp.Navigate(s.Base+"/"))
	// The click comes after the expression, whose page would be gone otherwise.
	js[any](ctx, t, `delete window.Docs; setTimeout(() => document.querySelector('a.ui-find').click())`)
	caddytest.Until(t, "the page of results is there", func() bool {
		there, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`location.pathname === '/v1/ask/manual' && document.querySelectorAll('main ol li').length > 2`))
		return err == nil && there // it fails while the page changes
	})
}

// Each page names its sections and its neighbors, its code is marked by kind and
// can be copied, and nothing is wider than a phone.
func theManualLeadsFromPageToPage(t *testing.T, s *caddytest.Server) {
	ctx := browser.Tab(t)
	for width, page := range map[int64]string{1280: "/install", 390: "/commands"} {
		do(ctx, t, chromedp.EmulateViewport(width, 800), chromedp.Navigate(s.Base+page))
		if over := js[int](ctx, t, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%s at %d is %d too wide", page, width, over)
		}
		if js[bool](ctx, t, `document.querySelector('.ui-toc').checkVisibility()`) != (width > 1000) {
			t.Errorf("%s at %d: the table of contents is there or not", page, width)
		}
		if n := js[int](ctx, t, `[...document.querySelectorAll('pre, table')].filter(e => e.scrollWidth > e.clientWidth && e.tabIndex < 0).length`); n > 0 {
			t.Errorf("%s at %d: %d parts scroll, but not with the keyboard", page, width, n)
		}
	}
	do(ctx, t, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.Base+"/commands"))
	if dead := js[string](ctx, t, `[...document.querySelectorAll('.ui-toc a')].filter(a => !document.getElementById(a.hash.slice(1))).map(a => a.hash).join()`); dead != "" || js[int](ctx, t, `document.querySelectorAll('.ui-toc a').length`) < 10 {
		t.Errorf("the table of contents leads to %q", dead)
	}
	js[any](ctx, t, `navigator.clipboard.writeText = async text => { window.copied = text }; [...document.querySelectorAll('.code')].find(c => c.textContent.includes('$ caddy docs status')).querySelector('button').click()`)
	if copied := js[string](ctx, t, `window.copied`); !strings.HasPrefix(copied, "caddy docs status") || strings.Contains(copied, "\n") {
		t.Errorf("copied is %q, not the command alone", copied)
	}
	do(ctx, t, chromedp.Navigate(s.Base+"/caddyfile"))
	const plain, word = `getComputedStyle(document.querySelector('pre')).color`, `getComputedStyle(document.querySelector('pre .k')).color`
	if js[string](ctx, t, plain) == js[string](ctx, t, word) {
		t.Error("code has one color")
	}
	seen := map[string]bool{}
	for at := "/"; !seen[at]; at = js[string](ctx, t, `document.querySelector('[rel=next]')?.pathname ?? '/'`) {
		seen[at] = true
		do(ctx, t, chromedp.Navigate(s.Base+at))
		if here := js[string](ctx, t, `document.querySelector('#ui-pages [aria-current]').pathname`); here != at {
			t.Fatalf("the menu says %s on %s", here, at)
		}
	}
	if pages := len(manualPages(t)); len(seen) != pages {
		t.Errorf("the next pages are %d of %d", len(seen), pages)
	}
}

// axe finds nothing on the kinds of pages that the manual has.
func theManualIsAccessible(t *testing.T, s *caddytest.Server) {
	ctx := browser.Tab(t)
	const tests = "../widget"
	if err := npm.Install(ctx, tests); err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(tests + "/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			do(ctx, t, chromedp.EmulateViewport(width, 800))
			media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
			if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
				t.Fatal(err)
			}
			for _, page := range []string{"/", "/caddyfile", "/compare", "/keyz", "/v1/ask/manual?q=private+pages"} {
				do(ctx, t, chromedp.Navigate(s.Base+page))
				found := js[[]string](ctx, t, string(axe)+`
					axe.run({ resultTypes: ['violations'] }).then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ' ' + n.target + ' ' + n.failureSummary)))`)
				for _, f := range found {
					t.Errorf("%s, %d, %s: %s", page, width, scheme, f)
				}
				if dir := os.Getenv("MANUAL_SHOTS"); dir != "" {
					png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
					if err != nil {
						t.Fatal(err)
					}
					name := fmt.Sprintf("%s-%d-%s.png", strings.Map(func(r rune) rune { return map[bool]rune{true: '_', false: r}[r == '/' || r == '?'] }, page), width, scheme)
					if err := os.WriteFile(dir+"/"+name, png, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}
