package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"golang.org/x/crypto/bcrypt"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// The overview shows what the organization has used of its limits, and what
// they refused: the counts of caddy-ratelimit itself, over reloads.
func TestLimitsAreShown(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	docs := "key " + caddytest.Key + " {\n organization acme\n}\ninsights off"
	sites := `http://:0 {
	docs acme-docs ` + caddytest.Folder(t, pages) + ` {
		organization acme
		rate_limit organization 5 1h
		rate_limit ip 7 1h
	}
	basic_auth /dash/* {
		ada ` + string(hash) + `
	}
	handle_path /dash/* {
		docs_dashboard {
			admin ada
		}
	}
}
`
	s := caddytest.Start(t, docs, sites)
	caddytest.Until(t, "the site is ready", func() bool { return strings.Contains(s.Log(), "the site is ready") })
	overview := func(has ...string) {
		t.Helper()
		_, body := get(t, s.Client, s.Base+"/dash/acme/acme-docs", "ada")
		text := strings.Join(strings.Fields(body), " ")
		for _, h := range has {
			if !strings.Contains(text, h) {
				t.Fatalf("the overview lacks %q:\n%s", h, body)
			}
		}
	}
	overview("no recent requests", "none in 24 hours")
	search := func() int {
		return s.Do(caddytest.Request{Path: "/v1/search/acme-docs", Body: `{"query":"thrust"}`}).Status
	}
	for i, want := range []int{200, 200, 200} {
		if got := search(); got != want {
			t.Fatalf("search %d is %d", i, got)
		}
	}
	overview("3 of 5 requests in the last hour", ">60 %</meter>", "none in 24 hours")
	if r := s.Do(caddytest.Request{Path: "/v1/search/acme-docs", Key: "svc_dsc_of_nobody_0123456789", Body: `{"query":"x"}`}); r.Status != http.StatusUnauthorized {
		t.Fatalf("a wrong key is %d", r.Status)
	}
	s.Load(docs, sites)
	for i, want := range []int{200, 200, 429, 429, 429, 429} { // 2 by the organization's limit, 2 by the client's
		if got := search(); got != want {
			t.Fatalf("search %d after a reload is %d", i, got)
		}
	}
	overview("5 of 5 requests in the last hour", "2 requests over the limit of a client, 2 over that of the organization",
		"The organization has used all of its 5 requests to search per hour")
	loaded, err := caddy.ActiveContext().App("docs")
	if err != nil {
		t.Fatal(err)
	}
	acme := admin.API{App: loaded.(*app.App)}.Status().Sites[0]
	if len(acme.Limits) != 1 || acme.Limits[0] != (site.LimitStatus{API: "search", Used: 5, Events: 5, Window: 3600}) || acme.Refused != (site.RefusedStatus{Client: 2, Organization: 2}) {
		t.Errorf("status: %+v %+v", acme.Limits, acme.Refused)
	}
}
