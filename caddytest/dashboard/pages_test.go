package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/pgserver"
	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/handlers/app"
)

// suite is the dashboard of a Caddy with the readers' doings in one store.
type suite struct {
	*caddytest.Server
	// ways are those in which forms are sent: with scripts, without, or both.
	ways []bool
	// rest is set where also everything else is tested.
	rest bool
}

// The dashboard is tested with scripts and SQLite, and without scripts and with
// Postgres, so that every form is sent in both ways and to both stores. One
// Caddy serves all tests of a store: a process has only one.
func TestTheDashboard(t *testing.T) {
	ways := []bool{true, false}
	t.Run("Postgres", func(t *testing.T) {
		_, dsn := pgserver.Run(t)
		s := start(t, "insights {\n store postgres "+dsn+"\n}")
		ways = []bool{true}
		(&suite{Server: s, ways: []bool{false}}).run(t)
	})
	t.Run("SQLite", func(t *testing.T) {
		(&suite{Server: start(t, ""), ways: ways, rest: true}).run(t)
	})
	if t.Failed() || len(forms.sent) == 0 { // without a browser there are none
		return
	}
	for name, ways := range forms.sent {
		if !ways[true] || !ways[false] {
			t.Errorf("no test sends the form %q with (%t) and without scripts (%t)", name, ways[true], ways[false])
		}
	}
	t.Logf("%d forms, each sent with and without scripts", len(forms.sent))
}

