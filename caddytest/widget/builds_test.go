package widget

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/npm"
)

// builds are generators of sites with a search. Of each, its program and
// arguments, sources by name or the folder below testdata/builds that holds
// them, what opens its search on a wide screen and on a phone, the letters that
// do, and whether it is closed. OUT is where the site is written to.
var builds = []struct {
	name, command string
	sources       map[string]string
	folder        string
	opener, phone string
	keys, closed  string
}{
	{
		"mdBook", "mdbook build -d OUT", map[string]string{
			"book.toml": "[book]\ntitle = \"Rockets\"\n", "src/SUMMARY.md": "# Summary\n\n- [Launch](launch.md)\n- [Wind](wind.md)\n",
			"src/launch.md": "# Launch\n\nPress the red igniter.\n", "src/wind.md": "# Wind\n\nAbove 20 knots, an administrator holds the countdown.\n",
		},
		"", "#mdbook-search-toggle", "#mdbook-search-toggle", "s/", "document.querySelector('#mdbook-search-wrapper').classList.contains('hidden')",
	},
	{
		"Material for MkDocs", "mkdocs build -q -d OUT", map[string]string{
			"mkdocs.yml":    "site_name: Rockets\ntheme:\n  name: material\n  font: false\n",
			"docs/index.md": "# Launch\n\nPress the red igniter.\n", "docs/wind.md": "# Wind\n\nAbove 20 knots, an administrator holds the countdown.\n",
		},
		"", ".md-search__input", ".md-header [for=__search]", "sf/", "!document.querySelector('#__search').checked",
	},
	{
		"Sphinx with Furo", "sphinx-build -q -b html . OUT", map[string]string{
			"conf.py": "project = 'Rockets'\nhtml_theme = 'furo'\n", "index.rst": "Launch\n======\n\nPress the red igniter.\n\n.. toctree::\n\n   wind\n",
			"wind.rst": "Wind\n====\n\nAbove 20 knots, an administrator holds the countdown.\n",
		},
		"", ".sidebar-search", "", "/", "document.querySelector('.sidebar-search').value === ''",
	},
	{
		"VitePress", "vitepress build --outDir OUT", nil,
		"vitepress", ".DocSearch-Button", ".DocSearch-Button", "/", "!document.querySelector('.VPLocalSearchBox')",
	},
	{
		"Starlight", "astro build --outDir OUT", nil,
		"starlight", "[data-open-modal]", "[data-open-modal]", "", "!document.querySelector('site-search dialog').open",
	},
	{
		"Docusaurus", "docusaurus build --no-minify --out-dir OUT", nil,
		"docusaurus", ".DocSearch-Button", ".DocSearch-Button", "/", "!document.querySelector('.DocSearch-Modal')",
	},
}

