//go:build unix

package locks

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/oracle"
)

const judged = 1000 // requests

// Of random requests of random readers, none shows a page that its reader can't
// open, and next to none misses one that they can. bench locks asks for more.
// The same holds where the site is one of a group, and the group is asked.
func TestRandomReadersGetWhatTheyCanOpen(t *testing.T) {
	c := startOracle(t)
	for _, group := range []string{"", "everything"} {
		c.Group = group
		v, err := c.Judge(t.Context(), judged)
		if err != nil {
			t.Fatal(err)
		}
		if v.Wrong > 0 || v.Missed > v.Asked/100 || v.Silent > 0 {
			t.Errorf("group %q: of %d requests %d show what they must not, %d miss something, %d of them silently:\n%s", group, v.Asked, v.Wrong, v.Missed, v.Silent, strings.Join(v.Examples, "\n"))
		}
	}
	t.Run("moved pages are named to those who can open them", func(t *testing.T) { movePages(t, c) })
}

// startOracle serves the site, alone and in the group everything, and asks for each
// page as each reader.
func startOracle(t *testing.T) *oracle.Client {
	site, err := oracle.New(t.TempDir(), 200, bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	auth := httptest.NewServer(site.Auth)
	t.Cleanup(auth.Close)
	s := caddytest.New(t)
	c := &oracle.Client{Site: site, Port: caddytest.FreePort(t), Key: caddytest.Key}
	t.Cleanup(c.Close)
	others := caddytest.Folder(t, map[string]string{"news.html": "<title>News</title><main><h1>News</h1><p>" + oracle.Word(2_000_001) + "</p></main>"})
	docs := "site news {\nroot " + others + "\nlocks off\norganization oracle\n}\ngroup everything {\nsites *\norganization oracle\n}"
	block := strings.NewReplacer("rate_limit off", "rate_limit off\n\t\tmoved redirect", "\tbasic_auth", "\tsearch everything {\n\t\trate_limit off\n\t}\n\tbasic_auth").Replace(site.Block(c.Port, auth.URL))
	w := &world{Server: s, rows: []*row{{site: site.Name, docs: make([]*doc, len(site.Pages))}, {site: "everything", docs: make([]*doc, len(site.Pages)+1)}}}
	global := strings.Replace(caddytest.Global(s.Dir, docs), "auto_https off", "auto_https disable_redirects\n\tlocal_certs", 1)
	if err := s.TryLoad(global + block); err != nil {
		t.Fatal(err)
	}
	w.settle(t)
	opened, err := c.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all := len(site.Pages) * len(site.Readers); opened < all/2 || opened > all*3/4 {
		t.Fatalf("%d of %d pages open: the locks are others than meant", opened, all)
	}
	return c
}

// Half of the pages move, to folders with other locks. A request for an old URL
// names a page that is locked before or after only to readers who can open it, and
// leads to one that always was public.
func movePages(t *testing.T, c *oracle.Client) {
	type move struct {
		page    int
		old     string
		wasOpen bool // to strangers
	}
	var moves []move
	for i := range c.Pages {
		if i%4 > 1 {
			continue
		}
		old, folder := c.Pages[i].Path, []string{"guide", "handbook", "staff", "lists", "groups/red", "office", "vault"}[i/4%7]
		c.Pages[i].Path = fmt.Sprintf("/%s/m%d.html", folder, i)
		to := filepath.Join(c.Root(), filepath.FromSlash(c.Pages[i].Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(c.Root(), filepath.FromSlash(old)), to); err != nil {
			t.Fatal(err)
		}
		moves = append(moves, move{page: i, old: old, wasOpen: strings.HasPrefix(old, "/guide/")})
	}
	site := caddytest.App(t).Site(c.Name)
	caddytest.Until(t, "all moves are found", func() bool {
		proved := 0
		for _, f := range site.Pages().FormerPages() {
			if f.Proved {
				proved++
			}
		}
		return proved == len(moves) && site.Known()
	})
	caddytest.AllAsked(t, c.Name)
	if _, err := c.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked, redirected, public := 0, 0, 0
	for _, r := range c.Readers {
		for _, m := range moves {
			for _, accept := range []string{"text/html", "application/json", "text/markdown"} {
				status, header, body, err := c.Do(t.Context(), r, http.MethodGet, m.old, map[string]string{"Accept": accept}, nil)
				if err != nil {
					t.Fatal(err)
				}
				asked++
				said := header.Get("Location") + " " + string(body)
				for i, p := range c.Pages {
					if !c.Opens(r, i) && (strings.Contains(said, p.Word) || strings.Contains(said, strings.TrimSuffix(p.Path, ".html"))) {
						t.Errorf("%s asks for %s and gets the name of %s: %d %s", r.Name, m.old, p.Path, status, said)
					}
				}
				to := c.Pages[m.page].Path
				if header.Get("Location") == to {
					redirected++
				}
				if m.wasOpen && (strings.HasPrefix(to, "/guide/") || strings.HasPrefix(to, "/handbook/")) {
					if public++; header.Get("Location") != to {
						t.Errorf("%s asks for %s and is led to %q, not to %s: %d", r.Name, m.old, header.Get("Location"), to, status)
					}
				}
			}
		}
	}
	t.Logf("%d requests, %d redirected, %d of them between public pages", asked, redirected, public)
	if public == 0 || redirected <= public || redirected > asked/2 {
		t.Errorf("of %d requests %d are redirected, %d between public pages", asked, redirected, public)
	}
}
