package caddytest

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// ModelAnswer is an answer with a link to one of acme's sections.
const ModelAnswer = "The second model says: run [the installer](/guide/install#on-linux)."

// StartModel runs a model server for the test and returns the URL of its API.
func StartModel(t testing.TB) (*modelserver.Server, string) {
	t.Helper()
	m := modelserver.New()
	srv := httptest.NewServer(m)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return m, srv.URL + "/v1"
}

// StartWithModel runs acme with a model and the lines of its llm block.
func StartWithModel(t testing.TB, url, model, block string) *Server {
	t.Helper()
	s := Start(t, LLM(url, model, block), MetricsSite(AcmeFolder(t)))
	s.Ready("acme")
	return s
}

// LLM returns the lines that configure a model.
func LLM(url, model, block string) string {
	return fmt.Sprintf("llm %s %s {\n%s\n}", url, model, block)
}

// Numbers returns n tokens: "0 ", "1 " and so on.
func Numbers(n int) []string {
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("%d ", i)
	}
	return tokens
}
