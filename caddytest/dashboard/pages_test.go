package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// One Caddy serves all tests of the dashboard: a process has only one.
func TestTheDashboard(t *testing.T) {
	s := start(t)
	t.Run("A stranger gets nothing", func(t *testing.T) { testStranger(t, s) })
	t.Run("Overview", func(t *testing.T) { testOverview(t, s) })
}

func testStranger(t *testing.T, s *caddytest.Server) {
	for _, path := range []string{"/", "/acme/acme-docs", "/-/assets/"} {
		if r := s.Do(caddytest.Request{Method: http.MethodGet, Path: path, Key: "-"}); r.Status != http.StatusUnauthorized {
			t.Errorf("%s is %d", path, r.Status)
		}
	}
}

func testOverview(t *testing.T, s *caddytest.Server) {
	for name, prepare := range map[string]func(*tab){"with scripts": func(*tab) {}, "without scripts": (*tab).withoutScripts} {
		t.Run(name, func(t *testing.T) {
			b := newTab(t, s, "mia")
			prepare(b)
			b.visit("/")
			b.until(`text('h1') === 'Overview' && location.pathname === '/acme/acme-docs'`)
			b.is(`text('.where') === 'Acme Docs' && text('main').includes('3 in ')`)
			b.is(`!document.body.textContent.includes('rival')`)
			b.do(chromedp.Click("main form button"))
			b.until(`text('h1') === 'Overview'`)
			caddytest.Until(t, "the pages are refreshed", func() bool { return strings.Count(s.Log(), "index refreshed") >= 2 })
		})
	}
	b := newTab(t, s, "ada")
	b.visit("/")
	b.until(`$$('.tile').length === 2`)
	b.check("sites")
	b.do(chromedp.Click(".tile"))
	b.until(`text('h1') === 'Overview'`)
	b.check("overview")
	b.do(chromedp.Click(".switch summary"), chromedp.WaitVisible(".switch nav a"))
	b.check("switch")
	b.is(`$('.switch').open`)
	b.do(chromedp.Click("h1"))
	b.until(`!$('.switch').open`)
	b = newTab(t, s, "rob")
	b.visit("/acme/acme-docs")
	b.until(`text('h1') === 'Not found'`)
	b.check("not found")
}