func (s *suite) run(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *suite){
		"A stranger gets nothing": testStranger,
		"Overview":                testOverview,
		"API keys":                testKeys,
		"Content":                 testContent,
		"Try":                     testTry,
		"Signing in with a link":  testSignIn,
		"Unanswered":              testUnanswered,
		"Searches":                testSearches,
		"Conversations":           testConversations,
		"Feedback":                testFeedback,
		"Missing":                 testMissing,
		"Lists":                   testLists,
		"By keyboard alone":       testKeyboardAlone,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func testStranger(t *testing.T, s *suite) {
	for _, path := range []string{"/", "/acme/acme-docs", "/-/assets/"} {
		if r := s.Do(caddytest.Request{Method: http.MethodGet, Path: path, Key: "-"}); r.Status != http.StatusUnauthorized {
			t.Errorf("%s is %d", path, r.Status)
		}
	}
}

func testOverview(t *testing.T, s *suite) {
	eachWay(t, s, "mia", func(t *testing.T, b *tab, _ bool) {
		b.visit("/")
		b.until(`text('h1') === 'Overview' && location.pathname === '/acme/acme-docs'`)
		b.is(`text('.where') === 'Acme Docs' && text('main').includes('9 in ')`)
		b.is(`$$('.number').length === 4 && $$('.number .value')[0].textContent > 0 && $$('svg.chart[role=img]')[0].ariaLabel.startsWith('Searches per day from ')`)
		b.is(`!document.body.textContent.includes('rival')`)
		day := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
		b.fill(".dates form button", "[name=from]", day, "[name=to]", day)
		b.arrived()
		b.is(`location.search === '?from=` + day + `&to=` + day + `' && text('#numbers').startsWith('` + day + `') && $$('.number .value')[0].textContent === '0'`)
		b.is(`$('.steps li') && $('.dates details').open`)
		b.fill("form[action$=refresh] button")
		b.until(`text('h1') === 'Overview'`)
	})
	if !s.rest {
		return
	}
	b := newTab(t, s.Server, "ada")
	b.visit("/")
	b.until(`$$('tbody tr').length === 2`)
	b.check("sites")
	b.do(chromedp.Click(`th a[href$="/acme-docs"]`))
	b.until(`text('h1') === 'Overview'`)
	b.check("overview")
	b.do(chromedp.Click(".switch summary"), chromedp.WaitVisible(".switch nav a"))
	b.check("switch")
	b.is(`$('.switch').open`)
	b.do(chromedp.Click("h1"))
	b.until(`!$('.switch').open`)
	testKeyboard(b)
	b = newTab(t, s.Server, "rob")
	b.visit("/acme/acme-docs")
	b.until(`text('h1') === 'Not Found'`)
	b.check("not found")
}

// testKeyboard goes to the content of the overview, and to another page, by
// keyboard.
func testKeyboard(b *tab) {
	b.t.Helper()
	b.visit("/acme/acme-docs")
	b.until(`text('h1') === 'Overview'`)
	b.do(chromedp.KeyEvent(kb.Tab))
	b.is(`document.activeElement.className === 'skip' && document.activeElement.getBoundingClientRect().top >= 0`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.activeElement.id === 'main'`)
	b.do(chromedp.KeyEvent(kb.Tab))
	b.is(`document.activeElement.textContent === '7 days' && document.activeElement.matches(':focus-visible')`)
	js[bool](b, `$('.switch summary').focus() ?? true`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`$('.switch').open`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`!$('.switch').open && document.activeElement === $('.switch summary')`)
	js[bool](b, `$('.number a').focus() ?? true`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`text('h1') === 'Searches' && text('.tabs [aria-current]') === 'Top'`)
}

// testKeyboardAlone goes through every control of the pages by Tab. Each shows
// that it has the focus, and none keeps it.
func testKeyboardAlone(t *testing.T, s *suite) {
	if !s.rest {
		return
	}
	b := newTab(t, s.Server, "mia")
	pages := []string{"", "unanswered", "unanswered?by=page", "searches", "conversations", "feedback", "feedback?by=page", "keys", "content", "missing", "try", "audit"}
	for _, page := range pages {
		b.visit("/acme/acme-docs/" + page)
		b.until(`document.readyState === 'complete' && $('main h1')`)
		js[bool](b, `globalThis.walked = [], globalThis.all = $$('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]').filter(e => !e.disabled && e.checkVisibility()), true`)
		for range 500 { // a field for a date has several stops
			b.do(chromedp.KeyEvent(kb.Tab))
			problem := js[string](b, `(e => {
				if (e === document.body || e === document.documentElement || e === walked[0] && walked.length > 1) return 'end'
				if (e === walked.at(-1)) return ++globalThis.times > 8 ? 'it keeps the focus' : ''
				globalThis.times = 0
				walked.push(e)
				const { outlineStyle, outlineWidth } = getComputedStyle(e), { top, bottom } = e.getBoundingClientRect()
				return !e.matches(':focus-visible') || outlineStyle === 'none' || parseFloat(outlineWidth) < 2 ? 'no focus is seen'
					: bottom <= 0 || top >= innerHeight ? 'it is out of view' : ''
			})(document.activeElement)`)
			if problem == "end" {
				break
			}
			if problem != "" {
				t.Errorf("%s: %s: %s", page, problem, js[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
				break
			}
		}
		if missed := js[[]string](b, `all.filter(e => !walked.includes(e)).map(e => e.outerHTML.slice(0, 120))`); len(missed) > 0 {
			t.Errorf("%s: Tab does not reach %q", page, missed)
		}
	}
	b.visit("/acme/acme-docs/feedback")
	b.until(`document.readyState === 'complete' && $('[name=comments]')`)
	js[bool](b, `$('.dates summary').focus() ?? true`)
	b.do(chromedp.KeyEvent(" "))
	b.until(`$('.dates details').open`)
	b.do(chromedp.KeyEvent(kb.Tab))
	b.is(`document.activeElement.name === 'from'`)
	js[bool](b, `$('[name=comments]').focus() ?? true`)
	b.do(chromedp.KeyEvent(" "))
	b.is(`$('[name=comments]').checked`)
	b.do(chromedp.KeyEvent(kb.Tab))
	b.is(`document.activeElement.textContent === 'Filter'`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`location.search.includes('comments=1')`)
}

// eachWay runs a test in each of the suite's ways.
func eachWay(t *testing.T, s *suite, user string, f func(t *testing.T, b *tab, scripts bool)) {
	for _, scripts := range s.ways {
		name := map[bool]string{true: "with scripts", false: "without scripts"}[scripts]
		t.Run(name, func(t *testing.T) {
			b := newTab(t, s.Server, user)
			b.allowScripts(scripts)
			f(t, b, scripts)
		})
	}
}

func testKeys(t *testing.T, s *suite) {
	eachWay(t, s, "mia", func(t *testing.T, b *tab, scripts bool) {
		b.visit("/acme/acme-docs/keys")
		b.until(`text('h1') === 'API keys'`)
		b.is(`$('#expires').value === '90d'`)
		b.is(`text('main').includes('the fixed key') && text('main').includes('in the configuration')`)
		b.do(chromedp.SendKeys("#name", "Front end"), chromedp.SendKeys("#origins", "https://app.example.com"), chromedp.Click("[name=sites]"))
		b.fill(".form button")
		b.until(`$('#secret')`)
		secret := js[string](b, `text('#secret')`)
		if r := s.Do(caddytest.Request{Path: "/v1/search/acme-docs", Key: secret, Body: `{"query":"rockets"}`}); r.Status != http.StatusOK {
			t.Errorf("a search with the new key is %d %s", r.Status, r.Body)
		}
		if scripts {
			b.is(`!$('[data-copy=secret]').hidden`)
			b.check("key created")
		} else {
			b.is(`$('[data-copy=secret]').hidden`)
		}
		b.visit("/acme/acme-docs/keys")
		b.until(`$$('tbody tr').length === 2 && !document.body.textContent.includes(` + quote(secret) + `)`)
		b.do(chromedp.Click("details.act summary"), chromedp.WaitVisible("details.act button"))
		if scripts {
			b.check("keys")
		}
		b.fill("details.act button")
		b.until(`$$('tbody tr').length === 1`)
		if r := s.Do(caddytest.Request{Path: "/v1/search/acme-docs", Key: secret, Body: `{"query":"rockets"}`}); r.Status != http.StatusUnauthorized {
			t.Errorf("a search with the revoked key is %d", r.Status)
		}
	})
	if !s.rest {
		return
	}
	t.Run("hostile names", func(t *testing.T) {
		b := newTab(t, s.Server, "mia")
		b.visit("/acme/acme-docs/keys")
		for name, text := range hostile {
			b.until(`$('#name')`)
			js[bool](b, `$('#name').removeAttribute('maxlength'), $('#name').value = `+quote(text)+`, $('#origins').value = '', $('.form').submit(), true`)
			if name == "a long word" {
				b.until(`$('[role=alert]') || text('h1') === 'Bad Request'`)
				b.visit("/acme/acme-docs/keys")
				continue
			}
			b.until(`$('#secret') && $$('tbody th bdi').some(e => e.textContent === ` + quote(text) + `)`)
		}
		b.fits("hostile keys")
	})
	t.Run("a viewer only reads", func(t *testing.T) {
		b := newTab(t, s.Server, "vic")
		b.visit("/acme/acme-docs/keys")
		b.until(`text('h1') === 'API keys'`)
		b.is(`!$('main form') && $$('tbody tr').length > 1`)
	})
}

func testContent(t *testing.T, s *suite) {
	eachWay(t, s, "mia", func(t *testing.T, b *tab, scripts bool) {
		b.visit("/acme/acme-docs/content")
		b.until(`$$('tbody tr').length === 9`)
		if scripts {
			b.check("content")
		}
		b.fill(".head form button") // look for changes
		b.until(`text('h1') === 'Overview'`)
		b.visit("/acme/acme-docs/content")
		b.until(`$$('tbody tr').length === 9`)
		b.fill("form[role=search] button", "[name=find]", "thrust")
		b.until(`text('.empty h2') === 'No page matches'`)
		b.do(chromedp.Click(".empty a"))
		b.until(`$$('tbody tr').length === 9`)
		b.fill("form[role=search] button", "[name=find]", "install")
		b.until(`$$('tbody tr').length === 1 && text('tbody').includes('Install Acme')`)
	})
}

func testTry(t *testing.T, s *suite) {
	eachWay(t, s, "vic", func(t *testing.T, b *tab, scripts bool) {
		b.visit("/acme/acme-docs/try")
		b.fill("form[aria-label=Search] button", "#q", "thrust limits")
		b.until(`text('tbody tr').includes('Thrust limits')`)
		if scripts {
			b.check("try search")
		}
		b.fill("form[aria-label=Ask] button", "#question", "How do I limit the thrust of my rocket?")
		b.until(`text('#how') === 'How it is answered' && text('main').includes('max_thrust')`)
		b.is(`!$('form[method=post]')`) // a viewer spends nothing
	})
	eachWay(t, s, "mia", func(t *testing.T, b *tab, scripts bool) {
		b.visit("/acme/acme-docs/try?question=" + url.QueryEscape("How do I limit the thrust of my rocket?"))
		b.fill("section form[method=post] button")
		b.until(`text('#real') === 'The answer' && text('.answer').includes('max_thrust') && text('#how') === 'How it is answered'`)
		if scripts {
			b.check("try question")
		}
	})
	if !s.rest {
		return
	}
	t.Run("hostile texts", func(t *testing.T) {
		b := newTab(t, s.Server, "vic")
		b.visit("/acme/acme-docs/try?q=" + hostile["a long word"][:2000])
		b.until(`text('h1') === 'Try' && bad.length === 0`)
		b.visit("/acme/acme-docs/try?q=" + url.QueryEscape(hostileText()))
		b.until(`text('h1') === 'Try' && bad.length === 0 && $('#q').value === ` + quote(hostileText()))
		b.visit("/acme/acme-docs/try?q=hostile")
		b.until(`$$('tbody tr').length >= 5`)
		b.fits("hostile results")
	})
}

func testSignIn(t *testing.T, s *suite) {
	loaded, err := caddy.ActiveContext().App("docs")
	if err != nil {
		t.Fatal(err)
	}
	newLogin := func(body string) *admin.Login {
		login, err := admin.API{App: loaded.(*app.App)}.NewLogin(t.Context(), []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return login
	}
	if slices.Contains(s.ways, true) {
		testLink(t, s, newLogin(`{}`).Code)
	}
	if slices.Contains(s.ways, false) {
		testCode(t, s, strings.ToLower(newLogin(`{"organization":"acme","name":"Mia"}`).Code))
	}
	if _, err := (admin.API{App: loaded.(*app.App)}).NewLogin(t.Context(), []byte(`{"organization":"nope"}`)); err == nil || !strings.Contains(err.Error(), "the organizations are: acme, rival") {
		t.Errorf("an unknown organization: %v", err)
	}
}

func testLink(t *testing.T, s *suite, code string) {
	t.Run("the link", func(t *testing.T) {
		b := newTab(t, s.Server, "")
		b.visit("/open/-/login#" + code)
		b.until(`$('#code')?.value.length === 14 && location.hash === ''`)
		b.check("sign in")
		b.fill(".alone button")
		b.until(`$$('tbody tr').length === 2 && location.pathname === '/open/'`)
		b.do(chromedp.Click(`th a[href$="/acme-docs"]`))
		b.until(`text('h1') === 'Overview' && location.pathname === '/open/acme/acme-docs'`)
		b.fits("signed in")
		b.do(chromedp.Click(".who summary"))
		b.fill(".who button")
		b.until(`text('h1') === 'Sign in'`)
		b.visit("/open/acme/acme-docs")
		b.until(`text('h1') === 'Sign in'`)
	})
}

func testCode(t *testing.T, s *suite, code string) {
	t.Run("the code, without scripts", func(t *testing.T) {
		b := newTab(t, s.Server, "")
		b.allowScripts(false)
		b.visit("/open/acme/acme-docs/keys")
		b.fill(".alone button", "#code", "AAAA-BBBB-CCCC")
		b.until(`text('[role=alert]').startsWith('This code is not valid')`)
		b.fill(".alone button", "#code", code)
		b.until(`text('h1') === 'API keys' && location.pathname === '/open/acme/acme-docs/keys' && text('.who').includes('Mia')`)
		b.visit("/open/rival/rival-docs")
		b.until(`text('h1') === 'Not Found'`)
		b.fill(".who button")
		b.until(`text('h1') === 'Sign in'`)
	})
}
