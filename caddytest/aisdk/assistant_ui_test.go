package aisdk

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/browser"
	"github.com/caddy-docs/caddy-docs/caddytest/npm"
)

// A page of assistant-ui shows the answer with its source, goes on in one
// thread, and begins another with "New thread".
func TestAssistantUIBeginsAThreadForEachChat(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Node and a browser")
	}
	if err := Install(t.Context()); err != nil { // Vite
		t.Fatal(err)
	}
	if err := npm.Install(t.Context(), "assistant-ui"); err != nil {
		t.Fatal(err)
	}
	s := caddytest.StartAcme(t)
	out := t.TempDir()
	build := exec.CommandContext(t.Context(), "node", "build.mjs", "assistant-ui")
	build.Env = append(os.Environ(), "VITE_DOCS_SERVER="+s.Base, "VITE_DOCS_SITE=acme", "VITE_DOCS_KEY="+caddytest.Key, "OUT="+out)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, npm.Last(text))
	}
	origin := httptest.NewServer(http.FileServer(http.Dir(out)))
	t.Cleanup(origin.Close)
	p := &tab{t, browser.Tab(t)}
	p.open(origin.URL)
	p.ask(caddytest.InstallQuestion)
	p.shows("the answer", "article.assistant p", "sudo acme-install")
	p.shows("its source", "article.assistant a[href*='/guide/install']", "")
	p.ask("And on Windows?")
	p.shows("the second answer", "article.assistant:nth-of-type(4) p", "acme-setup.exe")
	p.inThreads(2, 1)
	p.press("New thread")
	p.ask(caddytest.InstallQuestion)
	p.shows("the answer of the new thread", "article.assistant:nth-of-type(2) p", "sudo acme-install")
	p.inThreads(3, 2)
}
