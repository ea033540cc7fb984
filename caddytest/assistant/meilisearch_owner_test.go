//go:build unix

package assistant

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// A second Caddy with its own storage and pages leaves the indexes of the
// first alone, until its operator gives them to it.
func TestTwoCaddysWithTwoStoragesAndOneSiteName(t *testing.T) {
	m := newMeili(t)
	first := caddytest.Start(t, meiliIndex(m.address(), ""), caddytest.Site(caddytest.AcmeFolder(t)))
	first.Ready("acme")
	waitForSections(t, m, acmeSections)

	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "other.md"), []byte("# Other\n\nAbout parachutes.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := caddytest.Start(t, meiliIndex(m.address(), ""), caddytest.Site(root))
	caddytest.Until(t, "the log says whose the indexes are", func() bool {
		return strings.Contains(second.Log(), "belong to another Caddy: the one with the storage "+filepath.Join(first.Dir, "storage"))
	})
	if r, _ := searchSite(second, "install"); r.Status != http.StatusInternalServerError || r.Error(t).Code != "search_misconfigured" {
		t.Errorf("search: %d %s", r.Status, r.Body)
	}
	waitForSections(t, m, acmeSections)
	named := false
	for _, c := range caddytest.App(t).Doctor(t.Context()) {
		named = named || strings.Contains(c.What, "owner of _docs-acme-") && !c.OK && strings.Contains(c.Do, "prefix")
	}
	if !named {
		t.Errorf("the doctor: %+v", caddytest.App(t).Doctor(t.Context()))
	}
	if _, err := caddytest.App(t).Reindex(t.Context(), "acme", false); err == nil || !strings.Contains(err.Error(), "belong to another Caddy") {
		t.Errorf("caddy docs index acme: %v", err)
	}
	report, err := caddytest.App(t).Reindex(t.Context(), "acme", true)
	if err != nil || len(report.Restored) == 0 {
		t.Fatalf("caddy docs index acme --full: %+v %v", report, err)
	}
	if !second.Finds("parachutes") {
		t.Error("the second finds nothing")
	}
	waitForSections(t, m, 1)
}

// What somebody deletes is restored by caddy docs index, and by the next
// refresh.
func TestDeletedDocumentsOfMeilisearchAreRestored(t *testing.T) {
	m := newMeili(t)
	s := caddytest.Start(t, meiliIndex(m.address(), ""), caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	waitForSections(t, m, acmeSections)
	m.lose(t, "_docs-acme-en")
	report, err := caddytest.App(t).Reindex(t.Context(), "acme", false)
	// The refresh itself may have noticed it first.
	if restored := strings.Join(report.Restored, " ") + s.Log(); err != nil || !strings.Contains(restored, "_docs-acme-en is missing") {
		t.Errorf("caddy docs index acme: %+v %v", report, err)
	}
	waitForSections(t, m, acmeSections)
	m.lose(t, "_docs-acme-en")
	if _, err := caddytest.App(t).Refresh(t.Context(), "acme"); err != nil {
		t.Error(err)
	}
	waitForSections(t, m, acmeSections)
	if !strings.Contains(s.Log(), "the indexes in a Meilisearch server were changed from outside") {
		t.Errorf("the log: %s", s.Log())
	}
}

// The status shows what the servers have, and what is wrong with them.
func TestTheStatusHasTheServersOfMeilisearch(t *testing.T) {
	m := newMeili(t)
	s := caddytest.Start(t, meiliIndex(m.address(), ""), caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	waitForSections(t, m, acmeSections)
	caddytest.Until(t, "the status shows the sections", func() bool {
		servers, sections := caddytest.App(t).Status().Sites[0].Servers, 0
		if len(servers) != 1 || servers[0].URL != m.address() || servers[0].Version == "" || servers[0].LastTask == nil || servers[0].Error != "" || servers[0].Behind > 0 {
			return false
		}
		for _, x := range servers[0].Indexes {
			sections += x.Documents
		}
		return sections == acmeSections
	})
	m.kill(t)
	if servers := caddytest.App(t).Status().Sites[0].Servers; len(servers) != 1 || !strings.Contains(servers[0].Error, "is not responding") {
		t.Errorf("a server that is down: %+v", servers)
	}
	m.restart(t)
	m.revoke(t)
	if servers := caddytest.App(t).Status().Sites[0].Servers; len(servers) != 1 || !strings.Contains(servers[0].Error, "403") {
		t.Errorf("keys that were revoked: %+v", servers)
	}
}
