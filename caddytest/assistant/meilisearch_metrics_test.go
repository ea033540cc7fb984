package assistant

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
)

func TestSearchesOfMeilisearchAreCounted(t *testing.T) {
	for _, c := range []struct {
		name, more string
		fault      func(*http.Request) *meiliserver.Fault
		outcome    string
		line       string
	}{
		{"a server answers", "", nil, "answered", ""},
		{"none does", "", meiliserver.Down, "failed", ""},
		{"the index inside the process answers", "fallback embedded", meiliserver.Down, "fallback", "the fallback answered the search"},
		{"a server has no embedder of the name", "embedder mine", nil, "keyword_only", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := caddytest.StartMeilisearch(t)
			s := caddytest.Start(t, meiliIndex(m.URL, c.more), caddytest.MetricsSite(caddytest.AcmeFolder(t)))
			s.Ready("acme")
			caddytest.Until(t, "the server has the pages", func() bool { _, found := searchSite(s, "install"); return found })
			m.Break(c.fault)
			before := s.Metrics(t)
			for range 3 {
				searchSite(s, "install")
			}
			after := s.Metrics(t)
			for _, outcome := range []string{"answered", "keyword_only", "fallback", "failed"} {
				series := `caddy_docs_meilisearch_searches_total{outcome="` + outcome + `",site="acme"}`
				want := 0.0
				if outcome == c.outcome {
					want = 3
				}
				if got := after[series] - before[series]; got != want {
					t.Errorf("%s rose by %v, want %v", outcome, got, want)
				}
			}
			if n := strings.Count(s.Log(), c.line); c.line != "" && n != 1 {
				t.Errorf("%d log lines say %q, want one a minute", n, c.line)
			}
		})
	}
}

// embeddings is an embedder in OpenAI's form that can fail or hang.
type embeddings struct {
	*httptest.Server
	fails, hangs atomic.Bool
	embedded     sync.Map // texts, by how often: *atomic.Int64
}

func startEmbeddings(t *testing.T) *embeddings {
	t.Helper()
	e := &embeddings{}
	over := make(chan struct{})
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input []string }
		if json.NewDecoder(r.Body).Decode(&body) != nil || e.fails.Load() {
			http.Error(w, `{"error":{"message":"no"}}`, http.StatusUnauthorized)
			return
		}
		if e.hangs.Load() {
			select {
			case <-over:
			case <-r.Context().Done():
			}
			return
		}
		var data []map[string]any
		for i, text := range body.Input {
			n, _ := e.embedded.LoadOrStore(text, new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
			v := make([]float64, 8)
			for _, c := range text {
				v[int(c)%8]++
			}
			data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": "m", "data": data})
	}))
	t.Cleanup(func() {
		close(over)
		e.Close()
	})
	return e
}

// An embedder that fails or is slow, ours or one in a server's settings, is
// reported by one metric and a log message; search is then keyword search.
func TestAFailingEmbedderIsSeenWithEitherIndex(t *testing.T) {
	for _, c := range []struct {
		name   string
		global func(m *meiliserver.Server, e *embeddings) string
		own    bool // the server's
	}{
		{"the index inside the process", func(_ *meiliserver.Server, e *embeddings) string {
			return "embedder " + e.URL + "/v1 m\nkey " + caddytest.Key
		}, false},
		{"Meilisearch with vectors of ours", func(m *meiliserver.Server, e *embeddings) string {
			return meiliIndex(m.URL, "") + "\nembedder " + e.URL + "/v1 m"
		}, false},
		{"Meilisearch with an embedder of the server", func(m *meiliserver.Server, _ *embeddings) string {
			return meiliIndex(m.URL, "embedder mine")
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, e, root := caddytest.StartMeilisearch(t), startEmbeddings(t), caddytest.AcmeFolder(t)
			s := caddytest.Start(t, c.global(m, e), caddytest.MetricsSite(root))
			s.Ready("acme")
			caddytest.Until(t, "search answers", func() bool { _, found := searchSite(s, "install"); return found })
			if c.own {
				for uid := range m.Indexes() {
					if strings.HasSuffix(uid, "_state") {
						continue // it has no sections
					}
					body := `{"embedders":{"mine":{"source":"openAi","url":"` + e.URL + `/v1/embeddings","model":"m","apiKey":"k"}}}`
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, m.URL+"/indexes/"+uid+"/settings", strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("Authorization", "Bearer "+m.Key)
					r.Header.Set("Content-Type", "application/json")
					response, err := http.DefaultClient.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					if response.Body.Close(); response.StatusCode != http.StatusAccepted {
						t.Fatalf("setting the embedder: %d", response.StatusCode)
					}
				}
				// The next change of pages finds it.
				caddytest.Write(t, root, map[string]string{"guide/more.md": "# Zebras\n\nMore of them.\n"})
				caddytest.Until(t, "the page is indexed, before the embedder hangs", func() bool { return s.Finds("zebras") })
			}
			outcome := func(name string) float64 {
				return s.Metric(t, `caddy_docs_query_embeddings_total{outcome="`+name+`",site="acme"}`)
			}
			n := 0
			query := func() { // each is new, so that no vector is at hand
				t.Helper()
				n++
				if r, found := searchSite(s, fmt.Sprintf("install %d", n)); !found {
					t.Errorf("search: %d %s", r.Status, r.Body)
				}
			}
			before := outcome("embedded")
			caddytest.Until(t, "queries are embedded", func() bool { query(); return outcome("embedded") > before })
			failed, late := outcome("failed"), outcome("timeout")
			e.fails.Store(true)
			query()
			if got := outcome("failed") - failed; got != 1 {
				t.Errorf("failed rose by %v", got)
			}
			e.fails.Store(false)
			e.hangs.Store(true)
			query()
			if got := outcome("timeout") - late; got != 1 {
				t.Errorf("timeout rose by %v", got)
			}
			caddytest.Until(t, "the failures are logged", func() bool {
				query()
				return strings.Contains(s.Log(), "keywords only")
			})
		})
	}
}
