package model

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// overSockets serves h over real connections, and returns a chain that asks it
// with the package's own client, and the number of connections so far.
func overSockets(t *testing.T, h http.Handler) (*Chain, *atomic.Int32) {
	t.Helper()
	opened := new(atomic.Int32)
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	c, err := New(Options{Endpoints: []Endpoint{{URL: srv.URL + "/v1", Model: "fake"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, opened
}

func TestRepliesInSuccessionShareAConnection(t *testing.T) {
	fake := modelserver.New()
	fake.Always(modelserver.Reply{Text: "whole"})
	c, opened := overSockets(t, fake)
	question := strings.Repeat("a long question ", 10_000)
	prompt := &assistant.Prompt{Messages: []assistant.PromptMessage{{Role: "user", Content: question}}}
	for range 3 {
		if got, _, err := askAs(t.Context(), c, prompt); err != nil || got.text != "whole" {
			t.Fatal(got.text, err)
		}
		if got := fake.Last().Question(); got != question {
			t.Fatalf("%d bytes of the question arrived", len(got))
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for 3 replies", n)
	}
}

// An endpoint that fails after it has read a question may have generated, and
// billed, the reply.
func TestAQuestionIsNotSentTwice(t *testing.T) {
	fake := modelserver.New()
	fake.Always(modelserver.Reply{Text: "whole"})
	var generations atomic.Int32
	c, opened := overSockets(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if generations.Add(1) > 1 {
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		}
		fake.ServeHTTP(w, r)
	}))
	if _, _, err := ask(t, c); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(t, c); kindOf(err) != Unreachable {
		t.Errorf("error %v", err)
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections: the second question did not reuse the first", n)
	}
	if n := generations.Load(); n != 2 {
		t.Errorf("%d generations for 2 questions", n)
	}
}
