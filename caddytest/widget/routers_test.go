package widget

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// testRouters: pages change under the widget without a load, by the routers
// that site generators use.
func testRouters(t *testing.T, s *stand) {
	for _, router := range []string{"react", "vue", "turbo"} {
		t.Run("A conversation survives the pages of a router: "+router, func(t *testing.T) {
			s.bundle(t, "/extra/"+router+".js", "testdata/routers/"+router+".js",
				`process.env.NODE_ENV="production"`, "__VUE_OPTIONS_API__=false", "__VUE_PROD_DEVTOOLS__=false", "__VUE_PROD_HYDRATION_MISMATCH_DETAILS__=false")
			b := newTab(t, s)
			// Turbo reads HTML and sets styles, which the strict policy refuses.
			b.visit("/?policy=none&script=/extra/"+router+".js", "")
			js[bool](b, `globalThis.loaded = true`)
			b.ask("Who is the router " + router + "?")
			b.answered()
			b.click(".aside")
			b.until(`$('dialog.panel')?.open`)
			js[bool](b, `document.querySelector('a[href="/install"]').click(), true`)
			b.until(`location.pathname === '/install' && document.querySelector('h1').textContent === 'Install Acme'`)
			b.is(`loaded && root().host.isConnected && $('dialog.panel').open && $$('.turn').length === 1`)
			b.ask("What does " + router + " do here?")
			b.until(`$$('.turn').length === 2`)
			b.answered()
			if asked := s.asked("What does " + router); !strings.Contains(asked, `"currentPath":"/install"`) || !strings.Contains(asked, "Who is the router") {
				t.Errorf("asked: %s", asked)
			}
			b.history(-1)
			b.until(`location.pathname === '/' && document.querySelector('h1').textContent === 'Acme'`)
			b.is(`loaded && $('dialog.panel').open && $$('.turn').length === 2`)
			b.key(kb.Escape)
			b.until(`!$('dialog').open`)
			b.open()
			b.write("administrator")
			b.until(`$$('.result').length > 0`)
			b.enter()
			b.until(`location.pathname === '/install' && location.hash === '#linux' && !$('dialog')?.open`)
			b.until(`document.querySelectorAll('caddy-docs').length === 1 && window.Docs && root()`)
			b.calm()
		})
	}
}
