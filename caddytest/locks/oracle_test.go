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
func TestRandomReadersGetWhatTheyCanOpen(t *testing.T) {
	site, err := oracle.New(t.TempDir(), 200, bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	auth := httptest.NewServer(site.Auth)
	t.Cleanup(auth.Close)
	s := caddytest.New(t)
	c := &oracle.Client{Site: site, Port: caddytest.FreePort(t), Key: caddytest.Key}
	t.Cleanup(c.Close)
	global := strings.Replace(caddytest.Global(s.Dir, ""), "auto_https off", "auto_https disable_redirects\n\tlocal_certs", 1)
	if err := s.TryLoad(global + site.Block(c.Port, auth.URL)); err != nil {
		t.Fatal(err)
	}
	w := &world{Server: s, rows: []*row{{site: site.Name, docs: make([]*doc, len(site.Pages))}}}
	w.settle(t)
	opened, err := c.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all := len(site.Pages) * len(site.Readers); opened < all/2 || opened > all*3/4 {
		t.Fatalf("%d of %d pages open: the locks are others than meant", opened, all)
	}
	v, err := c.Judge(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if v.Wrong > 0 || v.Missed > v.Asked/100 || v.Silent > 0 {
		t.Errorf("of %d requests %d show what they must not, %d miss something, %d of them silently:\n%s", v.Asked, v.Wrong, v.Missed, v.Silent, strings.Join(v.Examples, "\n"))
	}
}
