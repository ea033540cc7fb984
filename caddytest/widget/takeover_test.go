package widget

import (
	_ "embed"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// searches are the buttons and fields of built-in searches, as the generators
// write them, each below its name and the letters that open it.
//
//go:embed testdata/searches.html
var searches string

// hears is a site's own search: it listens to everything, everywhere, also
// before the loader's script has run.
const hears = `globalThis.heard = []
document.addEventListener('DOMContentLoaded', () => {
	const own = document.querySelector('#own > *')
	for (const on of [own, document, window]) for (const type of ['click', 'mousedown', 'focus', 'focusin', 'keydown', 'submit'])
		for (const capture of [true, false]) {
			if (on === window && capture) continue
			on.addEventListener(type, e => { if (on === window ? type === 'keydown' : own.contains(e.target)) heard.push(type + ' ' + e.key) }, capture)
		}
})`

// beside serves a page with a built-in search at a path.
func (s *stand) beside(path, fragment, config string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle[path] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Own</title><script>%s</script><script src="/v1/widget/acme.js?config=%s" defer></script></head><body><div id="own">%s</div><main><p>A <a href="/install" style="color:#b30059">link</a></p></main></body></html>`,
			hears, html.EscapeString(config), fragment)
	}
}

func testTakeover(t *testing.T, s *stand) {
	rows := regexp.MustCompile(`<!-- (.*?), (\S*?)-->\n([^!]*)(?:\n|$)`).FindAllStringSubmatch(strings.ReplaceAll(searches, "<!--", "\x00<!--")+"\x00", -1)
	if len(rows) != 15 {
		t.Fatalf("%d searches", len(rows))
	}
	for i, row := range rows {
		name, keys, fragment := row[1], row[2], strings.TrimRight(row[3], "\x00\n")
		path := fmt.Sprintf("/own/%d", i)
		s.beside(path, fragment, "{}")
		t.Run("The box takes the place of the search of "+name, func(t *testing.T) {
			b := newTab(t, s)
			b.do(chromedp.Navigate(s.URL + path))
			b.until(`window.Docs && root()`)
			b.is(`!seen('.button')`) // the site's own is there
			const own = `[...document.querySelectorAll('#own :is(button,a,label,input:not([type=checkbox],[type=hidden],[type=submit]))')].at(-1)`
			b.press(own)
			b.until(`$('dialog').open`)
			b.write("install")
			b.until(`$$('.result').length > 1 && $('.search .input').value === 'install'`)
			b.is(`location.pathname === '` + path + `' && !document.querySelector('#__search')?.checked`)
			b.key(kb.Escape)
			b.until(`!$('dialog').open`)
			if js[bool](b, own+`.matches('input')`) {
				js[bool](b, own+`.focus(), true`)
				b.key("x")
				b.until(`$('dialog').open && $('.search .input').value.endsWith('x')`)
				b.is(own + `.value === ''`)
				b.key(kb.Escape)
				b.until(`!$('dialog').open`)
			}
			js[bool](b, `document.activeElement.blur(), true`)
			for _, key := range []string{"/", "s", "f"} {
				js[bool](b, `heard = [], true`)
				b.key(key)
				if strings.Contains(keys, key) {
					b.until(`$('dialog').open && heard.length === 0`)
					b.key(kb.Escape)
					b.until(`!$('dialog').open && document.activeElement === document.body`)
				} else {
					b.until(`heard.length > 0`)
					b.is(`!$('dialog').open`)
				}
			}
			js[bool](b, `heard = [], true`)
			b.key("k", chromedp.ModifierCtrl)
			b.until(`$('dialog').open`)
			b.key(kb.ArrowLeft) // turns the page in mdBook
			b.is(`heard.filter(h => h !== 'keydown Control').length === 0`)
			b.calm()
		})
	}
	fragment := strings.TrimRight(rows[0][3], "\x00\n")
	s.beside("/own/kept", fragment, `{"replace":"off"}`)
	s.beside("/own/corner", fragment, `{"position":"bottom-left"}`)
	t.Run("replace off and position leave the site's own search alone", func(t *testing.T) {
		b := newTab(t, s)
		for _, path := range []string{"/own/kept", "/own/corner"} {
			b.do(chromedp.Navigate(s.URL + path))
			b.until(`window.Docs && seen('.button')`)
			b.press(`document.querySelector('#own button')`)
			b.until(`heard.some(h => h.startsWith('click'))`)
			b.is(`!$('dialog').open`)
			b.click(".button")
			b.until(`$('dialog').open`)
		}
		b.calm()
	})
	s.beside("/own/menu", `<div style="position:absolute;left:-300px">`+fragment+`</div>`, "{}")
	t.Run("A search that is out of sight gets a button", func(t *testing.T) {
		b := newTab(t, s)
		b.do(chromedp.Navigate(s.URL + "/own/menu"))
		b.until(`window.Docs && seen('.button')`)
		b.calm()
	})
	t.Run("A finger opens it", func(t *testing.T) {
		b := newTab(t, s)
		b.do(chromedp.EmulateViewport(390, 760, chromedp.EmulateMobile, chromedp.EmulateTouch))
		b.do(chromedp.Navigate(s.URL + "/own/5"))
		b.until(`window.Docs && root()`)
		at := js[[]float64](b, `(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('#own label').getBoundingClientRect())`)
		for _, kind := range []input.DispatchTouchEventType{input.DispatchTouchEventTypeTouchStart, input.DispatchTouchEventTypeTouchEnd} {
			touch := input.DispatchTouchEventParams{Type: kind, TouchPoints: []*input.TouchPoint{}}
			if kind == input.DispatchTouchEventTypeTouchStart {
				touch.TouchPoints = append(touch.TouchPoints, &input.TouchPoint{X: at[0], Y: at[1]})
			}
			call(b, input.DispatchTouchEvent, touch)
		}
		b.until(`$('dialog').open && !document.querySelector('#__search').checked`)
		b.until(`$('.mode')`)
		b.write("install")
		b.until(`$$('.result').length > 1`)
		small := js[[]string](b, `$$('button, [role=option]').filter(e => e.checkVisibility()).filter(e => { const r = e.getBoundingClientRect(); return r.width < 44 || r.height < 44 }).map(e => e.outerHTML.slice(0, 80))`)
		if len(small) > 0 {
			t.Errorf("targets below 44 px: %q", small)
		}
		// The keyboard of a phone takes a part of the visual viewport.
		js[bool](b, `Object.defineProperty(visualViewport, 'height', { value: 400 }), visualViewport.dispatchEvent(new Event('resize'))`)
		b.until(`$('dialog').getBoundingClientRect().height === 400`)
		b.calm()
	})
	t.Run("No letter is lost at 400 ms, nor Enter", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/config", "")
		b.network(400)
		b.key("k", chromedp.ModifierCtrl)
		b.is(`$('dialog').open && !$('.mode')`)
		for _, letter := range "administrator" {
			b.key(string(letter))
		}
		b.is(`$('.search .input').value === 'administrator'`) // whenever the rest came
		b.enter()
		b.until(`location.pathname === '/install' && location.hash === '#linux'`)
		b.network(0)
		b.calm()
	})
	t.Run("Without a network the dialog says so, and goes on when it is back", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.network(-1)
		b.key("k", chromedp.ModifierCtrl)
		b.key("install")
		b.until(`text('.status') === 'Offline' && $('.search .input').value === 'install' && location.pathname === '/'`)
		b.axe("offline", "html")
		b.network(0)
		b.key("e")
		b.until(`$$('.result').length > 1 && $('.search .input').value === 'installe'`)
		b.key(kb.Escape)
		b.until(`!$('dialog').open`)
	})
	t.Run("Something shows before the answer to a search or a question", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		js[bool](b, `{
			const real = window.fetch
			globalThis.hold = () => {
				const released = new Promise(release => globalThis.release = release)
				window.fetch = (...all) => released.then(() => real(...all))
			}
			hold()
			$('.search .input').value = 'install'
			$('.search .input').dispatchEvent(new InputEvent('input'))
		}; true`)
		b.until(`$('.results').ariaBusy === 'true'`)
		js[bool](b, `release(), true`)
		b.until(`$$('.result').length > 1`)
		b.is(`$('.results').ariaBusy === 'false'`)
		js[bool](b, `hold(), $('[role=option]').click(), true`)
		b.until(`text('.turn .note') === 'Writing …' && $('.turn .note').getBoundingClientRect().bottom < innerHeight`)
		js[bool](b, `release(), true`)
		b.answered()
		b.calm()
	})
	t.Run("The color and the font are the page's, and the contrast is kept", func(t *testing.T) {
		b := newTab(t, s)
		b.do(chromedp.Navigate(s.URL + "/own/menu"))
		b.until(`window.Docs && seen('.button')`)
		b.is(`getComputedStyle($('.button')).backgroundColor === 'rgb(179, 0, 89)'`)
		js[bool](b, `document.querySelector('main').insertAdjacentHTML('afterbegin', '<p><a class="btn" href="/" style="color:#fff">Start</a></p>'), document.body.style.fontFamily = 'fantasy', document.querySelector('main a:not(.btn)').style.color = '#ffd400', document.body.className = 'x', true`)
		b.until(`getComputedStyle($('.button')).fontFamily === 'fantasy' && getComputedStyle($('.button')).backgroundColor === 'rgb(255, 212, 0)'`)
		b.open()
		b.ask("How do I install in this color?")
		b.answered()
		if bad := contrasts(b, ".answer a"); len(bad) > 0 {
			t.Errorf("contrast: %q", bad)
		}
		b.calm()
	})
	t.Run("A link is searched or asked once, and leaves the address", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/config?q=administrator&x=1#thrust", "")
		b.until(`$('dialog').open && $('.search .input').value === 'administrator' && text('.status').startsWith('Search')`)
		b.is(`$$('.result').length === 0`)
		b.enter()
		b.until(`$$('.result').length > 0`)
		b.is(`location.pathname === '/config' && !/[?&]q=/.test(location.search) && location.search.includes('x=1') && location.hash === '#thrust'`)
		b.visit("/?ask=How+do+I+install+by+link%3F", "")
		b.until(`$('.ask textarea')?.value === 'How do I install by link?'`)
		b.enter()
		b.answered()
		b.is(`!location.search.includes('ask=')`)
		b.do(chromedp.Reload())
		b.until(`window.Docs && root()`)
		b.is(`!$('dialog').open`)
		b.calm()
	})
	t.Run("Only a site's own page of results keeps its query", func(t *testing.T) {
		form := `<form action="results"><input name="q" aria-label="Search"></form>`
		s.beside("/own/form", form, "{}")
		s.beside("/own/results", form, "{}")
		b := newTab(t, s)
		b.do(chromedp.Navigate(s.URL + "/own/form?q=installer"))
		b.until(`$('dialog')?.open && $('.search .input').value === 'installer'`)
		b.do(chromedp.Navigate(s.URL + "/own/results?q=installer"))
		b.until(`window.Docs && root()`)
		b.open() // the rest is there then
		b.is(`$('.search .input').value === ''`)
		b.enter()
		b.is(`location.search === '?q=installer'`)
		b.calm()
	})
	t.Run("The panel has room beside the page, and nothing jumps", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/install?policy=none", "")
		js[bool](b, `{
			const p = document.createElement('p')
			p.textContent = 'A long paragraph about rockets. '.repeat(2000)
			document.querySelector('h1').after(p)
			document.querySelector('#linux').scrollIntoView()
			scrollBy(0, -1)
			globalThis.top0 = document.querySelector('#linux').getBoundingClientRect().top
		}; true`)
		js[bool](b, `new Promise(done => setTimeout(() => {
			globalThis.shift = 0
			new PerformanceObserver(l => { for (const e of l.getEntries()) if (!e.hadRecentInput) shift += e.value }).observe({ type: 'layout-shift' })
			done(true)
		}, 200))`)
		width := js[float64](b, `document.body.getBoundingClientRect().width`)
		b.ask("How do I install beside the page?")
		b.answered()
		at := func(expression string) {
			t.Helper()
			b.until(expression)
			b.until(`Math.abs(document.querySelector('#linux').getBoundingClientRect().top - top0) < 2`)
		}
		b.press(`$('.aside')`)
		at(fmt.Sprintf(`$('dialog.panel')?.open && document.body.getBoundingClientRect().width === %v - 448`, width))
		b.shoot("room")
		b.key(kb.Escape)
		at(fmt.Sprintf(`!$('dialog').open && document.body.getBoundingClientRect().width === %v`, width))
		b.is(`shift < .01`)
		b.do(chromedp.EmulateViewport(1000, 800))
		js[bool](b, `Docs.open('ask'), true`)
		b.until(`$('dialog').open`)
		b.press(`$('.aside')`)
		b.until(`$('dialog.panel')?.open`)
		b.is(`document.body.getBoundingClientRect().right > 900`) // below 1,100 px it overlays
		b.calm()
	})
	t.Run("What readers write keeps its direction in right-to-left texts", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/?dir=rtl&lang=ar", `{"strings":{"ar":{"askThis":"اسأل “{q}”"}}}`)
		b.open()
		b.write("max_thrust (newtons)")
		b.until(`$$('.result').length > 0`)
		b.is(`$('[role=option]').textContent.includes('“\u2068max_thrust (newtons)\u2069”')`)
		b.shoot("rtl-search")
		b.calm()
	})
	t.Run("Thumbs are in view below a long answer", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		s.on("thumbs in view", reply(strings.Repeat("A long paragraph of an answer that goes on and on.\n\n", 60)))
		b.ask("Are the installer's thumbs in view?")
		b.answered()
		b.is(`$('.turns').scrollHeight > 2 * $('.turns').clientHeight`)
		b.is(`$('.up').getBoundingClientRect().bottom <= $('.turns').getBoundingClientRect().bottom + 1`)
		names := js[[]string](b, `$$('.turn button').map(e => e.ariaLabel)`)
		if joined := strings.Join(names, " "); strings.Count(joined, "Copy") > 1 && !strings.Contains(joined, "Copy answer") {
			t.Errorf("buttons: %q", names)
		}
		b.calm()
	})
}

// press clicks on an element as a mouse does.
func (b *tab) press(element string) {
	b.t.Helper()
	at := js[[]float64](b, `(r => [r.x + r.width / 2, r.y + r.height / 2])(`+element+`.getBoundingClientRect())`)
	b.do(chromedp.MouseClickXY(at[0], at[1]))
}

// network delays what the tab requests, for the milliseconds given; a negative
// number is no network.
func (b *tab) network(delay float64) {
	b.t.Helper()
	call(b, network.Enable, network.EnableParams{})
	call(b, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: delay != 0})
	conditions := cdp.Command[network.OverrideNetworkStateParams, cdp.Empty]{Method: "Network.emulateNetworkConditions"}
	call(b, conditions, network.OverrideNetworkStateParams{Offline: delay < 0, Latency: max(delay, 0), DownloadThroughput: -1, UploadThroughput: -1})
}

// contrasts returns the accents, light and dark, with which the send button or
// texts in the box can't be read (WCAG AA).
func contrasts(b *tab, texts string) []string {
	b.t.Helper()
	return js[[]string](b, `{
		const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })
		const light = color => {
			canvas.fillStyle = color
			canvas.fillRect(0, 0, 1, 1)
			const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
			return .2126 * r + .7152 * g + .0722 * b
		}
		const contrast = (a, b) => { const [l, d] = [light(a), light(b)].sort((a, b) => b - a); return (l + .05) / (d + .05) }
		const bad = []
		for (const scheme of ['light', 'dark']) for (const accent of ['#ffd400', '#0a7', '#f60', '#2563eb', '#808080', '#000', '#fff', '#7fff00', '#c0f', '#0ff', '#919191', '#f00']) {
			root().host.style.colorScheme = scheme
			root().host.style.setProperty('--docs-accent', accent)
			const [send, box] = ['.send', 'dialog'].map(s => getComputedStyle($(s)))
			for (const [what, ratio] of [['button', contrast(send.color, send.backgroundColor)], ...$$(`+quote(texts)+`).map(e => [e.textContent, contrast(getComputedStyle(e).color, box.backgroundColor)])])
				if (!(ratio >= 4.5)) bad.push(scheme + ' ' + accent + ' ' + what + ' ' + ratio.toFixed(2))
		}
		bad
	}`)
}
