package widget

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

const longAnswer = "Use the installer:\n\n```sh\nsudo acme-install --prefix /opt/acme --with-a-very-long-option-that-does-not-fit-into-the-width-of-the-dialog-at-all yes\n```\n\n1. Download the **archive**.\n2. Run [the installer](/install#linux).\n   - on *Linux*\n   - on Windows\n\n| system | command |\n|:--|--:|\n| Linux | `acme-install` |\n| Windows | `acme-setup.exe` |\n\n> Restart the rocket afterwards.\n\nSee also [thrust limits](/config#thrust)."

func TestWidget(t *testing.T) {
	s := newStand(t)
	s.on("How do I install", modelserver.Reply{Text: longAnswer})

	t.Run("Search", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.shoot("button")
		b.open()
		b.key("instaler")
		b.until(`$$('[role=option]').length > 2`)
		b.key(kb.ArrowDown)
		b.shoot("search")
		b.calm()
	})
	t.Run("Ask", func(t *testing.T) {
		b := newTab(t, s)
		b.visit("/", "")
		b.ask("How do I install Acme?")
		b.answered()
		b.shoot("ask")
		if got := js[string](b, `text('.answer')`); !strings.Contains(got, "acme-install") {
			t.Errorf("the answer is %q", got)
		}
		b.calm()
	})
}
