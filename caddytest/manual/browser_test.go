package manual

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/browser"

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
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// box is the widget's root.
const box = `document.querySelector('caddy-docs').shadowRoot`

func TestTheManualsWidgetFindsPagesInABrowser(t *testing.T) {
	ctx := browser.Tab(t)
	s := startManual(t)
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

func TestTheManualsWidgetAnswersInABrowser(t *testing.T) {
	ctx := browser.Tab(t)
	s := startManual(t)
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
func TestTheManualOnAPhoneBeginsWithTheText(t *testing.T) {
	ctx := browser.Tab(t)
	s := startManual(t)
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
