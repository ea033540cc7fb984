package widget

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

const longAnswer = "Use the installer:\n\n```sh\nsudo acme-install --prefix /opt/acme --with-a-very-long-option-that-does-not-fit-into-the-width-of-the-dialog-at-all yes\n```\n\n1. Download the **archive**.\n2. Run [the installer](/install#linux).\n   - on *Linux*\n   - on Windows\n\n| system | command |\n|:--|--:|\n| Linux | `acme-install` |\n| Windows | `acme-setup.exe` |\n\n> Restart the rocket afterwards.\n\nSee also [thrust limits](/config#thrust)."

func testAsk(t *testing.T, s *stand) {
	t.Run("An answer has code, tables, lists, links and sources", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.ask("How do I install Acme?")
		b.answered()
		b.is(`text('.answer pre').startsWith('sudo acme-install --prefix') && text('.code .bar span') === 'sh'`)
		b.is(`$('.answer pre').tabIndex === 0`)
		b.is(`$$('.answer ol > li').length === 2 && $$('.answer ol ul > li').length === 2 && text('.answer strong') === 'archive'`)
		b.is(`$$('.answer td').length === 4 && $$('.answer th').length === 2 && getComputedStyle($('.answer td:nth-child(2)')).textAlign === 'end'`)
		b.is(`$('.answer ol a').pathname === '/install' && $('.answer ol a').hash === '#linux'`)
		b.is(`$$('.sources a').length >= 2 && $('.answer').compareDocumentPosition($('.sources')) === Node.DOCUMENT_POSITION_FOLLOWING`)
		b.is(`$$('.next').length > 0`)
		b.until(`text('.status').startsWith('The answer is complete')`)
		b.is(`!$('.status').contains($('.answer')) && !$('.answer').closest('[aria-live],[role=log]')`)
		b.click(".code button")
		b.until(`clip.startsWith('sudo acme-install')`)
		b.click(".actions button")
		b.until(`clip.startsWith('Use the installer:') && clip.includes('| Linux |')`)
		b.is(`fired.some(f => f[0] === 'answer' && f[1].complete && f[1].answered && !('question' in f[1]))`)
		b.shoot("ask")
		b.click(".next")
		b.until(`$$('.turn').length === 2`)
		b.answered()
		b.calm()
	})

	s.on("cites the last", reply("See [the end](/config#countdown)."))
	t.Run("Sources that the answer cites come first", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.ask("Which installer, and which countdown, cites the last?")
		b.answered()
		js[bool](b, `globalThis.sources = JSON.parse(sessionStorage['docs:acme:talk']).talk[0].sources.map(s => new URL(s.url, location).hash), true`)
		b.is(`sources.length > 1 && sources.indexOf('#countdown') > 0`)
		b.is(`$('.sources a').hash === '#countdown' && $$('.sources a').length === sources.length`)
		b.calm()
	})

	t.Run("Events have what the reader wrote only where the site asks for it", func(t *testing.T) {
		b := newTab(t, s)
		for config, with := range map[string]bool{`{}`: false, `{"events":"text"}`: true} {
			b.visit("/", config)
			js[bool](b, `sessionStorage.clear(), addEventListener('click', e => e.composedPath()[0].pathname === '/install' && e.preventDefault()), true`)
			b.open()
			b.write("administrator")
			b.until(`$$('.result').length > 0`)
			b.enter(chromedp.ModifierCtrl)
			b.ask("How do I install privately?")
			b.answered()
			b.click(".down")
			b.until(`seen('.why')`)
			js[bool](b, `$('.why .input').focus(), true`)
			b.write("a private note")
			b.key("\r")
			b.until(`fired.filter(f => f[0] === 'feedback').length === 2`)
			b.is(`['open', 'search', 'click', 'ask', 'answer', 'feedback'].every(n => fired.some(f => f[0] === n))`)
			if with {
				b.is(`[['search', 'query', 'administrator'], ['click', 'query', 'administrator'], ['ask', 'question', 'How do I install privately?'],
					['answer', 'question', 'How do I install privately?'], ['feedback', 'comment', 'a private note']].every(([n, k, v]) => fired.some(f => f[0] === n && f[1][k] === v))`)
				b.is(`fired.some(f => f[0] === 'answer' && f[1].answer.startsWith('Use the installer'))`)
			} else {
				b.is(`!/administrator|private|installer/.test(JSON.stringify(fired))`)
			}
		}
		b.calm()
	})

	t.Run("The keyboard alone asks, rates and closes", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		b.write("How do I install Acme with keys?")
		b.enter(chromedp.ModifierShift)
		b.answered()
		b.is(`root().activeElement === $('.ask textarea')`)
		// tab moves the focus back to an element, and checks that it shows.
		tab := func(selector string) {
			t.Helper()
			for range 20 {
				b.key(kb.Tab, chromedp.ModifierShift)
				if js[bool](b, `Boolean(root().activeElement?.matches(`+quote(selector)+`))`) {
					b.is(`getComputedStyle(root().activeElement).outlineStyle === 'solid'`)
					return
				}
			}
			t.Fatalf("the keyboard does not reach %s", selector)
		}
		tab(".next")
		tab(".down")
		b.key("\r")
		b.until(`seen('.why') && $('.down').ariaPressed === 'true'`)
		b.key(kb.Tab)
		b.is(`root().activeElement === $('.why input[value=wrong]')`)
		b.key(" ")
		b.is(`$('.why input[value=wrong]').checked`)
		tab(".actions [title='Copy answer']")
		tab(".sources summary")
		b.key("\r")
		b.until(`$('.sources').open`)
		tab("pre") // code that scrolls
		tab(".mode")
		b.key(kb.Escape)
		b.until(`!$('dialog').open && document.activeElement === document.body`)
		b.calm()
	})

	hold := make(chan struct{})
	s.on("Wait for me", modelserver.Reply{Text: "First words. More words. Last words.", Hold: hold, After: 2})
	t.Run("An answer can be stopped, and asked again", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.ask("Wait for me, one")
		b.until(`text('.answer').startsWith('First words')`)
		b.is(`$('.send').title === 'Stop' && fired.at(-1)[0] === 'ask'`)
		b.shoot("streaming")
		b.click(".send")
		b.until(`text('.problem').startsWith('Stopped.') && $('.send').title === 'Send'`)
		b.is(`text('.answer').startsWith('First words')`)
		s.on("Wait for me", modelserver.Reply{Text: "Another answer."})
		b.click(".problem button")
		b.until(`text('.answer p') === 'Another answer.'`)
		b.answered()
		b.is(`!$('.answer ul') && $$('.sources a').length > 0`) // the sources are shown once
		b.is(`$$('.turn').length === 1`)
		s.on("Wait for me", modelserver.Reply{Text: "A third answer."})
		b.click(".actions button[title='Try again']")
		b.until(`text('.answer p') === 'A third answer.'`)
		b.answered()
		b.is(`$$('.turn').length === 1`)
		if last := s.asked("Wait for me"); !strings.Contains(last, "regenerate-message") {
			t.Errorf("another answer is asked for with %s", last)
		}
		b.calm()
	})

	step := make(chan struct{})
	s.on("Which step", modelserver.Reply{Text: "Done.", Hold: step})
	t.Run("The search step is a word", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.ask("Which step is it?")
		b.until(`text('.status').includes('Searching “Which step')`)
		close(step)
		b.answered()
		b.until(`text('.status').startsWith('The answer is complete')`)
		b.calm()
	})

	t.Run("Thumbs have a reason and a note", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.ask("How do I vote?")
		b.answered()
		b.click(".up")
		b.until(`$('.up').ariaPressed === 'true'`)
		b.click(".up")
		b.until(`$('.up').ariaPressed === 'false' && !seen('.why')`)
		caddytest.Until(t, "the vote is taken back", func() bool {
			return strings.Contains(strings.Join(s.sent("/v1/feedback/acme"), "\n"), `"rating":null`)
		})
		b.click(".down")
		b.until(`$('.up').ariaPressed === 'false' && $$('.why input[type=checkbox]').length === 3`)
		b.shoot("feedback")
		b.click(".why input[value=wrong]")
		js[bool](b, `$('.why .input').focus(), true`)
		b.write("the note")
		b.key("\r")
		b.until(`text('.why') === 'Thank you.'`)
		caddytest.Until(t, "the votes are sent", func() bool {
			all := strings.Join(s.sent("/v1/feedback/acme"), "\n")
			return strings.Contains(all, `"rating":"up"`) && strings.Contains(all, `"rating":"down","reasons":["wrong"],"comment":"the note"`) && strings.Contains(all, `"threadId":"thr_`) && strings.Contains(all, `"messageId":"msg_`)
		})
		b.is(`fired.some(f => f[0] === 'feedback' && f[1].rating === 'down' && !f[1].comment)`)
		b.calm()
	})

	s.on("unanswerable", modelserver.Reply{Text: "[[no-answer]] The docs don't say."})
	t.Run("What the docs don't say leads to support, with the thread", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", `{"support":"https://acme.com/help?from=docs&thread={t}","starters":["What is Acme?"],"events":"text"}`)
		js[bool](b, `Docs.open('ask'), true`)
		b.until(`text('.next') === 'What is Acme?'`)
		b.shoot("start")
		b.ask("qqxxzz unanswerable wwvv")
		b.answered()
		b.is(`/^https:\/\/acme\.com\/help\?from=docs&thread=thr_/.test($('.support')?.href)`)
		b.is(`fired.some(f => f[0] === 'ask' && f[1].question.includes('unanswerable'))`)
		b.calm()
	})

	t.Run("The page and the selected text go along", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/config", "")
		js[bool](b, `getSelection().selectAllChildren(document.querySelector('#thrust')), true`)
		b.ask("What does the selection mean?")
		b.until(`$('.question')`)
		b.answered()
		b.click(".head button[title='New conversation']")
		b.until(`$$('.turn').length === 0`)
		b.click(".chips button.chip")
		b.until(`seen('span.chip')`)
		b.shoot("context")
		b.write("What does the page mean?")
		b.enter()
		b.until(`$('.question')`)
		b.answered()
		selection, page := s.asked("selection mean?"), s.asked("page mean?")
		if !strings.Contains(selection, `"context":[{"type":"textSelection","value":"Thrust limits","path":"/config"}]`) || !strings.Contains(selection, `"currentPath":"/config"`) {
			t.Errorf("about the selection: %s", selection)
		}
		if !strings.Contains(page, `max_thrust to the newtons`) || strings.Contains(page, "selection mean?") {
			t.Errorf("about the page: %s", page)
		}
		b.calm()
	})

	t.Run("The conversation survives page loads, and a panel stays open", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.ask("How do I install Acme after a load?")
		b.answered()
		b.click(".answer ol a")
		b.until(`location.pathname === '/install' && window.Docs && root()`)
		b.is(`!$('dialog')?.open`)
		js[bool](b, `Docs.open('ask'), true`)
		b.until(`text('.question').includes('after a load') && $$('.answer pre').length === 1 && $$('.sources a').length > 1`)
		b.ask("And then, after a load?")
		b.until(`$$('.turn').length === 2`)
		b.answered()
		if last := s.asked("And then, after a load?"); !strings.Contains(last, `"threadId":"thr_`) || !strings.Contains(last, "Acme after a load") {
			t.Errorf("the conversation is not carried on: %s", last)
		}
		b.click(".aside")
		b.until(`$('dialog.panel')?.open && !$('dialog').matches(':modal')`)
		b.shoot("panel")
		b.visit("/config", "")
		b.until(`$('dialog.panel')?.open && $$('.turn').length === 2`)
		b.history(-1)
		b.until(`location.pathname === '/install' && $('dialog.panel')?.open && $$('.turn').length === 2`)
		// The keyboard stays in the page, until the reader goes to the panel.
		b.key(" ")
		b.is(`document.activeElement === document.body && !root().activeElement && $('.ask textarea').value === ''`)
		b.open()
		b.key(kb.Escape)
		b.until(`!$('dialog').open`)
		b.visit("/", "")
		b.is(`!$('dialog')?.open`)
		b.do(chromedp.Reload())
		b.until(`window.Docs && root()`)
		js[bool](b, `Docs.open('ask'), true`)
		b.until(`$$('.turn').length === 2 && $$('.answer pre').length > 0`)
		b.history(-1)
		b.until(`location.pathname === '/install'`)
		b.history(1)
		b.until(`location.pathname === '/' && window.Docs && root()`)
		js[bool](b, `Docs.open('ask'), true`)
		b.until(`$('dialog').open && $$('.turn').length === 2`)
		b.calm()
	})

	s.on("Half an answer", modelserver.Reply{Text: "This half is kept. Not this.", Hold: make(chan struct{}), After: 4})
	t.Run("Half an answer is kept over a load", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.ask("Half an answer, please")
		b.until(`text('.answer').startsWith('This half is kept')`)
		b.visit("/config", "")
		js[bool](b, `Docs.open('ask'), true`)
		b.until(`text('.answer').startsWith('This half is kept')`)
		b.calm()
	})

	t.Run("Two tabs share a conversation that is kept for good", func(t *testing.T) {
		b := newTab(t, s)
		const local = `{"conversations":"local"}`
		b.visit("/", local)
		b.ask("Does the other tab know?")
		b.answered()
		ctx, cancel := chromedp.NewContext(b.ctx)
		defer cancel()
		if err := chromedp.Do(ctx); err != nil {
			t.Fatal(err)
		}
		other := &tab{t, s, ctx}
		other.prepare(helpers)
		other.visit("/config", local)
		js[bool](other, `Docs.open('ask'), true`)
		other.until(`text('.question') === 'Does the other tab know?'`)
		other.ask("It does.")
		other.answered()
		js[bool](b, `Docs.close(), Docs.open('ask'), true`)
		b.until(`$$('.turn').length === 2`)
		b.calm()
		other.calm()
	})
	t.Run("Without kept conversations nothing is stored", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", `{"conversations":"off"}`)
		b.ask("Is this kept? No.")
		b.answered()
		b.is(`localStorage.length === 0 && sessionStorage.length === 0`)
		if body := s.asked("Is this kept"); !strings.Contains(body, `"fp":"anonymous"`) {
			t.Errorf("the reader is not anonymous: %s", body)
		}
		b.calm()
	})
}

