package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval/links"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// Who may read no locked page learns nothing of one from an address.
func TestMissingPagesNameLockedOnesToAdministratorsOnly(t *testing.T) {
	s := &twoOrganizations{
		store: recorded(t), editURL: "https://git.example/edit/{source}",
		pages: []Page{{Name: "open", URL: "/open", File: "open.md", State: "public"}, {Name: "secret", URL: "/secret", File: "secret.md", State: "locked"}},
		links: &links.Report{Broken: []links.Broken{
			{Page: "/open", Name: "open", File: "open.md", Line: 7, Href: "old", Target: "/old"},
			{Page: "/secret", Name: "secret", File: "secret.md", Line: 9, Href: "old", Target: "/old/"},
			{Page: "/open", Name: "open", File: "open.md", Line: 8, Href: "open#x", Target: "/old", Section: true, To: "open"},
		}},
		former: map[string]*moved.Former{
			"/old":    {Title: "Public Then", Open: true, To: "/secret#plan", Page: "secret", Share: .97, Proved: true, Redirect: "redir /old /secret#plan permanent"},
			"/hidden": {Title: "Hush", To: "/open", Page: "open", Share: .5, Redirect: "redir /hidden /open permanent"},
			"/plain":  {Title: "Plain", Open: true, To: "/open#part", Page: "open", Share: .96, Proved: true, Redirect: "redir /plain /open#part permanent"},
		},
	}
	var events []insights.Event
	for _, m := range []insights.Missing{
		{Path: "/old", From: "/secret", To: "/secret", Status: 301}, {Path: "/old", From: "/open", Agent: "GPTBot", Status: 404},
		{Path: "/hidden", From: "https://forum.example", Status: 404}, {Path: "/plain", Status: 404, To: "/secret"},
	} {
		events = append(events, insights.Event{At: time.Now(), Scope: insights.Scope{Organization: "acme", Site: "acme-docs"}, Source: insights.Web, Missing: &m})
	}
	if err := s.store.Append(t.Context(), "", events); err != nil {
		t.Fatal(err)
	}
	all := []string{"open.md:7", "https://git.example/edit/open.md", "https://forum.example", "GPTBot", "Public Then", "Plain", "redir /plain /open#part permanent", "proved: 96 % of its text"}
	secret := []string{"/secret", "secret.md", "Hush", "redir /old", "redir /hidden", "50 %"}
	for name, admin := range map[string]bool{"a viewer": false, "a member": false, "an admin": true} {
		for _, format := range []string{"", "?format=json", "?format=csv"} {
			body := ask(t, newDashboard(s), http.MethodGet, "/acme/acme-docs/missing"+format, visitors[name]).Body.String()
			for _, text := range all {
				if format != "" && (strings.Contains(text, "%") || strings.HasPrefix(text, "https://git")) {
					continue // these are for people
				}
				if !strings.Contains(body, text) {
					t.Errorf("%s%s does not see %q", name, format, text)
				}
			}
			for _, text := range secret {
				if format != "" && text == "50 %" {
					continue
				}
				if strings.Contains(body, text) != admin {
					t.Errorf("%s%s sees %q: %t", name, format, text, !admin)
				}
			}
			if strings.Contains(body, "open.md:8") {
				t.Errorf("%s%s: a link to a section is one to a missing page", name, format)
			}
		}
	}
	// Readers of a list change nothing, and members mark an address.
	if w := ask(t, newDashboard(s), http.MethodGet, "/acme/acme-docs/missing", visitors["a viewer"]); strings.Contains(w.Body.String(), "Change") {
		t.Error("a viewer is offered to change a state")
	}
	if s.links = nil; !strings.Contains(get(t, s, "missing", http.StatusOK), "/plain") {
		t.Error("nothing is listed before the links are checked")
	}
}
