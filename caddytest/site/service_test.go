package site

import (
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddy-docs/caddy-docs/caddytest/stream"
)

// The thread through the whole house: a folder, a search, a streamed reply.
func TestAFolderIsSearchedAndAsked(t *testing.T) {
	s := caddytest.StartAcme(t)

	results := s.Search("acme", `{"query":"install on linux","pageSize":3}`)
	if len(results) == 0 || results[0].Path != "guide/install#on-linux" {
		t.Fatalf("search found %+v", results)
	}
	first := results[0]
	if first.Metadata.URL != "/guide/install#on-linux" || first.Metadata.Title != "Install Acme" || first.Metadata.Heading != "On Linux" ||
		first.Metadata.Version != "2.0" || first.Metadata.Language != "en" || !strings.Contains(first.Content, "sudo acme-install --prefix /opt/acme") {
		t.Errorf("the first result is %+v", first)
	}
	for i, r := range results {
		if r.Metadata.Score <= 0 || r.Metadata.Score > 1 || i > 0 && r.Metadata.Score > results[i-1].Metadata.Score {
			t.Errorf("score %d of %v is out of order or bounds", i, results)
		}
	}

	r := s.Do(caddytest.Request{Path: "/v2/assistant/acme/message", Body: caddytest.Question("How do I install Acme on Linux?", nil)})
	if r.Status != http.StatusOK {
		t.Fatalf("asking: %d %s", r.Status, r.Body)
	}
	reply, err := stream.ReadV2(string(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(reply.Text, "sudo acme-install --prefix /opt/acme") || !strings.Contains(reply.Text, "(/guide/install#on-linux)") {
		t.Errorf("the answer neither quotes the command nor links to its section:\n%s", reply.Text)
	}
	if len(reply.Sources) == 0 || reply.ThreadID == "" || reply.ThreadID != r.Header.Get("X-Thread-Id") {
		t.Errorf("sources %v, thread %q, header %q", reply.Sources, reply.ThreadID, r.Header.Get("X-Thread-Id"))
	}
}
