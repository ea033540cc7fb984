package manual

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// A keystroke in the widget costs at most 3 kB, also without compression.
func aKeystrokeIsSmall(t *testing.T, s *caddytest.Server) {
	var sizes []int
	for _, query := range []string{"rate limit", "how do i install", "widget inject", "content-security-policy", "synonyms", "ollama", "api key", "docs_widget", "reload", "streaming answer"} {
		for n := 1; n <= len(query); n++ {
			body, err := json.Marshal(map[string]any{"query": query[:n], "pageSize": 7, "fields": []string{"snippet"}})
			if err != nil {
				t.Fatal(err)
			}
			r := s.Do(caddytest.Request{Path: "/v1/search/manual", Key: manualKey, Body: string(body)})
			if r.Status != 200 {
				t.Fatalf("%s: %d %s", query[:n], r.Status, r.Body)
			}
			sizes = append(sizes, len(r.Body))
			if len(r.Body) > 3000 {
				t.Errorf("%q: %d bytes", query[:n], len(r.Body))
			}
		}
	}
	slices.Sort(sizes)
	t.Logf("%d keystrokes: p50 %d, p95 %d, largest %d bytes", len(sizes), sizes[len(sizes)/2], sizes[len(sizes)*95/100], sizes[len(sizes)-1])
}
