package widget

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
	"github.com/caddy-docs/caddy-docs/caddytest/npm"
)

// axe checks that axe-core finds nothing in what a selector of the page matches.
// It comes by DevTools: Trusted Types would refuse it as a script of the page.
func (b *tab) axe(state, within string) {
	b.t.Helper()
	if axe == "" {
		b.t.Skip("axe-core is not installed")
	}
	if !js[bool](b, `Boolean(window.axe)`) {
		js[bool](b, axe+"\n;true")
	}
	found := js[[]string](b, `axe.run(`+quote(within)+`, { resultTypes: ['violations'] }).then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 150) + ' ' + (n.any[0]?.message ?? '')).join(' | ')))`)
	for _, f := range found {
		b.t.Errorf("axe, %s: %s", state, f)
	}
}

var axe string

func loadAxe(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	if err := npm.Install(t.Context(), "."); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	axe = string(source)
}

func testLooks(t *testing.T, s *stand) {
	for _, size := range []struct {
		name          string
		width, height int64
		touch         bool
	}{{"1280", 1280, 800, false}, {"390", 390, 760, true}} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run("axe finds nothing in any state, "+size.name+" "+scheme, func(t *testing.T) {
				b := newTab(t, s)
				options := []chromedp.EmulateViewportOption{}
				if size.touch {
					options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
				}
				b.do(chromedp.EmulateViewport(size.width, size.height, options...))
				b.media("prefers-color-scheme", scheme, "prefers-reduced-motion", "reduce")
				state := func(name string) {
					b.t.Helper()
					b.axe(name, "html")
					b.shoot(fmt.Sprintf("%s-%s-%s", name, size.name, scheme))
				}
				b.visit("/", `{"starters":["How do I install Acme?"],"support":"/help?thread={t}"}`)
				b.is(`matchMedia('(prefers-color-scheme: dark)').matches === ` + fmt.Sprint(scheme == "dark"))
				state("button")
				b.open()
				// The box follows the scheme: its own text is light or dark.
				b.is(`(getComputedStyle($('dialog')).color === 'rgb(255, 255, 255)') === ` + fmt.Sprint(scheme == "dark"))
				state("search-empty")
				b.write("installer")
				b.until(`$$('.result').length > 1`)
				b.key(kb.ArrowDown)
				state("search-results")
				js[bool](b, `$('.search .input').value = '', Docs.search('qqxxzz'), true`)
				b.until(`text('.status').includes('qqxxzz')`)
				state("search-nothing")
				js[bool](b, `Docs.open('ask'), true`)
				b.until(`seen('.ask')`)
				state("ask-empty")
				b.click(".chips .chip")
				b.until(`seen('span.chip')`)
				state("ask-about")
				b.ask("How do I install Acme?")
				b.answered()
				b.is(`$('.turns').scrollTop + $('.turns').clientHeight <= $('.turns').scrollHeight`)
				state("ask-answer")
				b.click(".down")
				b.until(`seen('.why')`)
				b.click(".sources summary")
				state("ask-feedback")
				// Five that break off in a row, of all tabs, would open the model's breaker.
				if scheme == "light" {
					b.ask("It breaks off")
					b.answered()
					b.is(`$('.turn:last-child .problem').getBoundingClientRect().bottom <= $('.turns').getBoundingClientRect().bottom`) // a new turn comes into view
					state("ask-error")
				}
				if !size.touch {
					// A page whose root has another font size, as mdBook's, has the same box.
					js[bool](b, `document.documentElement.style.fontSize = '10px', true`)
					b.click(".aside")
					b.until(`$('dialog.panel')?.open`)
					b.is(`$('dialog').offsetWidth === 448`)
					state("ask-panel")
				} else {
					b.is(`$('dialog').getBoundingClientRect().width === innerWidth && $('dialog').getBoundingClientRect().height === innerHeight`)
				}
				b.is(`$('.turns').scrollWidth <= $('.turns').clientWidth + 1`) // nothing makes it wide
				b.visit("/config", `{"features":["search","ask","page_menu"],"mcp":true}`)
				b.until(`document.querySelector('h1 + caddy-docs')`)
				js[bool](b, `globalThis.menu = document.querySelector('h1 + caddy-docs').shadowRoot, menu.querySelector('button').click(), true`)
				b.until(`menu.querySelector('.menu:popover-open')`)
				b.is(`document.documentElement.scrollWidth <= innerWidth`)
				b.is(`[...menu.querySelectorAll('button, a')].every(e => e.offsetHeight >= ` + map[bool]string{true: "44", false: "24"}[size.touch] + `)`)
				state("page-menu")
				b.visit("/install", `{"features":["search","page_feedback"]}`)
				b.until(`own('.page-feedback')?.checkVisibility()`)
				js[bool](b, `scrollTo(0, 1e6), true`)
				state("page-feedback")
				js[bool](b, `own('.page-feedback .down').click(), true`)
				b.until(`own('.page-feedback .why').checkVisibility()`)
				b.until(`own('.page-feedback').getBoundingClientRect().bottom <= $('.button').getBoundingClientRect().top || own('.page-feedback').getBoundingClientRect().right <= $('.button').getBoundingClientRect().left`)
				b.is(`document.documentElement.scrollWidth <= innerWidth`)
				state("page-feedback-note")
				b.calm()
			})
		}
	}
	t.Run("Right-to-left pages have the box right to left", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/?dir=rtl&lang=ar", `{"strings":{"ar":{"search":"بحث"}}}`)
		b.is(`text('.button').startsWith('بحث')`)
		b.open()
		b.is(`getComputedStyle($('dialog')).direction === 'rtl' && $('.field svg').getBoundingClientRect().left > $('.input').getBoundingClientRect().left`)
		b.ask("How do I install Acme?")
		b.answered()
		b.is(`getComputedStyle($('.code')).direction === 'ltr'`)
		// English, as it was asked: the question mark is at its right end.
		b.is(`(() => { const r = new Range(), t = $('.question').firstChild; r.setStart(t, t.length - 1); r.setEnd(t, t.length); const mark = r.getBoundingClientRect(); r.setStart(t, 0); return Math.abs(mark.right - r.getBoundingClientRect().right) < 1 })()`)
		// Each paragraph of the answer runs as it begins; lists and tables as the page does.
		s.on("which way", reply("Install it:\n\nثبّت الحزمة install الآن.\n\n1. ثبّت.\n\n| ثبّت |\n|---|\n| a |"))
		b.ask("The installer: which way?")
		b.answered()
		b.until(`$$('.turn:last-child .answer p').length === 3`)
		b.is(`$$('.turn:last-child .answer p').slice(0, 2).map(p => { const r = new Range(); r.selectNodeContents(p); const a = r.getBoundingClientRect(), b = p.getBoundingClientRect(); return [a.left - b.left < 1, b.right - a.right < 1].join() }).join(' ') === 'true,false false,true'`)
		b.is(`getComputedStyle($('.turn:last-child .answer ol')).direction === 'rtl'`)
		// The full stop ends the Arabic sentence at its left.
		b.is(`(() => { const r = new Range(), t = $$('.turn:last-child .answer p')[1].lastChild; r.setStart(t, t.length - 1); r.setEnd(t, t.length); const stop = r.getBoundingClientRect(); r.setStart(t, 0); return Math.abs(stop.left - r.getBoundingClientRect().left) < 1 })()`)
		b.shoot("rtl")
		b.calm()
	})
	t.Run("It is not printed, does not move where motion is reduced, and shows in forced colours", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.open()
		b.media("prefers-reduced-motion", "reduce", "forced-colors", "active")
		b.is(`matchMedia('(forced-colors: active)').matches && root().getAnimations().length === 0`)
		b.write("installer")
		b.until(`$$('.result').length > 1`)
		b.key(kb.ArrowDown)
		b.is(`getComputedStyle($('[aria-selected=true]')).outlineStyle === 'solid'`)
		b.shoot("forced-colors")
		b.print()
		b.is(`getComputedStyle(document.querySelector('caddy-docs')).display === 'none' && !seen('dialog')`)
		b.calm()
	})
}

