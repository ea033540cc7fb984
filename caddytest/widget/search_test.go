package widget

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

func testSearch(t *testing.T, s *stand) {
	t.Run("Results come while the reader types, grouped by page", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.is(`document.activeElement === document.body && !$('dialog').open`) // nothing before first use
		b.open()
		b.key("instaler")
		// Before, there may be the results of what was typed so far.
		b.until(`$('.page')?.textContent.includes('Install Acme') && $$('.result').some(a => a.pathname === '/install' && a.hash === '#linux')`)
		b.is(`$$('.results [role=group]').length < $$('.result').length`)
		b.until(`$$('mark').length > 0 && $$('mark').every(m => /^install/i.test(m.textContent))`)
		b.until(`/\d/.test(text('.status'))`)
		// Keystrokes in quick succession are one search, the last one.
		js[bool](b, `{ const i = $('.search .input'); for (const q of ['w', 'wi', 'win', 'wind', 'windo', 'windows']) { i.value = q; i.dispatchEvent(new InputEvent('input')) } }; true`)
		b.until(`text('.result').includes('Windows')`)
		for _, body := range s.sent("/v1/search/acme") {
			if strings.Contains(body, `"query":"w`) && !strings.Contains(body, `"query":"windows"`) || !strings.Contains(body, `"pageSize":7,"fields":["snippet"]`) {
				t.Errorf("searched: %s", body)
			}
		}
		b.shoot("search")
		b.calm()
	})
	t.Run("The list is a combobox that the keyboard walks", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		b.until(`$('.input').getAttribute('aria-expanded') === 'false'`)
		b.write("installer")
		b.until(`$$('.result').length > 1`)
		b.is(`$('.input').getAttribute('aria-expanded') === 'true' && $('#' + $('.input').getAttribute('aria-controls')).role === 'listbox'`)
		const active = `$('[role=option][aria-selected=true]')`
		// The question is the first row, and the first result the one that Enter takes.
		b.is(`$$('[role=option]')[0].textContent.includes('Ask') && ` + active + ` === $('.result')`)
		b.is(`getComputedStyle(` + active + `, '::after').content.includes('↵')`)
		b.key(kb.ArrowUp)
		b.is(active + ` === $$('[role=option]')[0] && $('.input').getAttribute('aria-activedescendant') === ` + active + `.id && root().activeElement === $('.search .input')`)
		b.key(kb.ArrowUp)
		b.is(active + ` === $$('[role=option]').at(-1)`)
		b.key(kb.ArrowDown)
		b.is(active + ` === $$('[role=option]')[0]`)
		b.enter() // does what the row says
		b.until(`text('.question') === 'installer'`)
		b.answered()
		b.key(kb.Escape)
		b.until(`!$('dialog').open`)
		b.until(`document.activeElement === document.body`)
		b.calm()
	})
	t.Run("Enter opens the first result, whose words are marked there", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		b.write("administrator")
		b.until(`$$('.result').length > 0`)
		b.enter()
		b.until(`location.pathname === '/install' && location.hash === '#linux'`)
		b.until(`CSS.highlights.get('docs-hit')?.size > 0`)
		b.is(`[...CSS.highlights.get('docs-hit')].every(r => /^administrator/i.test(String(r)))`)
		b.shoot("highlight")
		caddytest.Until(t, "the click is reported", func() bool {
			all := strings.Join(s.sent("/v1/events/acme"), "\n")
			return strings.Contains(all, `"type":"click","query":"administrator","path":"install#linux","position":1`) && strings.Contains(all, `"type":"search","query":"administrator"`)
		})
		// The search is among the recent ones now.
		b.open()
		b.until(`$$('[role=option]').some(o => o.textContent === 'administrator')`)
		b.is(`!CSS.highlights.get('docs-hit')`)
		b.shoot("recent")
		js[bool](b, `$$('[role=option]').find(o => o.textContent === 'Clear').click(), true`)
		b.until(`$$('[role=option]').length === 0`)
		b.calm()
	})
	t.Run("A client-side router's page is marked too", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		js[bool](b, `document.addEventListener('click', e => {
			const a = e.composedPath().find(n => n.href)
			if (!a) return
			e.preventDefault()
			history.pushState({}, '', a.href)
			const body = document.createElement('body'), main = document.createElement('main'), p = document.createElement('p')
			p.textContent = 'The countdown begins.'
			main.append(p); body.append(main)
			setTimeout(() => document.body.replaceWith(body), 60)
		}), true`)
		b.open()
		b.write("countdown")
		b.until(`$$('.result').length > 0`)
		b.enter()
		b.until(`location.pathname === '/config' && [...CSS.highlights.get('docs-hit') ?? []].some(r => r.startContainer.isConnected && String(r) === 'countdown')`)
		b.is(`root() && !$('dialog').open`)
		b.open() // it still opens
		b.calm()
	})
	t.Run("Ctrl and Enter leave the box open, and events have no text", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		js[bool](b, `addEventListener('click', e => { globalThis.clicked = [e.composedPath()[0].target, e.composedPath()[0].pathname]; e.preventDefault() }), true`)
		b.open()
		b.write("administrator")
		b.until(`$$('.result').length > 0`)
		b.enter(chromedp.ModifierCtrl)
		b.until(`globalThis.clicked`)
		b.is(`clicked[0] === '_blank' && clicked[1] === '/install' && $('dialog').open && $('.result').target === ''`)
		if events := js[string](b, `JSON.stringify(fired)`); events != `[["open",{"mode":"search"}],["search",{"hits":1}],["click",{"path":"install#linux","position":1}]]` {
			t.Errorf("events: %s", events)
		}
		b.calm()
	})
	t.Run("Results that may lack pages are searched again, and none is chosen before", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		js[bool](b, `addEventListener('click', e => { if (e.composedPath()[0].pathname) { globalThis.clicked = e.composedPath()[0].hash; e.preventDefault() } }), true`)
		b.open()
		js[bool](b, `{
			const own = window.fetch
			globalThis.searches = 0
			window.fetch = async (u, o) => {
				const response = await own(u, o)
				if (!String(u).includes('/v1/search/') || searches++ % 2) return response
				const [first] = await response.json()
				return new Response(JSON.stringify([first]), { headers: { 'X-Results-Incomplete': 'true', 'X-Total-Count': '1' } })
			}
		}; true`)
		b.write("installer")
		b.until(`$$('.result').length === 1 && text('.status') === 'Searching “installer” …'`)
		b.is(`!$('[aria-selected=true]')`)
		b.until(`$$('.result').length > 1 && $('[aria-selected=true]') === $('.result') && text('.status').startsWith('Results')`)
		b.is(`searches === 2`)
		// Enter does not wait.
		js[bool](b, `$('.search .input').value = '', true`)
		b.write("administrator")
		b.enter()
		b.until(`globalThis.clicked === '#linux'`)
		b.is(`searches === 4`)
		b.calm()
	})
	t.Run("A search that is overtaken is given up", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		js[bool](b, `{
			const own = window.fetch
			window.fetch = (u, o) => String(u).includes('/v1/search/') && o.body.includes('"administrator"')
				? new Promise((_, fail) => { globalThis.waits = true; o.signal.onabort = () => { globalThis.aborted = true; fail(o.signal.reason) } }) : own(u, o)
		}; true`)
		b.write("administrator")
		b.until(`globalThis.waits`)
		js[bool](b, `$('.search .input').value = '', true`)
		b.write("countdown")
		b.until(`globalThis.aborted && $$('.result').length > 0 && $$('.result').every(a => a.pathname === '/config')`)
		b.calm()
	})
	t.Run("An empty box offers questions to start with", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", `{"starters":["How do I install Acme?"]}`)
		b.open()
		b.is(`$('.results [role=group]').ariaLabel === 'Ask a question'`)
		b.key(kb.ArrowDown)
		b.enter()
		b.until(`text('.question') === 'How do I install Acme?'`)
		b.answered()
		b.calm()
	})
	t.Run("The pages above a page are named", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		b.write("igniter")
		b.until(`$$('.result').length > 0`)
		b.is(`text('.page') === 'Guide › Launch'`)
		b.calm()
	})
	t.Run("Nothing found offers to ask", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		b.write("qqxxzz")
		b.until(`text('.status').includes('“qqxxzz”') && $$('[role=option]').length === 1`)
		b.shoot("nothing")
		b.until(`text('.status').includes('Nothing found')`)
		b.enter()
		b.until(`text('.question') === 'qqxxzz'`)
		b.answered()
		b.calm()
	})
	t.Run("Shift and Enter ask what was typed", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		b.write("How about shift?")
		b.enter(chromedp.ModifierShift)
		b.until(`text('.question') === 'How about shift?'`)
		b.answered()
		b.calm()
	})
	t.Run("A question ends the search that was under way", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		js[bool](b, `{
			const own = window.fetch
			window.fetch = (u, o) => String(u).includes('/v1/search/')
				? new Promise((found, fail) => { globalThis.found = () => found(new Response('[]')); o.signal.onabort = () => fail(o.signal.reason) }) : own(u, o)
		}; true`)
		b.write("How does a search end?")
		b.until(`globalThis.found`)
		b.enter(chromedp.ModifierShift)
		b.answered()
		b.until(`text('.status').startsWith('The answer is complete')`)
		js[bool](b, `found(), new Promise(done => setTimeout(() => done(true), 300))`)
		b.is(`text('.status').startsWith('The answer is complete') && !fired.some(f => f[0] === 'search')`)
		b.calm()
	})
	t.Run("More results come on request", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		b.write("booster")
		b.until(`$$('.result').length === 7`)
		js[bool](b, `$$('[role=option]').find(o => o.textContent === 'More results').click(), true`)
		b.until(`$$('.result').length === 12`)
		b.is(`$('[aria-selected=true]') === $$('.result')[7]`)
		b.is(`!$$('[role=option]').some(o => o.textContent === 'More results')`)
		b.calm()
	})
	t.Run("An error is a sentence, and asking stays possible", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		js[bool](b, `window.fetch = async () => new Response('{"error":"too many","code":"rate_limited"}', { status: 429, headers: { 'Retry-After': '7' } }), true`)
		b.write("limited")
		b.until(`text('.status') === 'Too many requests. Try again in 7 seconds.'`)
		b.is(`$$('[role=option]').length === 1`)
	})
	t.Run("Links fill in and do not send", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/?q=never+sent", "")
		b.until(`$('dialog')?.open && $('.search .input').value === 'never sent'`)
		b.visit("/?ask=never+asked%3F", "")
		b.until(`$('dialog')?.open && seen('.ask') && $('.ask textarea').value === 'never asked?'`)
		b.is(`$$('.turn').length === 0`)
		for _, path := range []string{"/v1/search/acme", "/v2/assistant/acme/message"} {
			if all := strings.Join(s.sent(path), "\n"); strings.Contains(all, "never") {
				t.Errorf("sent: %s", all)
			}
		}
		b.calm()
	})
}

