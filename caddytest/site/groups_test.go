package site

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// twoSites are sites at hosts of their own, with lines in the block of the first,
// and a block with the API of the group acme.
func twoSites(docs, blog, lines string) string {
	return fmt.Sprintf(`http://docs.acme.test:0 {
	root * %q
	docs docs {
		url http://docs.acme.test
		name "Acme Docs"
	}
	%s
	file_server
}
http://blog.acme.test:0 {
	root * %q
	docs blog {
		url http://blog.acme.test
	}
	file_server
}
http://localhost:0 {
	search acme docs blog
	assistant acme docs blog
	docs_mcp acme
	docs_llms acme
}
`, docs, lines, blog)
}

// acmeGroup has both sites, and a key that opens the group alone.
const acmeGroup = "group acme {\nsites docs blog\n}\nkey " + caddytest.Key + " {\nsites acme\n}\n"

var (
	docsPages = map[string]string{
		"index.html":         "<!doctype html><html lang=en><title>Docs</title><main><h1>Docs</h1><p>The manual of the rocket, page by page.</p></main></html>",
		"guide/fuel.html":    "<!doctype html><html lang=en><title>Fuel</title><main><h1>Fuel</h1><p>Fill the tank with kerosene before each launch of the rocket.</p></main></html>",
		"staff/payload.html": "<!doctype html><html lang=en><title>Payload</title><main><h1>Payload</h1><p>The zirconium payload is known to the staff alone, and to nobody else.</p></main></html>",
	}
	blogPages = map[string]string{
		"index.html":  "<!doctype html><html lang=en><title>Blog</title><main><h1>Blog</h1><p>News of the rocket, week by week.</p></main></html>",
		"launch.html": "<!doctype html><html lang=en><title>Our first launch</title><main><h1>Our first launch</h1><p>We burned kerosene for nine minutes, and it worked.</p></main></html>",
	}
)

