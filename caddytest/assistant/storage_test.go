package assistant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

func init() { caddy.RegisterModule(new(pointerStorage)) }

// pointerStorage is a storage that holds pointers, as those with a connection
// do: two values of one configuration print differently.
type pointerStorage struct {
	Root string `json:"root"`

	*connection
}

type connection struct{ certmagic.Storage }

func (*pointerStorage) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "caddy.storage.test_pointer", New: func() caddy.Module { return new(pointerStorage) }}
}

func (s *pointerStorage) Provision(caddy.Context) error {
	s.connection = &connection{&certmagic.FileStorage{Path: s.Root}}
	return nil
}

func (s *pointerStorage) CertMagicStorage() (certmagic.Storage, error) { return s, nil }

// Cleanup closes the connection, as storages over a network do.
func (s *pointerStorage) Cleanup() error {
	s.Storage = &certmagic.FileStorage{Path: filepath.Join(s.Root, "closed")}
	return nil
}

func TestBudgetAndThreadsOutliveAReloadWithAStorageThatHoldsAPointer(t *testing.T) {
	m, url := caddytest.StartModel(t)
	m.Always(modelserver.Reply{Text: caddytest.ModelAnswer})
	s := caddytest.New(t)
	caddyfile := caddytest.Global(s.Dir, caddytest.LLM(url, "first", "budget 3 requests per day")) + caddytest.Site(caddytest.AcmeFolder(t))
	load := func() {
		t.Helper()
		cfg, err := caddytest.Adapt(caddyfile)
		if err != nil {
			t.Fatal(err)
		}
		var c map[string]json.RawMessage
		if err := json.Unmarshal(cfg, &c); err != nil {
			t.Fatal(err)
		}
		c["storage"] = fmt.Appendf(nil, `{"module":"test_pointer","root":%q}`, filepath.Join(s.Dir, "storage"))
		if cfg, err = json.Marshal(c); err != nil {
			t.Fatal(err)
		}
		if err := s.TryLoadJSON(cfg); err != nil {
			t.Fatal(err)
		}
	}
	load()
	s.Ready("acme")
	first := s.Ask(t, 2, caddytest.InstallQuestion, nil)
	began := caddytest.App(t).Shared().Threads
	load()
	if caddytest.App(t).Shared().Threads != began {
		t.Error("the reload began new threads")
	}
	b := caddytest.App(t).Status().Sites[0].Budget
	if b == nil || b.SpentRequests != 1 {
		t.Fatalf("after the reload: %+v, want 1 request spent", b)
	}
	second := s.Ask(t, 2, "And on Windows?", map[string]any{"threadId": first.ThreadID})
	if second.ThreadID != first.ThreadID || !bytes.Contains(m.Last().Body, []byte("How do I install")) {
		t.Errorf("the thread was lost: %s, %s", first.ThreadID, second.ThreadID)
	}
}
