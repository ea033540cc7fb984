//go:build unix

package locks

import (
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/oracle"
)

// Of random requests of random readers, none shows a page that its reader can't
// open, and next to none misses one that they can. bench locks asks for more.
func TestRandomReadersGetWhatTheyCanOpen(t *testing.T) { judge(t, false) }

// The same holds where the site is one of a group, and the group is asked.
func TestRandomReadersOfAGroupGetWhatTheyCanOpen(t *testing.T) { judge(t, true) }

const judged = 1000 // requests

func judge(t *testing.T, group bool) {
	site, err := oracle.New(t.TempDir(), 200, bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	auth := httptest.NewServer(site.Auth)
	t.Cleanup(auth.Close)
	s := caddytest.New(t)
	c := &oracle.Client{Site: site, Port: caddytest.FreePort(t), Key: caddytest.Key}
	t.Cleanup(c.Close)
	block, docs := site.Block(c.Port, auth.URL), ""
	w := &world{Server: s, rows: []*row{{site: site.Name, docs: make([]*doc, len(site.Pages))}}}
	if group {
		c.Group = "everything"
		others := caddytest.Folder(t, map[string]string{"news.html": "<title>News</title><main><h1>News</h1><p>" + oracle.Word(2_000_001) + "</p></main>"})
		docs = "site news {\nroot " + others + "\nlocks off\norganization oracle\n}\ngroup everything {\nsites *\norganization oracle\n}"
		block = strings.Replace(block, "\tbasic_auth", "\tsearch everything {\n\t\trate_limit off\n\t}\n\tbasic_auth", 1)
		w.rows = append(w.rows, &row{site: c.Group, docs: make([]*doc, len(site.Pages)+1)})
	}
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
	v, err := c.Judge(t.Context(), judged)
	if err != nil {
		t.Fatal(err)
	}
	if v.Wrong > 0 || v.Missed > v.Asked/100 || v.Silent > 0 {
		t.Errorf("of %d requests %d show what they must not, %d miss something, %d of them silently:\n%s", v.Asked, v.Wrong, v.Missed, v.Silent, strings.Join(v.Examples, "\n"))
	}
}