// groupFinds returns the paths of the results of a search of the group, in order.
func groupFinds(s *caddytest.Server, query string) string {
	var all []string
	for _, r := range s.Search("acme", fmt.Sprintf("{\"query\":%q}", query)) {
		all = append(all, r.Path)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestAGroupIsSearchedAsOneSite(t *testing.T) {
	docs, blog := caddytest.Folder(t, docsPages), caddytest.Folder(t, blogPages)
	s := caddytest.Start(t, acmeGroup, twoSites(docs, blog, ""))
	groupReady(t, s)
	for _, r := range s.Search("acme", `{"query":"fuel"}`) {
		if r.Path == "docs/guide/fuel" && (r.Metadata.URL != "http://docs.acme.test/guide/fuel.html" || r.Metadata.Site != "docs" || r.Metadata.Breadcrumbs[0] != "Acme Docs") {
			t.Errorf("got %+v", r)
		}
	}
	if got := s.Search("acme", `{"query":"kerosene","filter":{"site":"Blog"}}`); len(got) != 1 || got[0].Metadata.Site != "blog" {
		t.Errorf("filtered by site: got %+v", got)
	}
	if r := s.Do(caddytest.Request{Path: "/v1/search/docs", Body: `{"query":"x"}`}); r.Status != 403 {
		t.Errorf("the key of the group opens a site: %d %s", r.Status, r.Body)
	}
}

// groupReady waits until the pages of both sites are in the group.
func groupReady(t *testing.T, s *caddytest.Server) {
	t.Helper()
	s.Ready("acme")
	caddytest.Until(t, "both sites are in the group", func() bool { return groupFinds(s, "kerosene") == "blog/launch docs/guide/fuel" })
}

func TestTheLocksOfASiteHoldInItsGroup(t *testing.T) {
	docs, blog := caddytest.Folder(t, docsPages), caddytest.Folder(t, blogPages)
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	s := caddytest.Start(t, acmeGroup, twoSites(docs, blog, "basic_auth /staff/* {\n\t\treader "+string(hash)+"\n\t}\n\t@bad header X-Bad yes\n\trespond @bad 403"))
	groupReady(t, s)
	staff := http.Request{Header: http.Header{}}
	staff.SetBasicAuth("reader", "secret")
	// ask asks the group as a reader.
	ask := func(path, body string, header map[string]string) *caddytest.Response {
		header["X-API-Key"], header["Content-Type"] = caddytest.Key, "application/json"
		return s.Do(caddytest.Request{Path: path, Key: "-", Body: body, Header: header})
	}
	for name, header := range map[string]map[string]string{"a stranger": {}, "the staff": {"Authorization": staff.Header.Get("Authorization")}} {
		opens := name == "the staff"
		for _, c := range [][2]string{
			{"/v1/search/acme", `{"query":"zirconium payload"}`},
			{"/v1/page/acme", `{"path":"docs/staff/payload"}`},
			{"/v1/page/acme", `{"path":"http://docs.acme.test/staff/payload.html"}`},
			{"/v1/mcp/acme", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"zirconium payload"}}}`},
			{"/v1/assistant/acme/message", `{"fp":"x","messages":[{"role":"user","content":"What is the zirconium payload known to?"}]}`},
		} {
			if r := ask(c[0], c[1], header); strings.Contains(string(r.Body), "nobody else") != opens {
				t.Errorf("%s asks %s %s: %d %s", name, c[0], c[1], r.Status, r.Body)
			}
		}
	}
	for _, path := range []string{"/v1/page/acme"} {
		locked, missing := ask(path, `{"path":"docs/staff/payload"}`, map[string]string{}), ask(path, `{"path":"docs/staff/nothing"}`, map[string]string{})
		if locked.Status != missing.Status || locked.Error(t).Error != missing.Error(t).Error {
			t.Errorf("a locked page is told from one that is missing: %s, %s", locked.Body, missing.Body)
		}
	}
	if r := ask("/v1/search/acme", `{"query":"kerosene"}`, map[string]string{"X-Bad": "yes"}); r.Status != http.StatusForbidden {
		t.Errorf("a client whom a site refuses its pages gets results of the group: %d %s", r.Status, r.Body)
	}
	if r := s.Do(caddytest.Request{Method: http.MethodGet, Path: "/llms-full.txt"}); r.Status != 200 || strings.Contains(string(r.Body), "zirconium") || !strings.Contains(string(r.Body), "nine minutes") {
		t.Errorf("llms-full.txt: %d %s", r.Status, r.Body)
	}
	// The lock of a page that was public holds in the group at once.
	s.Load(acmeGroup, twoSites(docs, blog, "basic_auth {\n\t\treader "+string(hash)+"\n\t}"))
	caddytest.Until(t, "the pages of the site are asked for again", func() bool { return caddytest.App(t).Site("docs").Reach.View().Complete })
	if got := groupFinds(s, "kerosene"); got != "blog/launch" {
		t.Errorf("got %s", got)
	}
}

func TestAGroupFollowsItsSites(t *testing.T) {
	docs, blog := caddytest.Folder(t, docsPages), caddytest.Folder(t, blogPages)
	s := caddytest.Start(t, acmeGroup, twoSites(docs, blog, ""))
	groupReady(t, s)
	status := func() retrieval.Status { return caddytest.App(t).Site("acme").Index.Refresher.Status() }

	caddytest.Write(t, blog, map[string]string{"landing.html": "<!doctype html><html lang=en><title>Landing</title><main><h1>Landing</h1><p>It came down in the tundra.</p></main></html>"})
	caddytest.Until(t, "the new page is found", func() bool { return groupFinds(s, "tundra") == "blog/landing" })
	if last := status().Last; last.Added != 1 || last.Read != 1 {
		t.Errorf("for one new page, the group has read %d: %+v", last.Read, last)
	}
	if err := os.Remove(filepath.Join(blog, "landing.html")); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "it is gone", func() bool { return groupFinds(s, "tundra") == "" })

	s.Load(strings.Replace(acmeGroup, "sites docs blog", "sites b*", 1), twoSites(docs, blog, ""))
	caddytest.Until(t, "a site that the group no longer has is gone", func() bool { return groupFinds(s, "kerosene") == "blog/launch" })
	s.Load(acmeGroup, twoSites(docs, blog, ""))
	groupReady(t, s)
}

func TestAGroupAnswersWithoutASiteThatCantBeRead(t *testing.T) {
	blog := caddytest.Folder(t, blogPages)
	docs := filepath.Join(blog, "none")
	s := caddytest.Start(t, acmeGroup, twoSites(docs, blog, ""))
	s.Ready("acme")
	if got := groupFinds(s, "kerosene"); got != "blog/launch" {
		t.Errorf("got %s", got)
	}
	if p := caddytest.App(t).Site("acme").Index.Refresher.Status().Problems; len(p) != 1 || p[0].File != "docs" || !strings.Contains(p[0].Reason, "create the folder") {
		t.Errorf("the status of the group has the problems %+v", p)
	}
	caddytest.Write(t, docs, docsPages)
	groupReady(t, s)
}

func TestGroupsThatCantBe(t *testing.T) {
	root := caddytest.AcmeFolder(t)
	for _, c := range []struct{ docs, want string }{
		{"group all {\nsites acme none\n}", "group all: there is no site none; defined are: acme"},
		{"group all {\nsites x-*\n}", "group all: there is no site x-*; defined are: acme"},
		{"group all {\norganization other\n}", "group all: no site has organization other; defined are: acme"},
		{"group all {\nsites acme\n}\ngroup more {\nsites all\n}", "group more: all is a group; a group is of sites"},
		{"group acme {\nsites acme\n}", "site acme is defined twice"},
		{"group all", "group all has no sites: write sites <site>..."},
		{"group all {\nsites acme acme\n}", "acme is named twice"},
		{"group all {\nsites acme\nroot /srv\n}", "root is a word of"},
		{"group all {\nsites acme\n}\ngroup all {\nsites acme\n}", "all is the name of a site or group already"},
	} {
		s := caddytest.New(t)
		if err := s.TryLoad(caddytest.Global(s.Dir, c.docs+"\nkey "+caddytest.Key+" {\norganization acme\n}") + caddytest.Site(root)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.docs, err, c.want)
		}
	}
}
