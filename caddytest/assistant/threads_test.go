package assistant

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddyserver/caddy/v2"
)

func TestThreadsGoOn(t *testing.T) {
	dir, root := t.TempDir(), caddytest.AcmeFolder(t)
	site := caddytest.Site(root)
	s := caddytest.StartIn(t, dir, "", site)
	s.Ready("acme")
	first := s.AskBody(caddytest.Question("How do I install Acme on Linux?", map[string]any{"fp": "ann"}))
	if first.ThreadID == "" || first.EarlyThreadID != first.ThreadID {
		t.Fatalf("thread %q, early %q", first.ThreadID, first.EarlyThreadID)
	}
	second := s.AskBody(caddytest.Question("And on Windows?", map[string]any{"fp": "ann", "threadId": first.ThreadID}))
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
		if r := s.AskBody(caddytest.Question("install", fields)); r.ThreadID == "" || r.ThreadID == fields["threadId"] {
			t.Errorf("%s thread was taken up: %s", name, r.ThreadID)
		}
	}

	// From the metadata of the last answer, where the body names none.
	body := fmt.Sprintf(`{"fp":"ann","trigger":"submit-message","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"a"}]},{"id":"2","role":"assistant","metadata":{"threadId":%q},"parts":[{"type":"text","text":"b"}]},{"id":"3","role":"user","parts":[{"type":"text","text":"install"}]}]}`, first.ThreadID)
	if r := s.AskBody(body); r.ThreadID != first.ThreadID {
		t.Errorf("the thread of the last answer's metadata was not taken up: %s", r.ThreadID)
	}

	// Over a reload with another configuration, and over a restart.
	s.Load("", site+"http://more.test:0 {\n\trespond ok\n}\n")
	if r := s.AskBody(caddytest.Question("install", map[string]any{"fp": "ann", "threadId": first.ThreadID})); r.ThreadID != first.ThreadID {
		t.Errorf("the thread did not survive a reload")
	}
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	s.Load("", site)
	s.Ready("acme")
	if r := s.AskBody(caddytest.Question("install", map[string]any{"fp": "ann", "threadId": first.ThreadID})); r.ThreadID != first.ThreadID {
		t.Errorf("the thread did not survive a restart")
	}
}

func TestThreadsOffKeepsNone(t *testing.T) {
	s := caddytest.Start(t, "threads off", caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	if r := s.AskBody(caddytest.Question("install", nil)); r.ThreadID == "" {
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
