//go:build unix

package assistant

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// manualKey creates the key that the manual creates under a name, and returns it.
func manualKey(t *testing.T, m *realMeili, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/meilisearch.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range regexp.MustCompile(`(?s)/keys .*?-d '(\{.*?\})'`).FindAllSubmatch(page, -1) {
		var body map[string]any
		if err := json.Unmarshal(command[1], &body); err != nil {
			t.Fatalf("%s: %v", command[1], err)
		}
		if body["name"] != name {
			continue
		}
		status, answer := m.call(t, http.MethodPost, "/keys", body)
		if status != http.StatusCreated {
			t.Fatalf("the manual's key %q: %d %v", name, status, answer)
		}
		return answer["key"].(string)
	}
	t.Fatalf("the manual creates no key %q", name)
	return ""
}

// The manual's recipes, in its order, with a real server.
func TestTheManualsRecipesForMeilisearch(t *testing.T) {
	bin := os.Getenv("MEILISEARCH_BIN")
	if bin == "" {
		t.Skip("MEILISEARCH_BIN names no program")
	}
	m := startReal(t, bin)
	var written atomic.Int64 // requests that write sections; the state follows when they are there
	g := newGate(t, m)
	g.set(func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if strings.Contains(r.URL.Path, "/documents") && !strings.Contains(r.URL.Path, "-_state/") && !strings.HasSuffix(r.URL.Path, "/fetch") && !triesKey(r) && r.Method != http.MethodGet {
			written.Add(1)
		}
		pass.ServeHTTP(w, r)
	})
	embedder, model := caddytest.StartModel(t)
	docs, site := meiliIndex(g.URL, "")+"\nembedder "+model+" fake-embed", caddytest.Site(caddytest.AcmeFolder(t))
	const uid, sections = "_docs-acme-en", 6
	s := caddytest.Start(t, docs, site)
	vectors := func(what string) {
		t.Helper()
		caddytest.Until(t, what, func() bool { return m.vectors(t, uid) == sections && s.Finds("install") })
		waitForSections(t, m, acmeSections)
	}
	vectors("the server has the vectors")

	t.Run("upgrade the server", func(t *testing.T) {
		before, asked := written.Load(), embedder.Embedded()
		status, task := m.call(t, http.MethodPost, "/dumps", nil)
		if status != http.StatusAccepted {
			t.Fatalf("%d %v", status, task)
		}
		caddytest.Until(t, "the dump is written", func() bool {
			_, answer := m.call(t, http.MethodGet, fmt.Sprintf("/tasks/%.0f", task["taskUid"]), nil)
			return answer["status"] == "succeeded"
		})
		dumps, _ := filepath.Glob(filepath.Join(m.dir, "dumps", "*.dump"))
		m.empty(t)
		m.start(t, "--import-dump", dumps[0])
		vectors("the new server has the vectors")
		s.Load(docs, site) // and a refresh finds nothing to do
		s.Ready("acme")
		vectors("they are still there")
		if n, texts := written.Load()-before, embedder.Embedded()-asked; n > 0 || texts >= sections { // queries are, too
			t.Errorf("%d times documents were written, %d texts embedded", n, texts)
		}
	})
	t.Run("a server that lost its data", func(t *testing.T) {
		asked := embedder.Embedded()
		m.empty(t)
		m.refound(t)
		vectors("the server is filled again")
		if n := embedder.Embedded() - asked; n >= sections {
			t.Errorf("%d texts were embedded again", n)
		}
	})
	t.Run("new keys", func(t *testing.T) {
		before := written.Load()
		key := manualKey(t, m, "caddy index")
		search := manualKey(t, m, "caddy search")
		t.Setenv("TEST_MEILI_KEY", key)
		t.Setenv("TEST_MEILI_SEARCH_KEY", search)
		s.Load(docs, site)
		m.revoke(t)
		vectors("the new keys work")
		if n := written.Load() - before; n > 0 {
			t.Errorf("%d times documents were written", n)
		}
	})
	t.Run("a staging environment on the same server", func(t *testing.T) {
		key := manualKey(t, m, "caddy staging")
		t.Setenv("TEST_MEILI_KEY", key)
		s.Load("index meilisearch "+g.URL+" {\napi_key {env.TEST_MEILI_KEY}\nprefix docs-staging\n}\nkey "+caddytest.Key, site)
		caddytest.Until(t, "staging has its own indexes", func() bool { return m.documents(t)["_docs-staging-acme-en"] == sections && s.Finds("install") })
		if m.vectors(t, uid) != sections {
			t.Error("the other's vectors are gone")
		}
	})
}
