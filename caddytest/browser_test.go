package caddytest

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
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

func TestTheManualsSearchBoxFindsPagesInABrowser(t *testing.T) {
	ctx := browser(t)
	s := startManual(t)
	var links []string
	var selected string
	err := chromedp.Run(ctx,
		chromedp.Navigate(s.Base+"/"),
		chromedp.SendKeys("#search input", "rate limit"),
		chromedp.WaitVisible("#hits a"),
		chromedp.Evaluate(`[...document.querySelectorAll('#hits a')].map(a => a.href)`, &links),
		chromedp.SendKeys("#search input", "\ue015"), // arrow down
		chromedp.Evaluate(`document.activeElement.closest('#hits') ? document.activeElement.href : ''`, &selected),
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(links) < 3 || selected != links[0] {
		t.Fatalf("found %v; the arrow key selected %q", links, selected)
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
	ask := func(question string) chromedp.Action {
		return chromedp.Tasks{
			chromedp.SendKeys("#question input", question+"\r"),
			chromedp.Poll(`document.querySelector('#question button').textContent === 'Send' && document.querySelectorAll('#turns .you').length === document.querySelectorAll('#turns .answer .sources').length`, nil),
		}
	}
	var answers, links, sources []string
	var bodies []string
	var code, raw string
	err := chromedp.Run(ctx,
		chromedp.Navigate(s.Base+"/keys"),
		// What the page sends, to see the thread go on.
		chromedp.Evaluate(`window.bodies = []; const own = window.fetch; window.fetch = (u, o) => { bodies.push(o.body); return own(u, o) }; true`, nil),
		chromedp.Click("#open-ask"),
		chromedp.WaitVisible("#question input"),
		ask("How do I make a key?"),
		ask("And how do I revoke it?"),
		chromedp.Evaluate(`[...document.querySelectorAll('#turns .answer')].map(a => a.textContent)`, &answers),
		chromedp.Evaluate(`[...document.querySelectorAll('#turns .answer > div a')].map(a => a.href)`, &links),
		chromedp.Evaluate(`[...document.querySelectorAll('#turns .sources a')].map(a => a.href)`, &sources),
		chromedp.Evaluate(`document.querySelector('#turns pre')?.textContent ?? ''`, &code),
		chromedp.Evaluate(`document.querySelector('#turns').innerText`, &raw),
		chromedp.Evaluate(`bodies`, &bodies),
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(answers) != 2 || !strings.Contains(answers[0], "caddy docs key create") || !strings.Contains(code, "key create") {
		t.Errorf("answers %q, code %q", answers, code)
	}
	if strings.Contains(raw, "](") || strings.Contains(raw, "**") || strings.Contains(raw, "```") {
		t.Errorf("Markdown is left in the answers:\n%s", raw)
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
	var shown string
	err := chromedp.Run(ctx,
		chromedp.Navigate(s.Base+"/"),
		chromedp.Evaluate(`window.fetch = async () => new Response('{"error":"too many requests; try again in 7 seconds","code":"rate_limited"}', { status: 429 }); true`, nil),
		chromedp.Click("#open-ask"),
		chromedp.WaitVisible("#question input"),
		chromedp.SendKeys("#question input", "anything\r"),
		chromedp.WaitVisible("#turns .error"),
		chromedp.Text("#turns .error", &shown),
	)
	if err != nil {
		t.Fatal(err)
	}
	if shown != "too many requests; try again in 7 seconds" {
		t.Errorf("shown is %q", shown)
	}
}
