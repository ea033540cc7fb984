package widget

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/npm"
)

// build is a generator of sites with a search: its program and arguments, sources
// by name or the folder below testdata/builds that holds them, what opens its
// search on a wide screen and on a phone, the letters that do, and whether it is
// closed. OUT is where the site is written to.
type build struct {
	name, command string
	sources       map[string]string
	folder        string
	opener, phone string
	keys, closed  string
}

var builds = []build{
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

// The sites are built here, with the search of their generator in place. One
// Caddy serves all, so that a tab works while another one waits.
func TestTheBoxTakesThePlaceOfTheSearchOfRealBuilds(t *testing.T) {
	loadAxe(t)
	outs, errs, blocks := make([]string, len(builds)), make([]error, len(builds)), make([]string, len(builds))
	ports := make([]int, len(builds))
	var built sync.WaitGroup
	for i, build := range builds {
		outs[i], ports[i] = t.TempDir(), caddytest.FreePort(t)
		blocks[i] = fmt.Sprintf("http://:%d {\n\tbind 127.0.0.1\n\troot %s\n\tdocs site-%d {\n\t\torganization acme\n\t\twidget inject\n\t}\n\tfile_server\n}\n", ports[i], outs[i], i)
		built.Go(func() { errs[i] = makeSite(t.Context(), build, outs[i]) })
	}
	built.Wait()
	server := caddytest.Start(t, "key "+caddytest.Key, strings.Join(blocks, ""))
	for i, build := range builds {
		t.Run(build.name, func(t *testing.T) {
			if build.folder == "" && errors.Is(errs[i], exec.ErrNotFound) {
				t.Skipf("%v: pip install -r caddytest/requirements.txt", errs[i])
			} else if errs[i] != nil {
				t.Fatal(errs[i])
			}
			b := newTab(t, &stand{Server: &httptest.Server{URL: fmt.Sprintf("http://localhost:%d", ports[i])}})
			api := server.For(t)
			api.Base = b.s.URL
			api.Ready(fmt.Sprintf("site-%d", i))
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

// makeSite writes a site to a folder. What npm's generators make of the same
// sources with the same packages is kept beside the packages: they take a minute.
func makeSite(ctx context.Context, b build, out string) error {
	command := strings.Fields(strings.Replace(b.command, "OUT", out, 1))
	if b.folder == "" {
		dir, err := os.MkdirTemp("", "build")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		for name, text := range b.sources {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
		return runIn(ctx, dir, "", command)
	}
	all, err := filepath.Abs("testdata/builds")
	if err != nil {
		return err
	}
	if err := npm.Install(ctx, all); err != nil {
		return err
	}
	dir, bin := filepath.Join(all, b.folder), filepath.Join(all, "node_modules", ".bin")
	sum, err := hashOf(b.command, filepath.Join(all, "package-lock.json"), dir)
	if err != nil {
		return err
	}
	kept := filepath.Join(all, "node_modules", ".built", b.folder+"-"+sum)
	if _, err := os.Stat(kept); err == nil {
		return os.CopyFS(out, os.DirFS(kept))
	}
	command[0] = filepath.Join(bin, command[0])
	if err := runIn(ctx, dir, bin, command); err != nil {
		return err
	}
	whole, err := os.MkdirTemp(filepath.Join(all, "node_modules"), ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(whole)
	if err := os.CopyFS(filepath.Join(whole, "site"), os.DirFS(out)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return err
	}
	return os.Rename(filepath.Join(whole, "site"), kept)
}

func runIn(ctx context.Context, dir, path string, command []string) error {
	run := exec.CommandContext(ctx, command[0], command[1:]...)
	run.Dir = dir
	run.Env = append(os.Environ(), "PATH="+path+string(filepath.ListSeparator)+os.Getenv("PATH"), "ASTRO_TELEMETRY_DISABLED=1")
	if said, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, npm.Last(said))
	}
	return nil
}

// hashOf returns a hash of a command and of files, without what generators put
// beside their sources.
func hashOf(command string, roots ...string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, command)
	for _, root := range roots {
		err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains([]string{"node_modules", ".docusaurus", ".astro", "cache"}, d.Name()):
				return fs.SkipDir
			case d.IsDir():
				return nil
			}
			data, err := os.ReadFile(file)
			fmt.Fprintf(sum, "%s %d\n%s", strings.TrimPrefix(file, root), len(data), data)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}
