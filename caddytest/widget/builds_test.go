package widget

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// builds are generators of sites with a search. Of each, its program and
// arguments, sources by name, where it writes, what opens its search on a wide
// screen and on a phone, the letters that do, and whether it is closed.
var builds = []struct {
	name, command string
	sources       map[string]string
	out           string
	opener, phone string
	keys, closed  string
}{
	{
		"mdBook", "mdbook build", map[string]string{
			"book.toml": "[book]\ntitle = \"Rockets\"\n", "src/SUMMARY.md": "# Summary\n\n- [Launch](launch.md)\n- [Wind](wind.md)\n",
			"src/launch.md": "# Launch\n\nPress the red igniter.\n", "src/wind.md": "# Wind\n\nAbove 20 knots, an administrator holds the countdown.\n",
		},
		"book", "#mdbook-search-toggle", "#mdbook-search-toggle", "s/", "document.querySelector('#mdbook-search-wrapper').classList.contains('hidden')",
	},
	{
		"Material for MkDocs", "mkdocs build -q", map[string]string{
			"mkdocs.yml":    "site_name: Rockets\ntheme:\n  name: material\n  font: false\n",
			"docs/index.md": "# Launch\n\nPress the red igniter.\n", "docs/wind.md": "# Wind\n\nAbove 20 knots, an administrator holds the countdown.\n",
		},
		"site", ".md-search__input", ".md-header [for=__search]", "sf/", "!document.querySelector('#__search').checked",
	},
	{
		"Sphinx with Furo", "sphinx-build -q -b html . out", map[string]string{
			"conf.py": "project = 'Rockets'\nhtml_theme = 'furo'\nexclude_patterns = ['out']\n", "index.rst": "Launch\n======\n\nPress the red igniter.\n\n.. toctree::\n\n   wind\n",
			"wind.rst": "Wind\n====\n\nAbove 20 knots, an administrator holds the countdown.\n",
		},
		"out", ".sidebar-search", "", "/", "document.querySelector('.sidebar-search').value === ''",
	},
}

// The sites are built here, with the search of their generator in place.
func TestTheBoxTakesThePlaceOfTheSearchOfRealBuilds(t *testing.T) {
	loadAxe(t)
	for _, build := range builds {
		t.Run(build.name, func(t *testing.T) {
			command := strings.Fields(build.command)
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skipf("%s is not installed: pip install -r caddytest/requirements.txt", command[0])
			}
			dir := caddytest.Folder(t, build.sources)
			run := exec.CommandContext(t.Context(), command[0], command[1:]...)
			run.Dir = dir
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", build.command, err, out)
			}
			if _, err := os.Stat(filepath.Join(dir, build.out, "index.html")); err != nil {
				t.Fatal(err)
			}
			server := caddytest.Start(t, "key "+caddytest.Key,
				"http://:0 {\n\tbind 127.0.0.1\n\troot "+filepath.Join(dir, build.out)+"\n\tdocs acme {\n\t\twidget inject\n\t}\n\tfile_server\n}\n")
			server.Ready("acme")
			b := openTab(t, &stand{Server: &httptest.Server{URL: server.Base}})
			opened := func(what string) {
				t.Helper()
				b.until(`$('dialog')?.open && ` + build.closed)
				b.shoot("build-" + strings.Fields(build.name)[0] + "-" + what)
				b.key(kb.Escape)
				b.until(`!$('dialog').open && ` + build.closed)
			}
			b.visit("/", "")
			path := js[string](b, `location.pathname`)
			b.is(`!seen('.button')`) // its own is there
			b.press(`document.querySelector(` + quote(build.opener) + `)`)
			b.until(`$('dialog')?.open && $('.mode')`)
			b.write("administrator")
			b.until(`$$('.result').length > 0`)
			b.key(kb.ArrowRight) // turns the page in mdBook
			b.is(`location.pathname === ` + quote(path))
			for _, scheme := range []string{"light", "dark"} {
				b.media("prefers-color-scheme", scheme)
				b.axe(build.name+", "+scheme, "caddy-docs")
			}
			opened("click")
			js[bool](b, `document.activeElement.blur(), true`)
			for _, key := range build.keys {
				b.until(`document.activeElement === document.body`)
				b.key(string(key))
				opened("key")
			}
			b.open()
			opened("shortcut")

			b.visit("/", "")
			b.network(-1)
			b.press(`document.querySelector(` + quote(build.opener) + `)`)
			b.until(`$('dialog').open && text('.status') === 'Offline' && location.pathname === ` + quote(path))
			b.network(0)

			b.visit("/", "")
			b.network(400)
			b.press(`document.querySelector(` + quote(build.opener) + `)`)
			for _, letter := range "administrator" {
				b.key(string(letter))
			}
			b.until(`$('.search .input').value === 'administrator'`)
			b.enter()
			b.until(`/wind/.test(location.pathname)`)
			b.network(0)

			b.visit("/?q=administrator", "")
			b.until(`$('dialog')?.open && $('.search .input').value === 'administrator'`)
			b.enter()
			b.until(`$$('.result').length > 0 && !location.search`)
			b.do(chromedp.Reload())
			b.until(`window.Docs && root() && !$('dialog').open`)

			b.do(chromedp.EmulateViewport(390, 760, chromedp.EmulateMobile, chromedp.EmulateTouch))
			b.visit("/", "")
			on := `document.querySelector(` + quote(build.phone) + `)`
			if build.phone == "" { // below the menu of its theme
				b.until(`seen('.button')`)
				on = `$('.button')`
			}
			at := js[[]float64](b, `(r => [r.x + r.width / 2, r.y + r.height / 2])(`+on+`.getBoundingClientRect())`)
			call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: at[0], Y: at[1]}}})
			call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}})
			opened("phone")
			if found := js[[]string](b, "errors"); len(found) > 0 {
				t.Errorf("errors: %q", found)
			}
		})
	}
}
