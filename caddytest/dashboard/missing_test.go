package dashboard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"golang.org/x/crypto/bcrypt"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/insights"
)

// missed records that a page was asked for that a site doesn't have.
func missed(t *testing.T, site, path, referer, userAgent string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "https://docs.example/", nil)
	r.Header.Set("Referer", referer)
	r.Header.Set("User-Agent", userAgent)
	caddytest.App(t).Site(site).Missed(r, true, insights.Missing{Path: path, Status: http.StatusNotFound})
}

// A scanner leaves nothing, nor does a browser's visit to an address that never
// was a page and that nothing links to.
func missingPagesAreCounted(t *testing.T) {
	s := caddytest.Start(t, "", caddytest.MetricsSite(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	for _, c := range []struct {
		path, referer, agent string
		former, private      bool
	}{
		{"/typed", "", browser, false, false},
		{"/wp-login.php", "", "curl/8.9.1", false, false},
		{"/wp-admin", "not a URL", "", false, false},
		{"/former", "", "curl/8.9.1", true, false},
		{"/linked", "https://docs.example/guide/?q=secret", browser, false, false},
		{"/linked", "https://forum.example:8443/thread?user=jane", browser, false, false},
		{"/invented", "", "Claude-User (claude-code/2.0)", false, false},
		{"/private", "https://docs.example/guide", browser, false, true},
	} {
		r := httptest.NewRequest(http.MethodGet, "https://docs.example"+c.path, nil)
		r.Header.Set("Referer", c.referer)
		r.Header.Set("User-Agent", c.agent)
		if c.private {
			r.Header.Set("Sec-GPC", "1")
		}
		caddytest.App(t).Site("acme").Missed(r, c.former, insights.Missing{Path: c.path, Status: http.StatusNotFound, To: "/best"})
	}
	if got := s.Metric(t, `caddy_docs_missing_total{outcome="suggested",site="acme"}`); got != 5 {
		t.Errorf("%v are counted", got)
	}
	found, err := stop(t, s).Missing(t.Context(), acme, insights.Query{Period: today()})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		got = append(got, fmt.Sprintf("%s %d/%d %v %v", m.Path, m.People, m.Requests, m.Agents, m.From))
	}
	want := []string{"/linked 2/2 [] [{/guide 1} {https://forum.example 1}]", "/former 0/1 [{program 1}] []", "/invented 0/1 [{Claude-User 1}] []", "/private 1/1 [] []"}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func testMissing(t *testing.T, s *suite) {
	row := func(scripts bool) string {
		return `$$('tbody tr').find(r => r.textContent.includes(` + quote(map[bool]string{true: "/badgers", false: "/weasels"}[scripts]) + `))`
	}
	eachWay(t, s, "mia", func(_ *testing.T, b *tab, scripts bool) {
		row := row(scripts)
		b.visit("/acme/acme-docs/missing")
		b.until(row)
		b.is(row + `.textContent.includes('GPTBot') && ` + row + `.textContent.includes('https://forum.example')`)
		if scripts {
			b.check("missing")
		}
		js[bool](b, `(r => { r.querySelector('summary').click(); r.querySelector('textarea').value = 'see <b>12</b>'; r.querySelector('select[name=state]').value = 'dismissed' })(`+row+`) ?? true`)
		b.send(row + `.querySelector('form button')`)
		b.arrived()
		b.until(`text('h1') === 'Missing' && !` + row)
		b.fill("form.row button", "form.row [name=state]", "dismissed")
		b.until(row + `.textContent.includes('see <b>12</b>')`)
	})
}

// The page Missing of a site whose page has moved and is linked to at its former
// address.
func TestAMissingPageIsShownWithItsLinksAndItsPlace(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	folder := caddytest.Folder(t, map[string]string{
		"index.md": "# Acme\n\nIt runs rockets.\n\nRead how to [set it up](/setup) first.\n",
		"setup.md": "# Set up the rocket\n\n" + `Unpack the archive into a folder that only the pilot can write to, and run the installer with administrator rights.
It asks for the serial number of the engine, which is engraved on its left side below the valve, and for the port of the ground station.
Without a ground station, choose the simulator: it answers every command after a delay that you set in milliseconds.

## Check the engine

Open the valve by a quarter turn, wait until the gauge shows nine bar, and close it again. If the pressure falls by more than one bar in a minute,
replace the seal. Never ignite an engine whose seal was not checked on the same day, because cold nights make the rubber brittle.
`,
	})
	s := caddytest.Start(t, "", `http://:0 {
	root `+folder+`
	handle_path /docs-admin/* {
		basic_auth {
			ada `+string(hash)+`
		}
		docs_dashboard {
			admin ada
		}
	}
	docs acme-docs {
		organization acme
	}
	search
	file_server
}
`)
	s.Ready("acme-docs")
	b := newTab(t, s, "ada")
	b.visit("/docs-admin/acme/acme-docs/missing")
	b.until(`text('.empty h2').startsWith('None in')`)
	b.check("missing nothing")

	if err := os.Mkdir(filepath.Join(folder, "guide"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(folder, "setup.md"), filepath.Join(folder, "guide", "launch.md")); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the page has moved", func() bool {
		f := caddytest.App(t).Site("acme-docs").Pages().Former("/setup")
		return f != nil && f.Proved
	})
	caddytest.AllAsked(t, "acme-docs")
	const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	for range 3 {
		missed(t, "acme-docs", "/setup", "https://docs.example/", browser)
		missed(t, "acme-docs", "/setup", "", "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)")
	}
	missed(t, "acme-docs", "/setup", "https://forum.example/thread/7?user=jane", browser)
	missed(t, "acme-docs", "/pricing", "", "ClaudeBot/1.0")
	row := `$$('tbody tr').find(r => r.textContent.includes('/setup'))`
	var text string
	caddytest.Until(t, "it is listed with its link and all requests, which may be stored in parts", func() bool {
		b.visit("/docs-admin/acme/acme-docs/missing")
		text = js[string](b, row+`?.innerText.replaceAll(/\s+/g, ' ') ?? ''`)
		return strings.Contains(text, "index.md:5") && strings.Contains(text, " 7 ")
	})
	for _, want := range []string{"Set up the rocket, until ", "4 people", "3 GPTBot", "https://forum.example (1)", "/guide/launch.md", "proved: 100 % of its text"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	b.is(`!document.body.textContent.includes('jane')`)
	// By keyboard: the line to copy, and the state.
	js[bool](b, row+`.querySelector('summary').focus() ?? true`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`text('pre') === 'redir /setup /guide/launch.md permanent' && $('pre').checkVisibility()`)
	b.check("missing moved")
	js[bool](b, row+`.querySelectorAll('summary')[1].focus() ?? true`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("d"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("fixed"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.until(`text('h1') === 'Missing' && $$('tbody tr').length === 1 && text('tbody').startsWith('/pricing')`)
	b.visit("/docs-admin/acme/acme-docs/missing?state=done")
	b.until(row + `?.textContent.includes('fixed')`)

	// The line does what it says.
	s.Load("", "http://:0 {\n"+"\troot "+folder+"\n\tredir /setup /guide/launch.md permanent\n\tfile_server\n}\n")
	if r := s.Do(caddytest.Request{Method: http.MethodGet, Path: "/setup"}); r.Status != http.StatusMovedPermanently || r.Header.Get("Location") != "/guide/launch.md" {
		t.Errorf("%d to %q", r.Status, r.Header.Get("Location"))
	}
}
