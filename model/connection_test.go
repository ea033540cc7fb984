package model

import (
	"bytes"
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

// Over real sockets and with the chain's own client: a reply that was read to
// its end leaves its connection for the next, and one whose idle connection
// the endpoint has closed is asked again on another.
func TestConnectionsAreUsedAgain(t *testing.T) {
	fake := modelserver.New()
	fake.Always(modelserver.Reply{Text: "whole"})
	srv := httptest.NewUnstartedServer(fake)
	idle := make(chan struct{}, 16)
	var opened atomic.Int32
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			opened.Add(1)
		case http.StateIdle:
			idle <- struct{}{}
		}
	}
	srv.Start()
	defer srv.Close()
	c, err := New(Options{Endpoints: []Endpoint{{URL: srv.URL + "/v1", Model: "fake"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	question := strings.Repeat("a long question ", 10_000)
	prompt := &assistant.Prompt{Messages: []assistant.PromptMessage{{Role: "user", Content: assistant.Content{question}}}}
	for range 3 {
		if got, _, err := askAs(t.Context(), c, prompt); err != nil || got.text != "whole" {
			t.Fatal(got.text, err)
		}
		if got := fake.Last().Question(); got != question {
			t.Fatalf("%d bytes of the question came", len(got))
		}
		<-idle
	}
	// The client may still be reading the last chunk's end when the server
	// is idle already: then it dials once more.
	if n := opened.Load(); n > 2 {
		t.Errorf("%d connections for 3 replies", n)
	}
	srv.CloseClientConnections()
	if got, _, err := askAs(t.Context(), c, prompt); err != nil || got.text != "whole" {
		t.Errorf("on a closed connection: %q, %v", got.text, err)
	}
}

func TestTheBodyIsLetGoOfOnceItIsSent(t *testing.T) {
	o := newOutgoing(bytes.NewBufferString("a prompt"))
	first, _ := o.reader()
	if b, _ := io.ReadAll(first); string(b) != "a prompt" {
		t.Fatalf("%q", b)
	}
	r, _ := o.reader() // net/http asks again where the connection turned out to be closed
	p := make([]byte, 5)
	if n, _ := r.Read(p); n != 5 {
		t.Fatal(n)
	}
	if o.release(); o.b.Load() == nil {
		t.Fatal("let go of while it is being sent")
	}
	if n, _ := r.Read(p); string(p[:n]) != "mpt" {
		t.Fatalf("%q", p[:n])
	}
	if o.release(); o.b.Load() != nil {
		t.Error("kept")
	}
	if n, err := r.Read(p); n != 0 || err != io.EOF {
		t.Error(n, err)
	}
}
