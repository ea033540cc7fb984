package assistant

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
)

func meiliIndex(url, more string) string {
	return "index meilisearch " + url + " {\napi_key {env.TEST_MEILI_KEY}\nsearch_key {env.TEST_MEILI_SEARCH_KEY}\n" + more + "\n}\nkey " + caddytest.Key
}

// searchSite searches acme and returns status and whether install is found.
func searchSite(s *caddytest.Server, query string) (*caddytest.Response, bool) {
	r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"` + query + `"}`})
	return r, r.Status == http.StatusOK && strings.Contains(string(r.Body), "guide/")
}

func TestMeilisearchIsTheIndexOfASite(t *testing.T) {
	m := caddytest.StartMeilisearch(t)
	s := caddytest.Start(t, meiliIndex(m.URL, ""), caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	r, found := searchSite(s, "install")
	if !found {
		t.Fatalf("searching: %d %s", r.Status, r.Body)
	}
	if m.Calls("POST /multi-search") == 0 {
		t.Error("the server was not asked")
	}
	marked := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"instal","fields":["snippet"],"offset":0}`})
	if body := string(marked.Body); !strings.Contains(body, `"highlights":{"title":[[0,7]]`) || marked.Header.Get("X-Total-Count") == "" {
		t.Errorf("the words of the query are not marked: %v %s", marked.Header, body)
	}
	for _, v := range caddytest.Versions {
		if got := s.Ask(t, v, caddytest.InstallQuestion, nil); !got.Finished || got.Error != "" {
			t.Errorf("v%d: %+v", v, got)
		}
	}
	config, err := caddytest.Adapt(caddytest.Global(s.Dir, meiliIndex(m.URL, "")) + "http://:0 {\n\tdocs acme .\n}\n")
	if err != nil || !strings.Contains(string(config), "{env.TEST_MEILI_KEY}") {
		t.Errorf("the key is in the configuration: %v", err)
	}
}

func TestMeilisearchThatIsDownAtStartIsFoundLater(t *testing.T) {
	m := caddytest.StartMeilisearch(t)
	m.Break(meiliserver.Down)
	site := caddytest.Site(caddytest.AcmeFolder(t))
	s := caddytest.Start(t, meiliIndex(m.URL, ""), site)
	var r *caddytest.Response
	caddytest.Until(t, "search says that it is unavailable", func() bool {
		r, _ = searchSite(s, "install")
		return r.Status == http.StatusServiceUnavailable && r.Error(t).Code == "search_unavailable"
	})
	if r.Header.Get("Retry-After") == "" {
		t.Errorf("no Retry-After: %v", r.Header)
	}
	if strings.Contains(string(r.Body), "127.0.0.1") {
		t.Errorf("the response has the server's address: %s", r.Body)
	}
	s.Load(meiliIndex(m.URL, "semantic_ratio 0.3"), site) // a reload works, too
	m.Break(nil)
	caddytest.Until(t, "search works without a reload", func() bool { _, ok := searchSite(s, "install"); return ok })
}

func TestMeilisearchIsAnsweredForByTheFallback(t *testing.T) {
	m := caddytest.StartMeilisearch(t)
	s := caddytest.Start(t, meiliIndex(m.URL, "fallback embedded"), caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	for _, fault := range []func(*http.Request) *meiliserver.Fault{
		meiliserver.Down,
		func(*http.Request) *meiliserver.Fault { return &meiliserver.Fault{Hang: true} },
		func(*http.Request) *meiliserver.Fault {
			return &meiliserver.Fault{Status: 403, Code: "invalid_api_key"}
		},
	} {
		m.Break(fault)
		if r, found := searchSite(s, "install"); !found {
			t.Errorf("searching: %d %s", r.Status, r.Body)
		}
		if r := s.Ask(t, 2, caddytest.InstallQuestion, nil); !r.Finished || r.Error != "" {
			t.Errorf("asking: %+v", r)
		}
	}
}

func TestMeilisearchThatIsTooOldIsRefusedAtStart(t *testing.T) {
	m := caddytest.StartMeilisearch(t)
	m.SetVersion("1.12.0")
	s := caddytest.New(t)
	err := s.TryLoad(caddytest.Global(s.Dir, meiliIndex(m.URL, "")) + caddytest.Site(caddytest.AcmeFolder(t)))
	if err == nil || !strings.Contains(err.Error(), "1.12.0") || !strings.Contains(err.Error(), "1.18") {
		t.Errorf("error: %v", err)
	}
}

// The server is that of MEILISEARCH_URL and MEILISEARCH_KEY.
func TestARealMeilisearchIsTheIndexOfASite(t *testing.T) {
	url, key := os.Getenv("MEILISEARCH_URL"), os.Getenv("MEILISEARCH_KEY")
	if url == "" {
		t.Skip("MEILISEARCH_URL names no server")
	}
	t.Setenv("TEST_MEILI_KEY", key)
	t.Setenv("TEST_MEILI_SEARCH_KEY", key)
	for _, uid := range []string{"_docs-acme-en", "_docs-acme-und", "_docs-acme-_state"} {
		if status, _ := ask(t, url, key, http.MethodGet, "/indexes/"+uid, nil); status == http.StatusOK {
			t.Skipf("the server has an index %s, which this test would change", uid)
		}
		t.Cleanup(func() { ask(t, url, key, http.MethodDelete, "/indexes/"+uid, nil) })
	}
	s := caddytest.Start(t, meiliIndex(url, ""), caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	if r, found := searchSite(s, "install"); !found {
		t.Errorf("searching: %d %s", r.Status, r.Body)
	}
	if r := s.Ask(t, 2, caddytest.InstallQuestion, nil); !r.Finished || r.Error != "" {
		t.Errorf("asking: %+v", r)
	}
}

// ask sends a request to a server; the status is 0 without an answer.
func ask(t *testing.T, address, key, method, path string, body any) (status int, answer map[string]any) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(method, address+path, bytes.NewReader(data)) //nolint:noctx // also after the test's end
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	_ = json.NewDecoder(res.Body).Decode(&answer)
	return res.StatusCode, answer
}
