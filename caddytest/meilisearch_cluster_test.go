//go:build unix

package caddytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
)

// One of two Caddys that share a Meilisearch, and a storage, is killed while
// it writes: the other serves on, takes the lock over and finishes.
func TestOfTwoCaddysOneIsKilledInTheMiddleOfAReindex(t *testing.T) {
	m := startMeili(t)
	root := acmeFolder(t)
	s := Start(t, meiliIndex(m.URL, ""), "http://:0 {\n\tdocs acme "+root+"\n}\n")
	s.Ready("acme")

	// The other has a page more.
	other := acmeFolder(t)
	news := map[string]string{"guide/landing.md": "# Landing\n\nParachutes open at two kilometres.\n"}
	Write(t, other, news)
	m.Break(func(r *http.Request) *meiliserver.Fault {
		if strings.HasSuffix(r.URL.Path, "/documents") {
			return &meiliserver.Fault{Hang: true}
		}
		return nil
	})
	dir := t.TempDir()
	caddyfile := Global(dir, meiliIndex(m.URL, "")) + fmt.Sprintf("http://localhost:%d {\n\tdocs acme %s\n}\n", freePort(t), other)
	Write(t, dir, map[string]string{"caddy.json": string(patch(t, caddyfile, func(config map[string]any) {
		config["storage"] = map[string]any{"module": "file_system", "root": filepath.Join(s.Dir, "storage")}
	}))})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childConfig+"="+filepath.Join(dir, "caddy.json"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	written := m.Calls("POST /indexes/*/documents")
	Until(t, "the other writes", func() bool { return m.Calls("POST /indexes/*/documents") > written })
	if _, found := s.searchSite("install"); !found {
		t.Error("nothing is found while the other writes")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	m.Break(nil)
	if _, found := s.searchSite("install"); !found {
		t.Error("nothing is found after the other was killed")
	}

	Write(t, root, news)
	// The storage's files hold a dead holder's lock for a while.
	deadline := time.Now().Add(time.Minute)
	for found := false; !found; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the one that is left does not finish")
		}
		r := s.Do(Request{Path: searchPath, Body: `{"query":"parachutes"}`})
		var hits []json.RawMessage
		found = json.Unmarshal(r.Body, &hits) == nil && len(hits) > 0
	}
	if !oneIndex(m) {
		t.Errorf("what the other left is still there: %v", m.Indexes())
	}
}
