package assistant

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	weakly "weak"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// What outlives a reload logs to the output of the new configuration: the
// index, the model, the budget, the threads and the recorder of insights are
// those of the first one.
func TestWhatOutlivesAReloadLogsToTheNewOutput(t *testing.T) {
	m, url := caddytest.StartModel(t)
	m.Always(modelserver.Reply{Status: 400})
	root := caddytest.AcmeFolder(t)
	s := caddytest.New(t)
	caddyfile := caddytest.Global(s.Dir, caddytest.LLM(url, "first", "budget 2 requests per day")) + caddytest.Site(root)
	load := func(log string) {
		t.Helper()
		if err := s.TryLoad(strings.Replace(caddyfile, filepath.Join(s.Dir, "log"), filepath.Join(s.Dir, log), 1)); err != nil {
			t.Fatal(err)
		}
	}
	load("log")
	s.Ready("acme")
	load("log-2")
	before := s.Log()

	caddytest.Write(t, root, map[string]string{"new.html": "<title>New</title><h1>New</h1><p>Xylophones are tuned here."})
	threads := filepath.Join(s.Dir, "storage", "docs", "threads")
	if err := os.RemoveAll(threads); err != nil {
		t.Fatal(err)
	}
	caddytest.Write(t, filepath.Dir(threads), map[string]string{"threads": "no folder"})
	store := filepath.Join(s.Dir, "data", "insights.db")
	if err := os.RemoveAll(store); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(store, 0o700); err != nil {
		t.Fatal(err)
	}
	s.Ask(t, 2, caddytest.InstallQuestion, nil)
	m.Always(modelserver.Reply{Text: caddytest.ModelAnswer})
	for range 3 {
		s.Ask(t, 2, caddytest.InstallQuestion, nil)
	}
	for _, line := range []string{"index refreshed", "model request failed", "the site's budget is spent", "the storage for threads is failing", "insights can't be stored"} {
		for begin := time.Now(); !strings.Contains(caddytest.ReadFile(t, filepath.Join(s.Dir, "log-2")), line); time.Sleep(10 * time.Millisecond) {
			if time.Since(begin) > 30*time.Second {
				t.Fatalf("the new log lacks %q", line)
			}
		}
	}
	if after := strings.TrimPrefix(s.Log(), before); strings.Contains(after, `"logger":"docs"`) {
		t.Errorf("the old log goes on: %s", after)
	}
}

// What outlives a reload keeps nothing else of the configuration before: neither
// its app nor its sites, nor those of configurations since.
func TestWhatOutlivesAReloadKeepsNoSite(t *testing.T) {
	m, url := caddytest.StartModel(t)
	m.Always(modelserver.Reply{Text: caddytest.ModelAnswer})
	s := caddytest.New(t)
	root := caddytest.AcmeFolder(t)
	var apps []weakly.Pointer[app.App]
	var sites []weakly.Pointer[site.Site]
	for i := range 3 {
		s.Load(caddytest.LLM(url, "first", "budget 200 requests per day"), caddytest.Site(root)+fmt.Sprintf("# %d\n", i))
		s.Ready("acme")
		s.Ask(t, 2, caddytest.InstallQuestion, nil)
		if res := s.Do(caddytest.Request{Method: http.MethodGet, Path: "/v1/widget/acme.js"}); res.Status != http.StatusOK {
			t.Fatal(res.Status)
		}
		running := caddytest.App(t)
		apps = append(apps, weakly.Make(running.App))
		sites = append(sites, weakly.Make(running.Site("acme")))
	}
	for i := range 2 {
		caddytest.Until(t, fmt.Sprintf("configuration %d is gone", i), func() bool {
			runtime.GC()
			return apps[i].Value() == nil && sites[i].Value() == nil
		})
	}
}