// hostile are answers of a model that was talked into harm.
var hostile = []string{
	"![x](https://evil.test/i.png) [y](https://evil.test/a) <https://evil.test/b> https://evil.test/c www.evil.test",
	"<img src=https://evil.test/h.png onerror=\"globalThis.pwned=1\"><script>globalThis.pwned=1</script><a href=\"https://evil.test/x\">z</a><iframe src=\"https://evil.test\"></iframe>",
	"[a](javascript:globalThis.pwned=1) [b](JaVaScRiPt:globalThis.pwned=1) [c](data:text/html,<script>1</script>) [d](vbscript:x) [e](&#106;avascript:globalThis.pwned=1) [f](//evil.test/p)",
	"A line\u2028separator ```\u2028 [a](javascript:1) and \u2029 more",
	"```html\n<img src=\"https://evil.test/i.png\">\n[x](https://evil.test)\nnot closed",
	"| a | b |\n|---|---|\n| ![x](https://evil.test/t.png) | [y](https://evil.test/t) |",
	"[x][1]\n\n[1]: https://evil.test/ref\n\n- [ ] ![z](https://evil.test/z.png)",
	"> ```\n> [x](https://evil.test/q)\n[y](https://evil.test/r)",
	strings.Repeat("> ", 3000) + "deep " + strings.Repeat("[", 3000) + strings.Repeat("*a_b~~", 2000),
	strings.Repeat("- ", 2000) + "\n" + strings.Repeat(" ", 5000) + "x" + strings.Repeat("`", 2000) + strings.Repeat("![", 2000),
}

