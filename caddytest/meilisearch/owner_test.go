//go:build unix

package meilisearch

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// A second Caddy with a storage and pages of its own leaves the indexes of the
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
		named = named || strings.Contains(c.What, "owner of docs-acme-") && !c.OK && strings.Contains(c.Do, "prefix")
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
	m.lose(t, "docs-acme-en")
	report, err := caddytest.App(t).Reindex(t.Context(), "acme", false)
	if err != nil || len(report.Restored) != 1 || !strings.Contains(report.Restored[0], "docs-acme-en is missing") {
		t.Errorf("caddy docs index acme: %+v %v", report, err)
	}
	waitForSections(t, m, acmeSections)
	m.lose(t, "docs-acme-en")
	if _, err := caddytest.App(t).Refresh(t.Context(), "acme"); err != nil {
		t.Error(err)
	}
	waitForSections(t, m, acmeSections)
	if !strings.Contains(s.Log(), "somebody has changed the indexes of a Meilisearch server") {
		t.Errorf("the log: %s", s.Log())
	}
}
