package site

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
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
	s.Ready("acme")
	caddytest.Until(t, "both sites are in the group", func() bool { return groupFinds(s, "kerosene") == "blog/launch docs/guide/fuel" })
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
