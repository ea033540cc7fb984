package caddytest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/caddytest/stream"
)

// ask sends a v2 question and reads the reply strictly.
func (s *Server) ask(body string) *stream.Reply {
	s.t.Helper()
	r := s.Do(Request{Path: v2Path, Body: body})
	if r.Status != http.StatusOK {
		s.t.Fatalf("asking %.200s: %d %s", body, r.Status, r.Body)
	}
	reply, err := stream.ReadV2(string(r.Body))
	if err != nil {
		s.t.Fatalf("reading the reply: %v\n%s", err, r.Body)
	}
	return reply
}

func TestThreadsGoOn(t *testing.T) {
	dir, root := t.TempDir(), acmeFolder(t)
	site := "http://:0 {\n\tdocs acme " + root + "\n}\n"
	s := StartIn(t, dir, "", site)
	s.Ready("acme")
	first := s.ask(Question("How do I install Acme on Linux?", map[string]any{"fp": "ann"}))
	if first.ThreadID == "" || first.EarlyThreadID != first.ThreadID {
		t.Fatalf("thread %q, early %q", first.ThreadID, first.EarlyThreadID)
	}
	second := s.ask(Question("And on Windows?", map[string]any{"fp": "ann", "threadId": first.ThreadID}))
	if second.ThreadID != first.ThreadID {
		t.Errorf("the thread changed from %s to %s", first.ThreadID, second.ThreadID)
	}
	if !strings.Contains(second.Text, "acme-setup.exe") {
		t.Errorf("a follow-up whose history only the server has was not understood:\n%s", second.Text)
	}
	for name, fields := range map[string]map[string]any{
		"another reader's": {"fp": "bob", "threadId": first.ThreadID},
		"an unknown one":   {"fp": "ann", "threadId": "thr_00000000000000000000000000"},
		"one of elsewhere": {"fp": "ann", "threadId": "3f6c1d52-0f3b-4a7e-9d59-1f64b1f0a111"},
	} {
		if r := s.ask(Question("install", fields)); r.ThreadID == "" || r.ThreadID == fields["threadId"] {
			t.Errorf("%s thread was taken up: %s", name, r.ThreadID)
		}
	}

	// From the metadata of the last answer, where the body names none.
	body := fmt.Sprintf(`{"fp":"ann","trigger":"submit-message","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"a"}]},{"id":"2","role":"assistant","metadata":{"threadId":%q},"parts":[{"type":"text","text":"b"}]},{"id":"3","role":"user","parts":[{"type":"text","text":"install"}]}]}`, first.ThreadID)
	if r := s.ask(body); r.ThreadID != first.ThreadID {
		t.Errorf("the thread of the last answer's metadata was not taken up: %s", r.ThreadID)
	}

	// Over a reload with another configuration, and over a restart.
	s.Load("", site+"http://more.test:0 {\n\trespond ok\n}\n")
	if r := s.ask(Question("install", map[string]any{"fp": "ann", "threadId": first.ThreadID})); r.ThreadID != first.ThreadID {
		t.Errorf("the thread did not survive a reload")
	}
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	s.Load("", site)
	s.Ready("acme")
	if r := s.ask(Question("install", map[string]any{"fp": "ann", "threadId": first.ThreadID})); r.ThreadID != first.ThreadID {
		t.Errorf("the thread did not survive a restart")
	}
}

func TestThreadsOffKeepsNone(t *testing.T) {
	s := Start(t, "threads off", "http://:0 {\n\tdocs acme "+acmeFolder(t)+"\n}\n")
	s.Ready("acme")
	if r := s.ask(Question("install", nil)); r.ThreadID == "" {
		t.Error("a reply without a thread id")
	}
	names, err := caddy.ActiveContext().Storage().List(t.Context(), "docs", true)
	if err == nil && len(names) > 0 {
		for _, n := range names {
			if strings.Contains(n, "threads") {
				t.Errorf("stored: %s", n)
			}
		}
	}
}
