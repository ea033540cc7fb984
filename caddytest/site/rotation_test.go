package site

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// keyring accepts one key, which may be changed at any time, and counts the
// requests with another one.
type keyring struct {
	mu     sync.Mutex
	key    string
	wrong  int
	served int
}

func (k *keyring) rotate(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.key, k.wrong, k.served = key, 0, 0
}

func (k *keyring) accepts(r *http.Request) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+k.key {
		k.wrong++
		return false
	}
	k.served++
	return true
}

func (k *keyring) counts() (wrong, served int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wrong, k.served
}

// guard returns the URL of a server that passes requests with the right key
// on, and answers others as refuse does.
func (k *keyring) guard(t *testing.T, handler http.Handler, refuse http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !k.accepts(r) {
			refuse(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// model is a model server that accepts the keyring's key.
func (k *keyring) model(t *testing.T) (*modelserver.Server, string) {
	t.Helper()
	m := modelserver.New()
	return m, k.guard(t, m, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"wrong key"}}`, http.StatusUnauthorized)
	}) + "/v1"
}

// rotated starts a server whose docs lines read a key from a file, and
// returns a function that rotates the key and reloads Caddy.
func rotated(t *testing.T, k *keyring, docs func(placeholder string) string) (*caddytest.Server, func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	lines := docs("{file."+file+"}") + "\nkey " + caddytest.Key
	site := caddytest.Site(caddytest.AcmeFolder(t))
	k.rotate("old-key")
	caddytest.Write(t, filepath.Dir(file), map[string]string{"key": "old-key"})
	s := caddytest.Start(t, lines, site)
	s.Ready("acme")
	return s, func() {
		t.Helper()
		caddytest.Write(t, filepath.Dir(file), map[string]string{"key": "new-key"})
		k.rotate("new-key")
		s.Load(lines, site)
	}
}

func TestARotatedKeyOfTheModelIsUsedAfterAReload(t *testing.T) {
	k := new(keyring)
	m, url := k.model(t)
	m.Always(modelserver.Reply{Text: caddytest.ModelAnswer})
	s, rotate := rotated(t, k, func(key string) string { return "llm " + url + " first {\n\tapi_key " + key + "\n}" })
	if r := s.Ask(t, 2, caddytest.InstallQuestion, nil); r.Text != caddytest.ModelAnswer {
		t.Fatalf("before the rotation: %+v", r)
	}
	rotate()
	if r := s.Ask(t, 2, caddytest.InstallQuestion, nil); r.Text != caddytest.ModelAnswer {
		t.Errorf("after the rotation: %+v", r)
	}
	if wrong, served := k.counts(); wrong != 0 || served == 0 {
		t.Errorf("%d requests had the old key, %d the new one", wrong, served)
	}
}

func TestARotatedKeyOfTheEmbedderIsUsedAfterAReloadAndNothingIsEmbeddedAgain(t *testing.T) {
	k := new(keyring)
	m, url := k.model(t)
	s, rotate := rotated(t, k, func(key string) string { return "embedder " + url + " fake-embed {\n\tapi_key " + key + "\n}" })
	embedded := func() bool {
		st := caddytest.App(t).Status().Sites[0].Index
		return !st.Checked.IsZero() && st.Embeddings != nil && st.Embeddings.Total > 0 && st.Embeddings.Done == st.Embeddings.Total
	}
	// All are known before they are in the index.
	caddytest.Until(t, "the index has vectors", func() bool { return embedded() && strings.Contains(s.Log(), "vectors published") })
	rotate()
	before := m.Embedded()
	caddytest.Until(t, "the pages were looked at again", embedded)
	s.Search("acme", `{"query":"how strong may the engine be"}`)
	if wrong, served := k.counts(); wrong != 0 || served != 1 {
		t.Errorf("%d requests had the old key, %d the new one; want the query's alone", wrong, served)
	}
	if got := m.Embedded() - before; got != 1 {
		t.Errorf("%d texts were embedded, want the query alone", got)
	}
}

func TestARotatedKeyOfMeilisearchIsUsedAfterAReloadAndNothingIsIndexedAgain(t *testing.T) {
	k := new(keyring)
	m := caddytest.StartMeilisearch(t)
	url := k.guard(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+m.Key)
		m.Config.Handler.ServeHTTP(w, r)
	}), func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"The provided API key is invalid.","code":"invalid_api_key"}`, http.StatusForbidden)
	})
	s, rotate := rotated(t, k, func(key string) string { return "index meilisearch " + url + " {\n\tapi_key " + key + "\n}" })
	caddytest.Until(t, "the server has the pages", func() bool { return s.Finds("install") })
	before := m.Calls("POST /indexes/*/documents")
	rotate()
	caddytest.Until(t, "the server is asked with the new key", func() bool { return s.Finds("install") })
	late, _ := k.counts() // of the index that was closed, whose last request may have been under way
	for range 3 {
		if !s.Finds("install") {
			t.Error("a search after the rotation finds nothing")
		}
	}
	if wrong, served := k.counts(); wrong != late || served == 0 {
		t.Errorf("%d requests had the old key, %d the new one", wrong, served)
	}
	if got := m.Calls("POST /indexes/*/documents"); got != before {
		t.Errorf("documents were sent %d times after the rotation, want none", got-before)
	}
}
