package widget

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/insights/sqlite"
)

func TestWidget(t *testing.T) {
	t.Parallel()
	loadAxe(t)
	s := newStand(t)
	s.on("How do I install", modelserver.Reply{Text: longAnswer})
	s.on("breaks off", modelserver.Reply{Text: "These words stay. Then nothing.", Fault: modelserver.Cut, After: 3})
	passed := t.Run("In the browser", func(t *testing.T) {
		for _, tests := range []func(*testing.T, *stand){testLooks, testOpening, testTakeover, testSearch, testAsk, testErrors, testHostile, testPlainPage, testRouters} {
			tests(t, s)
		}
		t.Run("Code and links", func(t *testing.T) { testMarkdown(t, s) })
		t.Run("Finished blocks", func(t *testing.T) { testRenderer(t, s) })
	})
	t.Run("A model that fails", func(t *testing.T) { testFaults(t, s) })
	if passed {
		testStored(t, s)
	}
}

// The comparison in the manual names the tests that show what the box does.
func TestTheComparisonNamesTests(t *testing.T) {
	compare, err := os.ReadFile("../../docs/compare.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range sources {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	names := regexp.MustCompile(`\| \*([^*|]+?)(?: …)?\*`).FindAllSubmatch(compare, -1)
	if len(names) < 8 {
		t.Errorf("only %d tests are named", len(names))
	}
	for _, name := range names {
		if !strings.Contains(all.String(), `("`+string(name[1])) {
			t.Errorf("there is no test %q", name[1])
		}
	}
}

// testStored checks what the browser tests have left in the insights.
func testStored(t *testing.T, s *stand) {
	votes, events := strings.Join(s.sent("/v1/feedback/acme"), "\n"), strings.Join(s.sent("/v1/events/acme"), "\n")
	if !strings.Contains(votes, "votes from here") || !strings.Contains(votes, "the note") || !strings.Contains(events, "administrator") || s.asked("Does the other tab know?") == "" {
		return // some of the tests were not run
	}
	if err := caddy.Stop(); err != nil { // stores what is buffered
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(s.caddy.Dir, "data", "insights.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	found := map[string]bool{}
	week := insights.LastDays(2, time.Now().Add(12*time.Hour)) // also at midnight
	err = store.Export(t.Context(), insights.Scope{Organization: "acme", Site: "acme"}, week, func(e insights.Event) error {
		if e.Source != insights.Widget {
			return nil // the harness waits for the index with its key
		}
		switch {
		case e.Search != nil && e.Search.Query == "administrator":
			found["search"] = e.Search.Tracked && e.Search.Hits > 0
		case e.Click != nil && e.Click.Query == "administrator":
			found["click"] = e.Click.Path == "install" && e.Click.Position == 1
		case e.Vote != nil && e.Vote.Path == "config":
			found["vote for a page"] = e.Vote.Rating == "down" && e.Vote.Comment == "votes from here"
		case e.Vote != nil && e.Vote.Comment == "the note":
			found["vote for an answer"] = e.Vote.Rating == "down" && len(e.Vote.Reasons) == 1 && e.Vote.Reasons[0] == "wrong" && e.Vote.Thread != "" && e.Vote.Message != ""
		case e.Reply != nil && e.Reply.Question == "Does the other tab know?":
			found["reply"] = e.Reply.Outcome == "answered"
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"search", "click", "vote for a page", "vote for an answer", "reply"} {
		if !found[kind] {
			t.Errorf("the %s is not stored, or not as it was made: %v", kind, found)
		}
	}
}