func testOpening(t *testing.T, s *stand) {
	t.Run("A button, a shortcut, an element and the API open it", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.shoot("button")
		b.click(".button")
		b.until(`$('dialog')?.open && fired.length`)
		b.key(kb.Escape)
		b.until(`!$('dialog').open`)
		b.until(`fired.map(f => f[0]).join() === 'open,close'`)
		// The site's own search has the same shortcut.
		js[bool](b, `globalThis.own = [], addEventListener('keydown', e => own.push(e.key)), true`)
		b.open()
		b.is(`!own.includes('k')`)
		b.key("k", chromedp.ModifierCtrl)
		b.until(`!$('dialog').open`)
		b.key("/")
		b.is(`!$('dialog').open`)
		js[bool](b, `Docs.open('ask'), true`)
		b.until(`seen('.ask')`)
		js[bool](b, `Docs.close(), true`)
		b.until(`!$('dialog').open`)
		js[bool](b, `Docs.search('thrust'), true`)
		b.until(`$$('.result').length > 0 && $('.search .input').value === 'thrust'`)
		js[bool](b, `Docs.ask('What is thrust?'), true`)
		b.until(`seen('.ask') && $('.ask textarea').value === 'What is thrust?' && $$('.turn').length === 0`)
		js[bool](b, `Docs.destroy(), true`)
		b.until(`!document.querySelector('caddy-docs') && !window.Docs`)
		b.key("k", chromedp.ModifierCtrl)
		b.is(`!document.querySelector('caddy-docs')`)
		b.calm()
	})
	t.Run("Caddy puts it into pages with the strictest policy", func(t *testing.T) {
		b := newTab(t, s)
		b.do(chromedp.Navigate(s.caddy.Base + "/install"))
		b.until(`window.Docs && root()`)
		b.open()
		b.write("administrator")
		b.until(`$$('.result').length > 0`)
		b.enter()
		b.until(`location.hash === '#linux' && CSS.highlights.get('docs-hit')?.size > 0`)
		b.ask("How do I install this page?")
		b.answered()
		b.is(`$('.answer pre') && $$('.sources a').length > 1`)
		b.calm()
	})
	t.Run("The tag works on pages of another origin", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/?policy=none&elsewhere=1", "")
		requested := b.requests()
		b.open()
		b.write("administrator")
		b.until(`$$('.result').length > 0`)
		b.ask("How do I install from elsewhere?")
		b.answered()
		b.is(`$('.answer pre') && $$('.sources a').length > 1`)
		for _, path := range []string{"/v1/token/acme", "/v1/search/acme", "/v2/assistant/acme/message"} {
			if !slices.Contains(requested(), s.caddy.Base+path) {
				t.Errorf("%s is not among %q", path, requested())
			}
		}
		b.calm()
	})
	t.Run("Settings change the button, the shortcut and the colours", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", `{"position":"h1","shortcut":"/","accent":"#0a7","theme":"[data-theme=dark]","title":"Acme help","placeholder":"Search Acme"}`)
		b.is(`!seen('.button')`)
		js[bool](b, `document.querySelector('h1').click(), true`)
		b.until(`$('dialog').open && $('.send')`)
		b.is(`$('dialog').ariaLabel === 'Acme help' && $('.search .input').placeholder === 'Search Acme'`)
		b.is(`getComputedStyle($('.send')).backgroundColor === 'rgb(0, 170, 119)'`)
		b.is(`getComputedStyle($('dialog')).backgroundColor === 'rgb(255, 255, 255)'`)
		js[bool](b, `document.documentElement.dataset.theme = 'dark', true`)
		b.until(`/^rgb\((\d\d?), \1, \1\)$/.test(getComputedStyle($('dialog')).backgroundColor)`) // dark gray
		b.key(kb.Escape)
		b.until(`!$('dialog').open`)
		// In a text field, a letter is text.
		js[bool](b, `{ const i = document.createElement('input'); document.body.append(i); i.focus() }; true`)
		b.key("/")
		b.is(`!$('dialog').open && document.querySelector('input').value === '/'`)
		js[bool](b, `document.activeElement.blur(), true`)
		b.key("/")
		b.until(`$('dialog').open`)
		b.calm()
	})
	t.Run("A position that is no selector leaves the button", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", `{"position":"#a["}`)
		b.is(`seen('.button')`)
		b.open()
		b.key(kb.Escape)
		b.until(`!$('dialog').open`)
		b.click(".button")
		b.until(`$('dialog').open`)
		b.visit("/", `{"position":"none"}`)
		b.is(`!seen('.button')`)
		b.open()
		b.calm()
	})
	t.Run("The box is light or dark as the page says", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		js[bool](b, `{
			const sheet = new CSSStyleSheet()
			sheet.replaceSync(':root[data-look=night] { color-scheme: dark } body.paper { color-scheme: light }')
			document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
		}; true`)
		light, dark := `getComputedStyle($('dialog')).color === 'rgb(0, 0, 0)'`, `getComputedStyle($('dialog')).color === 'rgb(255, 255, 255)'`
		b.media("prefers-color-scheme", "light")
		b.until(light)
		js[bool](b, `document.documentElement.dataset.look = 'night', true`)
		b.until(dark)
		b.media("prefers-color-scheme", "dark")
		js[bool](b, `document.body.className = 'paper', true`)
		b.until(light)
		js[bool](b, `document.body.className = '', delete document.documentElement.dataset.look`)
		b.until(dark) // as the reader's system
		b.media("prefers-color-scheme", "light")
		b.until(light)
		b.calm()
	})
	t.Run("Custom properties and parts change how it looks", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		js[bool](b, `{
			const sheet = new CSSStyleSheet()
			sheet.replaceSync('caddy-docs { --docs-accent: #b0c; --docs-radius: 4px; --docs-background: #ffe; --docs-font: monospace; --docs-width: 500px; --docs-text: #100; --docs-muted: #300; --docs-border: #0f0; --docs-font-mono: fantasy; --docs-z: 77 } :root { --docs-mark: #ff0; --docs-mark-text: #00f } caddy-docs::part(button) { bottom: 99px } caddy-docs::part(heading) { letter-spacing: 3px } caddy-docs::part(panel) { outline: 7px solid }')
			document.adoptedStyleSheets = [sheet]
		}; true`)
		b.is(`getComputedStyle($('.button')).backgroundColor === 'rgb(187, 0, 204)' && getComputedStyle($('.button')).bottom === '99px' && getComputedStyle($('.button')).zIndex === '77'`)
		b.open()
		b.write("installer")
		b.until(`$$('.result').length > 1`)
		b.is(`getComputedStyle($('dialog')).borderRadius === '4px' && getComputedStyle($('dialog')).backgroundColor === 'rgb(255, 255, 238)' && $('dialog').offsetWidth === 500`)
		b.is(`getComputedStyle($('dialog')).fontFamily === 'monospace' && getComputedStyle($('.heading')).letterSpacing === '3px'`)
		b.is(`getComputedStyle($('dialog')).outlineWidth !== '7px'`)
		b.is(`getComputedStyle($('dialog')).color === 'rgb(17, 0, 0)' && getComputedStyle($('.snippet')).color === 'rgb(51, 0, 0)' && getComputedStyle($('dialog')).borderColor === 'rgb(0, 255, 0)'`)
		b.ask("How do I install in colors?")
		b.answered()
		b.is(`getComputedStyle($('.answer pre code')).fontFamily === 'fantasy'`)
		b.click(".aside")
		b.until(`$('dialog.panel')?.open && getComputedStyle($('dialog')).outlineWidth === '7px' && getComputedStyle($('dialog')).zIndex === '77'`)
		b.is(`getComputedStyle(document.documentElement, '::highlight(docs-hit)').backgroundColor === 'rgb(255, 255, 0)' && getComputedStyle(document.documentElement, '::highlight(docs-hit)').color === 'rgb(0, 0, 255)'`)
		b.calm()
	})
	t.Run("Attributes of the tag override the settings", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/?tag=data-position%3D%22bottom-left%22+data-features%3D%22search%22+data-accent%3D%22%23c00%22", "")
		b.is(`getComputedStyle($('.button')).left === '16px' && getComputedStyle($('.button')).backgroundColor === 'rgb(204, 0, 0)'`)
		b.open()
		b.is(`$$('.mode').length === 1`)
		b.write("installer")
		b.until(`$$('.result').length > 1`)
		b.is(`$$('[role=option]').length === $$('.result').length`)
		b.visit("/?tag="+url.QueryEscape(`data-theme="dark" data-shortcut="/" data-placeholder="Find" data-title="Found" data-conversations="off"`), "")
		js[bool](b, `sessionStorage.clear(), true`)
		b.key("/")
		b.until(`$('dialog')?.open`)
		b.until(`$('.mode')`)
		b.is(`$('dialog').ariaLabel === 'Found' && $('.search .input').placeholder === 'Find' && getComputedStyle($('dialog')).colorScheme === 'dark'`)
		b.is(`localStorage.length === 0 && sessionStorage.length === 0`)
		b.calm()
	})
	t.Run("A page that runs the tag again has one box, and one that removes it gets it back", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/?twice=1", "")
		b.is(`document.querySelectorAll('caddy-docs').length === 1`)
		js[bool](b, `document.querySelector('caddy-docs').remove(), true`)
		b.until(`document.querySelector('caddy-docs')`)
		b.open()
		b.calm()
	})
	t.Run("Readers in ten languages have their own words", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/?policy=none", "") // Trusted Types would refuse the tag
		for _, c := range [][2]string{{"de", "Suche"}, {"fr", "Recherche"}, {"es", "Buscar"}, {"pt-BR", "Pesquisar"}, {"it", "Cerca"}, {"ru", "Поиск"}, {"zh-Hans", "搜索"}, {"ja", "検索"}, {"ko", "검색"}, {"en", "Search"}, {"xx", "Search"}} {
			// The tag again, in a page of another language.
			js[bool](b, `{
				Docs.destroy()
				document.documentElement.lang = `+quote(c[0])+`
				const tag = document.createElement('script')
				tag.src = '/v1/widget/acme.js'
				document.head.append(tag)
			}; true`)
			b.until(`window.Docs && text('.button').startsWith(` + quote(c[1]) + `)`)
			b.open()
			b.is(`text('.mode') === ` + quote(c[1]))
		}
		b.visit("/?lang=nl", `{"strings":{"nl":{"open":"Zoek of vraag","ask":"Vraag"}}}`)
		b.is(`text('.button').startsWith('Zoek of vraag')`)
		b.open()
		b.is(`text('.ask-mode') === 'Vraag' && text('.mode') === 'Search'`)
		b.calm()
	})
	t.Run("Results of a group name their site in its color", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", `{"site":"all"}`)
		b.open()
		b.write("igniter")
		b.until(`$$('.page').length === 3`)
		b.is(`$$('.page').map(p => p.textContent).toSorted().join() === 'Acme Notes › Rust,acme › Configure,acme › Guide › Launch'`)
		b.is(`$$('.results [role=group]').every(g => g.ariaLabel === g.firstChild.textContent)`)
		colors := js[[]string](b, `$$('.page').flatMap(p => [...p.querySelectorAll('span')].map((span, i) => i > 0 && getComputedStyle(span).color !== getComputedStyle(p).color ? 'of a folder' : i > 0 ? '' : getComputedStyle(span).color)).filter(c => c)`)
		if slices.Sort(colors); len(slices.Compact(colors)) != 2 {
			t.Errorf("colors: %q", colors)
		}
		if bad := contrasts(b, ".page span:first-child"); len(bad) > 0 {
			t.Errorf("contrast: %q", bad)
		}
		b.shoot("group")
		b.calm()
	})
	t.Run("Sites with similar names have different colors", func(t *testing.T) {
		s.extra("/v1/search/all", []byte(`[{"path":"a","metadata":{"title":"A","url":"/a","breadcrumbs":["Product A"],"site":"acme-product-a"}},{"path":"b","metadata":{"title":"B","url":"/b","breadcrumbs":["Product B"],"site":"acme-product-b"}}]`))
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.handle, "/v1/search/all")
		}()
		b := newTab(t, s)
		b.visit("/", `{"site":"all"}`)
		b.open()
		b.write("product")
		b.until(`$$('.page').length === 2`)
		b.is(`Math.abs($$('.page span').map(span => +getComputedStyle(span).color.match(/[\d.]+(?=\))/)[0]).reduce((a, b) => a - b)) > 30`)
		b.calm()
	})
	t.Run("A page's menu copies it, and leads to assistants and MCP", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/config", `{"features":["search","page_menu"],"mcp":true}`)
		b.until(`document.querySelector('h1 + caddy-docs')`)
		js[bool](b, `navigator.clipboard.write = async ([item]) => { globalThis.clip = await (await item.getType('text/plain')).text() }, globalThis.menu = document.querySelector('h1 + caddy-docs').shadowRoot, menu.querySelector('button').focus(), true`)
		b.key("\r")
		b.until(`menu.querySelector('.menu:popover-open')`)
		b.is(`[...menu.querySelectorAll('.menu a')].map(a => a.textContent + ' ' + decodeURIComponent(a.href)).join().includes('Open in ChatGPT https://chatgpt.com/?prompt=Read ' + location.origin + '/config. I')`)
		b.key("\t")
		b.is(`menu.activeElement.textContent === 'Copy as Markdown'`)
		b.key("\r")
		b.until(`menu.activeElement.textContent === 'Copied'`)
		b.is(`clip.includes('# Configure') && clip.includes('max_thrust')`)
		js[bool](b, `menu.querySelector('.menu > :last-child').click(), true`)
		b.until(`menu.querySelector('.menu > :last-child').textContent === 'Copied'`)
		b.is(`clip === location.origin + '/v1/mcp/acme'`)
		b.key(kb.Escape)
		b.until(`!menu.querySelector('.menu:popover-open')`)
		// A router that replaces the heading, and one that removes the widget.
		js[bool](b, `document.querySelector('main').replaceChildren(document.createElement('h1')), true`)
		b.until(`document.querySelector('h1 + caddy-docs')`)
		js[bool](b, `Docs.destroy(), true`)
		b.until(`!document.querySelector('caddy-docs')`)
		b.calm()
	})
	t.Run("A page's vote is asked for at its end", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/config", `{"features":["search","page_feedback"]}`)
		b.until(`own('.page-feedback')?.checkVisibility()`)
		b.shoot("page-feedback")
		// It is in the text's flow, covers nothing, and the keyboard reaches it there.
		b.is(`document.querySelector('main').lastElementChild.nodeName === 'CADDY-DOCS' && getComputedStyle(own('.page-feedback')).position !== 'fixed'`)
		b.is(`own('.page-feedback').getBoundingClientRect().top >= document.querySelector('main > p:last-of-type').getBoundingClientRect().bottom`)
		for range 2 {
			b.key(kb.Tab)
		}
		b.until(`own('.down').matches(':focus')`)
		b.key("\r")
		b.until(`own('.why')?.checkVisibility()`)
		js[bool](b, `own('.why .input').focus(), true`)
		b.write("votes from here")
		b.key("\r")
		caddytest.Until(t, "the vote is sent", func() bool {
			return strings.Contains(strings.Join(s.sent("/v1/feedback/acme"), "\n"), `"path":"/config","rating":"down","reasons":[],"comment":"votes from here"`)
		})
		// A router's next page is asked about, below its text; this one no more.
		js[bool](b, `history.pushState({}, '', '/install'), document.querySelector('main').insertAdjacentElement('beforeend', document.createElement('p')), true`)
		b.until(`document.querySelector('main').lastElementChild.nodeName === 'CADDY-DOCS' && own('.page-feedback').checkVisibility() && !own('.why').checkVisibility()`)
		b.visit("/config", `{"features":["search","page_feedback"]}`)
		b.until(`own('.page-feedback') && !own('.page-feedback').checkVisibility()`)
		js[bool](b, `Docs.destroy(), true`)
		b.until(`!document.querySelector('caddy-docs')`)
		b.calm()
	})
}
