package caddytest

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
)

// Finds reports whether a search of acme has results.
func (s *Server) Finds(query string) bool {
	r := s.Do(Request{Path: SearchPath, Body: `{"query":"` + query + `"}`})
	var hits []json.RawMessage
	return r.Status == http.StatusOK && json.Unmarshal(r.Body, &hits) == nil && len(hits) > 0
}

// StartMeilisearch runs a stand-in for a Meilisearch server. The environment
// variables TEST_MEILI_KEY and TEST_MEILI_SEARCH_KEY hold its keys.
func StartMeilisearch(t *testing.T) *meiliserver.Server {
	t.Helper()
	m := meiliserver.New()
	t.Cleanup(func() {
		m.Break(nil)
		m.CloseClientConnections()
		m.Close()
	})
	t.Setenv("TEST_MEILI_KEY", m.Key)
	t.Setenv("TEST_MEILI_SEARCH_KEY", m.SearchKey)
	return m
}
