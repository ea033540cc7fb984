package source

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest/sourcetest"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

func TestAFolderIsASource(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "docs")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.md", "# A")
	write("b.html", "<h1>B</h1>")
	sourcetest.Source{
		Open:   func(*testing.T) retrieval.Source { return &Folder{Root: dir, Below: "guide/"} },
		Change: func(*testing.T) { write("a.md", "# Another") },
		Break: func(t *testing.T) {
			if err := os.Rename(dir, dir+"-away"); err != nil {
				t.Fatal(err)
			}
		},
		Restore: func(t *testing.T) {
			if err := os.Rename(dir+"-away", dir); err != nil {
				t.Fatal(err)
			}
		},
	}.Test(t)
}

func TestASitemapIsASource(t *testing.T) {
	site := newSite(t)
	site.text("/sitemap.xml", urlset("SITE/a", "SITE/b"))
	site.text("/a", "<h1>A</h1>")
	site.text("/b", "<h1>B</h1>")
	down := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	sourcetest.Source{
		Open: func(*testing.T) retrieval.Source {
			s := site.sitemap()
			s.Interval = 10 * time.Millisecond
			return s
		},
		Change:  func(*testing.T) { site.text("/a", "<h1>Another</h1>") },
		Break:   func(*testing.T) { site.set("/sitemap.xml", down) },
		Restore: func(*testing.T) { site.text("/sitemap.xml", urlset("SITE/a", "SITE/b")) },
	}.Test(t)
}
