package meilisearch

import (
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
)

func TestMeilisearchThatRefusesTheKeyIsTheOperatorsToMend(t *testing.T) {
	m := caddytest.StartMeilisearch(t)
	s := caddytest.Start(t, meiliIndex(m.URL, ""), caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	for _, fault := range []meiliserver.Fault{{Status: 403, Code: "invalid_api_key"}, {Status: 401, Code: "missing_authorization_header"}} {
		m.Break(func(*http.Request) *meiliserver.Fault { return &fault })
		for range 2 { // the second finds the server put aside
			r, _ := searchSite(s, "install")
			if r.Status != http.StatusInternalServerError || r.Error(t).Code != "search_misconfigured" || r.Header.Get("Retry-After") != "" {
				t.Errorf("%s: %d %v %s", fault.Code, r.Status, r.Header, r.Body)
			}
			if strings.Contains(string(r.Body), "API key") {
				t.Errorf("the response has the server's message: %s", r.Body)
			}
		}
	}
	m.Break(func(*http.Request) *meiliserver.Fault {
		return &meiliserver.Fault{Status: 503, Code: "too_many_search_requests"}
	})
	caddytest.Until(t, "a busy server is another matter", func() bool {
		r, _ := searchSite(s, "install")
		return r.Status == http.StatusServiceUnavailable && r.Error(t).Code == "search_unavailable" && r.Header.Get("Retry-After") != ""
	})
	m.Break(nil)
	caddytest.Until(t, "search works without a reload", func() bool { _, ok := searchSite(s, "install"); return ok })
}