// The sites are built here, with the search of their generator in place.
func TestTheBoxTakesThePlaceOfTheSearchOfRealBuilds(t *testing.T) {
	loadAxe(t)
	for _, build := range builds {
		t.Run(build.name, func(t *testing.T) {
			out := t.TempDir()
			command := strings.Fields(strings.Replace(build.command, "OUT", out, 1))
			var dir, path string
			if build.folder != "" {
				all, err := filepath.Abs("testdata/builds")
				if err != nil {
					t.Fatal(err)
				}
				if err := npm.Install(t.Context(), all); err != nil {
					t.Fatal(err)
				}
				dir, path = filepath.Join(all, build.folder), filepath.Join(all, "node_modules", ".bin")
				command[0] = filepath.Join(path, command[0])
			} else if _, err := exec.LookPath(command[0]); err != nil {
				t.Skipf("%s is not installed: pip install -r caddytest/requirements.txt", command[0])
			} else {
				dir = caddytest.Folder(t, build.sources)
			}
			run := exec.CommandContext(t.Context(), command[0], command[1:]...)
			run.Dir = dir
			run.Env = append(os.Environ(), "PATH="+path+string(filepath.ListSeparator)+os.Getenv("PATH"), "ASTRO_TELEMETRY_DISABLED=1")
			if said, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", build.command, err, npm.Last(said))
			}
			if _, err := os.Stat(filepath.Join(out, "index.html")); err != nil {
				t.Fatal(err)
			}
			server := caddytest.Start(t, "key "+caddytest.Key,
				"http://:0 {\n\tbind 127.0.0.1\n\troot "+out+"\n\tdocs acme {\n\t\twidget inject\n\t}\n\tfile_server\n}\n")
			server.Ready("acme")
			b := openTab(t, &stand{Server: &httptest.Server{URL: server.Base}})
			opened := func() {
				t.Helper()
				b.until(`$('dialog')?.open && ` + build.closed)
				b.key(kb.Escape)
				b.until(`!$('dialog').open && ` + build.closed)
			}
			b.visit("/", "")
			at := js[string](b, `location.pathname`)
			b.is(`!seen('.button')`) // its own is there
			b.press(`document.querySelector(` + quote(build.opener) + `)`)
			b.until(`$('dialog')?.open && $('.mode')`)
			b.write("administrator")
			b.until(`$$('.result').length > 0`)
			b.key(kb.ArrowRight) // turns the page in mdBook
			b.is(`location.pathname === ` + quote(at))
			looks := func(width string) {
				t.Helper()
				for _, scheme := range []string{"light", "dark"} {
					b.media("prefers-color-scheme", scheme)
					b.axe(build.name+", "+width+", "+scheme, "caddy-docs")
					b.shoot("build-" + strings.Fields(build.name)[0] + "-" + width + "-" + scheme)
				}
			}
			looks("1280")
			opened()
			js[bool](b, `document.activeElement.blur(), true`)
			for _, key := range build.keys {
				b.until(`document.activeElement === document.body`)
				b.key(string(key))
				opened()
			}
			b.open()
			opened()

			b.visit("/", "")
			b.network(-1)
			b.press(`document.querySelector(` + quote(build.opener) + `)`)
			b.until(`$('dialog').open && text('.status') === 'Offline' && location.pathname === ` + quote(at))
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
			xy := js[[]float64](b, `(r => [r.x + r.width / 2, r.y + r.height / 2])(`+on+`.getBoundingClientRect())`)
			call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: xy[0], Y: xy[1]}}})
			call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}})
			b.until(`$('dialog')?.open && $('.mode')`)
			b.write("administrator")
			b.until(`$$('.result').length > 0`)
			looks("390")
			opened()
			if found := js[[]string](b, "errors"); len(found) > 0 {
				t.Errorf("errors: %q", found)
			}

			// A page that is missing has the frame of the others, and no errors.
			for _, width := range []int64{390, 1280} {
				b.do(chromedp.EmulateViewport(width, 760))
				b.visit("/guides/windd", "")
				const block = `document.querySelector('[data-docs-missing]')`
				b.is(block + `.checkVisibility() && ` + block + `.querySelector('h1').innerText === 'Page not found'`)
				b.is(`(r => r.left >= 0 && r.right <= innerWidth && r.top < innerHeight / 2)(` + block + `.querySelector('h1').getBoundingClientRect())`)
				b.is(`/wind/.test(` + block + `.querySelector('li a').href) && !/igniter/.test(document.body.innerText)`)
				b.is(`document.documentElement.scrollWidth <= innerWidth`)
				for _, scheme := range []string{"light", "dark"} {
					b.media("prefers-color-scheme", scheme)
					b.shoot("missing-" + strings.Fields(build.name)[0] + "-" + strconv.FormatInt(width, 10) + "-" + scheme)
				}
			}
			b.do(chromedp.Navigate(js[string](b, `document.querySelector('[data-docs-missing] li a').href`)))
			b.until(`/wind/.test(location.pathname) && /20 knots/.test(document.body.innerText)`)
		})
	}
}
