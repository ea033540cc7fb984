package widget

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// testPlainPage looks at the page without JavaScript. Its width and its colors
// have nothing to do with each other, so two of the four will do.
func testPlainPage(t *testing.T, s *stand) {
	for width, scheme := range map[int64]string{1280: "light", 390: "dark"} {
		t.Run(fmt.Sprintf("The page without JavaScript, %d %s", width, scheme), func(t *testing.T) {
			b := newTab(t, s)
			b.do(chromedp.EmulateViewport(width, 800))
			b.media("prefers-color-scheme", scheme)
			look := func(state string) {
				t.Helper()
				b.axe(state, "html")
				b.is(`document.documentElement.scrollWidth <= innerWidth`)
				b.shoot(fmt.Sprintf("plain-%s-%d-%s", state, width, scheme))
			}
			b.do(chromedp.Navigate(s.URL + "/v1/ask/acme?q=installer"))
			b.until(`document.querySelectorAll('ol > li mark').length > 0`)
			look("search")
			b.do(chromedp.Navigate(s.URL + "/v1/ask/acme?q=How+do+I+install+Acme%3F"))
			b.until(`document.querySelector('[formmethod=post]')`)
			js[bool](b, `document.querySelector('[formmethod=post]').click(), true`)
			b.until(`document.querySelector('section pre') && document.querySelectorAll('section td').length === 4`)
			b.is(`getComputedStyle(document.querySelector('section ol > li')).listStyleType === 'decimal'`)
			look("answer")
			call(b, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": "ja"}})
			b.do(chromedp.Navigate(s.URL + "/v1/ask/acme?q=qqxxzz"))
			b.until(`document.documentElement.lang === 'ja' && document.querySelector('h2').textContent === '見つかりませんでした'`)
			look("nothing")
			b.calm()
		})
	}
}
