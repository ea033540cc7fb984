//go:build unix

package assistant

import (
	"net/http"
	"os"
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
	caddytest.Until(t, "the keys are checked", func() bool { return strings.Contains(s.Log(), "a Meilisearch server refuses the configured keys") })
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

// A key that lacks a right is named at once: in the log, by the doctor, and as
// an error that trying again does not help against.
func TestAMeilisearchKeyWithoutARightIsNamed(t *testing.T) {
	m := newMeili(t)
	m.limit(t, "indexes.delete")
	s := caddytest.Start(t, meiliIndex(m.address(), ""), caddytest.Site(caddytest.AcmeFolder(t)))
	const found, do = "without the actions indexes.delete", "set api_key to a key of this server with"
	caddytest.Until(t, "the log names the right", func() bool { return strings.Contains(s.Log(), found) && strings.Contains(s.Log(), do) })
	if strings.Contains(s.Log(), "is not responding yet") {
		t.Errorf("the log: %s", s.Log())
	}
	if r, _ := searchSite(s, "install"); r.Status != http.StatusInternalServerError || r.Error(t).Code != "search_misconfigured" || r.Header.Get("Retry-After") != "" {
		t.Errorf("search: %d %v %s", r.Status, r.Header, r.Body)
	}
	named := false
	for _, c := range caddytest.App(t).Doctor(t.Context()) {
		named = named || !c.OK && strings.Contains(c.Found, found) && strings.Contains(c.Do, do)
	}
	if !named {
		t.Errorf("the doctor: %+v", caddytest.App(t).Doctor(t.Context()))
	}
	if strings.Contains(s.Log(), os.Getenv("TEST_MEILI_KEY")+"\"") {
		t.Error("the key is in the log")
	}
	m.limit(t, "")
	caddytest.Until(t, "search works without a reload", func() bool { _, ok := searchSite(s, "install"); return ok })
}