func testErrors(t *testing.T, s *stand) {
	t.Run("Errors are sentences with what to do, and half an answer is kept", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.ask("It breaks off")
		b.answered()
		b.is(`text('.answer').startsWith('These words stay') && /again/.test(text('.problem')) && $('.problem button')`)
		b.shoot("error")

		js[bool](b, `window.real = window.fetch, window.fetch = async () => new Response('{"error":"too many","code":"rate_limited"}', { status: 429, headers: { 'Retry-After': '42' } }), true`)
		b.ask("Too often")
		b.until(`$$('.problem').some(p => p.textContent.startsWith('Too many requests. Try again in 42 seconds.'))`)
		js[bool](b, `window.fetch = async () => new Response('{"error":"for developers","message":"The assistant is closed.","code":"x"}', { status: 503 }), true`)
		b.ask("The model failed")
		b.until(`$$('.problem').some(p => p.textContent.startsWith('The assistant is closed.'))`)
		js[bool](b, `window.fetch = async () => { throw new TypeError('Failed to fetch') }, true`)
		b.ask("No network")
		b.until(`$$('.problem').some(p => p.textContent.startsWith('This did not work.'))`)
		js[bool](b, `Object.defineProperty(navigator, 'onLine', { value: false, configurable: true }), true`)
		b.ask("Offline")
		b.until(`$$('.problem').some(p => p.textContent.startsWith('You are offline.'))`)
		// A retry takes the place of what failed.
		js[bool](b, `Object.defineProperty(navigator, 'onLine', { value: true }), window.fetch = window.real, true`)
		turns := js[int](b, `$$('.turn').length`)
		b.click(".turn:last-child .problem button")
		b.until(`text('.turn:last-child .answer').includes('the installer')`)
		b.answered()
		if now := js[int](b, `$$('.turn').length`); now != turns {
			t.Errorf("%d turns, then %d", turns, now)
		}
		b.calm()
	})
	t.Run("A token that has expired is renewed unseen", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		b.write("installer")
		b.until(`$$('.result').length > 1`)
		before := len(s.sent("/v1/token/acme"))
		js[bool](b, `{
			const own = window.fetch; let first = true
			window.fetch = (u, o) => String(u).includes('/v1/search/') && first ? (first = false, Promise.resolve(new Response('{"error":"expired","code":"token_expired"}', { status: 401 }))) : own(u, o)
		}; true`)
		b.write(" linux")
		b.until(`$('.search .input').value === 'installer linux' && $$('.result').length > 0 && !/work/.test(text('.status'))`)
		caddytest.Until(t, "a token is fetched again", func() bool { return len(s.sent("/v1/token/acme")) > before })
		b.calm()
	})
	t.Run("Where the rest of the widget can't be loaded, the dialog links to the plain page", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/?broken=1", "")
		b.click(".button")
		b.write("installer & more")
		b.until(`$('.status a')?.search.includes('%26')`)
		b.click(".status a")
		caddytest.Until(t, "the plain page is requested", func() bool {
			for _, r := range s.all() {
				if r.method == "GET" && r.path == "/v1/ask/acme" && strings.Contains(r.header.Get("Referer"), "broken") {
					return true
				}
			}
			return false
		})
	})
}

// broken is a script whose chunks are missing.
func broken(script []byte) []byte {
	return []byte(strings.Replace(string(script), "main-", "gone-", 1))
}
