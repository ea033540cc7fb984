package site

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// The pages of an earlier run are searched as they were then, also while their
// folder is not there: readers get the language of the front page.
func TestTheLanguageOfTheFrontPageIsPreferredFromTheFirstSearchOn(t *testing.T) {
	folder := caddytest.Folder(t, map[string]string{
		"index.html":   `<html lang="en"><title>Home</title><main><h1>Home</h1><p>All about editors.</p></main></html>`,
		"x/tabs.html":  `<html lang="en"><title>Tabs</title><main><h1>Tabs</h1><p>Tabs tabs tabs.</p></main></html>`,
		"tr/tabs.html": `<html lang="tr"><title>Tabs</title><main><h1>Tabs</h1><p>Tabs tabs sekme.</p></main></html>`,
		"tr/home.html": `<html lang="tr"><title>Ev</title><main><h1>Ev</h1><p>Editor.</p></main></html>`,
		"tr/more.html": `<html lang="tr"><title>Daha</title><main><h1>Daha</h1><p>Editor.</p></main></html>`,
	})
	dir := t.TempDir()
	start := func() *caddytest.Server {
		s := caddytest.NewIn(t, dir)
		s.Load("site acme {\n\troot "+folder+"\n}", "http://:0 {\n\tsearch\n}\n")
		s.Ready("acme")
		return s
	}
	first := func(s *caddytest.Server) string {
		t.Helper()
		found := s.Search("acme", `{"query":"tabs"}`)
		if len(found) < 2 {
			t.Fatalf("found %+v", found)
		}
		return found[0].Path
	}
	if got := first(start()); !strings.HasPrefix(got, "x/tabs") {
		t.Fatalf("at first %s is found", got)
	}
	if err := os.Rename(folder, folder+"-away"); err != nil {
		t.Fatal(err)
	}
	s := start()
	caddytest.Until(t, "the folder is looked for", func() bool { return strings.Contains(s.Log(), "no such file or directory") })
	if got := first(s); !strings.HasPrefix(got, "x/tabs") {
		t.Errorf("after a restart %s is found", got)
	}
}

// A reload with another root takes its pages at once, however few they are.
func TestAnotherRootIsTakenAtOnce(t *testing.T) {
	many, few := map[string]string{}, map[string]string{"new.md": "# New\n\nReactors.\n"}
	for _, name := range strings.Fields("a b c d e f g h i j k l m n o p") {
		many[name+".md"] = "# Page " + name + "\n\nReactors.\n"
	}
	s := caddytest.New(t)
	load := func(root string) {
		t.Helper()
		s.Load("site acme {\n\troot "+root+"\n}", "http://:0 {\n\tsearch\n}\n")
		s.Ready("acme")
	}
	load(caddytest.Folder(t, many))
	if n := len(s.Search("acme", `{"query":"reactors","pageSize":50}`)); n != 16 {
		t.Fatalf("%d pages are found", n)
	}
	load(caddytest.Folder(t, few))
	caddytest.Until(t, "the pages of the other folder are searched", func() bool {
		if held := caddytest.App(t).Status().Sites[0].Index.Held; held != "" {
			t.Fatalf("the pages are held back: %s", held)
		}
		found := s.Search("acme", `{"query":"reactors","pageSize":50}`)
		return len(found) == 1 && found[0].Path == "new#new"
	})
}

// A reload that changes how a site is indexed takes place once the pages are
// loaded again. The configuration before it serves until then.
func TestAReloadThatChangesTheIndexLeavesNoMomentWithoutOne(t *testing.T) {
	pages := make(map[string]string)
	for i := range 800 {
		pages[fmt.Sprintf("p%d.md", i)] = fmt.Sprintf("# Page %d\n\nReactors of kind %d boil water.\n", i, i)
	}
	folder := caddytest.Folder(t, pages)
	s := caddytest.New(t)
	load := func(synonyms string) {
		t.Helper()
		s.Load("site acme {\n\troot "+folder+"\n\tsynonyms "+synonyms+"\n}", "http://:0 {\n\tsearch\n}\n")
	}
	load("boil cook")
	s.Ready("acme")
	for _, stored := range []bool{true, false} {
		if !stored {
			if err := os.RemoveAll(filepath.Join(s.Dir, "data", "acme")); err != nil {
				t.Fatal(err)
			}
		}
		load(fmt.Sprint("steam ", stored))
		s.Search("acme", `{"query":"reactors"}`) // it fails the test if the answer is not 200
		caddytest.Until(t, "the pages are known to be public", func() bool { return len(s.Search("acme", `{"query":"reactors"}`)) == 10 })
	}
}