func testHostile(t *testing.T, s *stand) {
	t.Run("A hostile answer links and loads nothing foreign", func(t *testing.T) {
		b := newTab(t, s)
		requested := b.requests()
		b.visit("/?policy=none", "") // which would hide what is requested
		for i, text := range hostile {
			q := fmt.Sprintf("Hostile answer %d.", i)
			s.on(q, reply(text))
			b.ask(q)
			b.until(fmt.Sprintf(`$$('.turn').length === %d`, i+1))
			b.answered()
		}
		foreign := js[[]string](b, `$$('[href],[src],[srcset],[action],[style*=url]').filter(e => new URL(e.href || e.src || e.action || '', location.href).origin !== location.origin).map(e => e.outerHTML)`)
		if len(foreign) > 0 {
			t.Errorf("foreign: %q", foreign)
		}
		b.is(`!globalThis.pwned && $$('img,iframe,script,object,svg image').length === 0`)
		b.calm()
		if all := requested(); len(all) < len(hostile) {
			t.Errorf("only %d requests are known", len(all))
		}
		for _, address := range requested() {
			if !strings.HasPrefix(address, s.URL+"/") || strings.HasSuffix(address, ".png") {
				t.Errorf("requested: %s", address)
			}
		}
		b.shoot("hostile")
	})
}

// testFaults asks a model that fails. Between the faults it answers, since one
// that fails again and again is not asked for a while.
func testFaults(t *testing.T, s *stand) {
	b := openTab(t, s)
	requested := b.requests()
	b.visit("/?policy=none", "")
	// Replies that broke off in tests before may have opened the breaker.
	caddytest.Until(t, "the model is asked", func() bool {
		b.ask("How do I install before it?")
		b.answered()
		return js[bool](b, `!!$('.turn:last-child .answer pre')`)
	})
	js[bool](b, `$(".head button[title='New conversation']").click(), true`)
	for i, fault := range []modelserver.Fault{modelserver.Refuse, modelserver.Cut, modelserver.End, modelserver.ErrorObject, modelserver.HTML, modelserver.Blank, modelserver.Repeat} {
		s.on(fmt.Sprintf("the fault %q.", fault), modelserver.Reply{Text: hostile[0] + "\n\n" + hostile[1], Fault: fault, After: 9})
		b.ask(fmt.Sprintf("The installer with the fault %q.", fault))
		b.until(fmt.Sprintf(`$$('.turn').length === %d`, 2*i+1))
		b.answered()
		b.is(`text('.turn:last-child .answer') || text('.turn:last-child .problem')`)
		b.ask("How do I install after it?")
		b.until(fmt.Sprintf(`$$('.turn').length === %d`, 2*i+2))
		b.answered()
		b.is(`$('.turn:last-child .answer pre')`)
	}
	b.is(`!globalThis.pwned && $$('.turn [href]').every(e => e.origin === location.origin) && $$('img,iframe,script,object').length === 0`)
	for _, address := range requested() {
		if !strings.HasPrefix(address, s.URL+"/") {
			t.Errorf("requested: %s", address)
		}
	}
	b.calm()
}
