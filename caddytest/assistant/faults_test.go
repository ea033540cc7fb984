package assistant

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/handlers/options"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/certmagic"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

func init() {
	caddy.RegisterModule(brokenIndex{})
	caddy.RegisterModule(new(weakStorage))
}

// brokenIndex is docs.index.broken: an index whose server does not answer.
type brokenIndex struct{}

func (brokenIndex) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.index.broken", New: func() caddy.Module { return new(brokenIndex) }}
}

func (brokenIndex) UnmarshalCaddyfile(d *caddyfile.Dispenser) error { d.Next(); return nil }

func (brokenIndex) OpenIndex(options.IndexOptions) (retrieval.Index, error) {
	return brokenIndex{}, nil
}

var errBroken = fmt.Errorf("%w: dial tcp 10.1.2.3:7700: connection refused", retrieval.ErrUnavailable)

func (brokenIndex) Search(context.Context, retrieval.Query) ([]retrieval.Hit, error) {
	return nil, errBroken
}

func (brokenIndex) Mark(retrieval.Query) retrieval.Marker {
	return func(string) []retrieval.Span { return nil }
}

func (brokenIndex) Page(context.Context, string) (*retrieval.Document, error) { return nil, errBroken }

func (brokenIndex) Keep(d *retrieval.Document) (*retrieval.Document, error) { return d, nil }

func (brokenIndex) Replace(context.Context, []*retrieval.Document, func(int) [][]float32) error {
	return errBroken
}

func (brokenIndex) Documents() []*retrieval.Document { return nil }

func (brokenIndex) Close() error { return nil }

// Fifth row.
func TestWithoutSearchTheModelSaysSoAndWithoutAModelTheRequestIsRefused(t *testing.T) {
	m, url := caddytest.StartModel(t)
	site := caddytest.Site(caddytest.AcmeFolder(t))
	m.Always(modelserver.Reply{Text: "I could not search the documentation just now."})
	s := caddytest.Start(t, "index broken\n"+caddytest.LLM(url, "first", ""), site)
	for _, v := range caddytest.Versions {
		r := s.Ask(t, v, "What does this do?", map[string]any{})
		if !r.Finished || r.Error != "" || !strings.Contains(r.Text, "I could not search the documentation just now.") || r.Metadata["notice"] != "search unavailable" {
			t.Errorf("v%d: finished %t, error %q, text %q, metadata %v", v, r.Finished, r.Error, r.Text, r.Metadata)
		}
		if !strings.Contains(m.Last().Question(), "could not be searched") {
			t.Errorf("v%d: the model was not told: %s", v, m.Last().Question())
		}
	}
	// The model fails too: there is nothing to answer from, and the stream says so.
	m.Always(modelserver.Reply{Status: 500})
	for _, v := range caddytest.Versions {
		if r := s.Ask(t, v, "What does this do?", nil); r.Finished || r.Error == "" {
			t.Errorf("v%d: finished %t, error %q, text %q", v, r.Finished, r.Error, r.Text)
		}
	}

	s.Load("index broken", site)
	for _, v := range caddytest.Versions {
		path, body := caddytest.Message(v, caddytest.InstallQuestion, nil)
		r := s.Do(caddytest.Request{Path: path, Body: body})
		e := r.Error(t)
		if r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || strings.Contains(e.Error, "10.1.2.3") {
			t.Errorf("v%d without a model: %d %v %s", v, r.Status, r.Header, r.Body)
		}
		if !strings.Contains(s.Log(), e.RequestID) {
			t.Errorf("v%d: request %s is not in the log", v, e.RequestID)
		}
	}
	if r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"install"}`}); r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("searching: %d %v %s", r.Status, r.Header, r.Body)
	}
}

// weakStorage is caddy.storage.docs_test: files, until a test makes
// it fail or hang.
type weakStorage struct {
	Root string `json:"root"`
	*certmagic.FileStorage
}

// weakness is what weakStorage does: 0 nothing, 1 fail, 2 hang, 3 hang whatever the
// context, until frozen is unlocked, as files of a network do.
var (
	weakness atomic.Int32
	frozen   sync.RWMutex
)

func (*weakStorage) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "caddy.storage.docs_test", New: func() caddy.Module { return new(weakStorage) }}
}

func (w *weakStorage) CertMagicStorage() (certmagic.Storage, error) {
	w.FileStorage = &certmagic.FileStorage{Path: w.Root}
	return w, nil
}

func weak(ctx context.Context) error {
	switch weakness.Load() {
	case 1:
		return errors.New("the disk is gone")
	case 2:
		<-ctx.Done()
		return ctx.Err()
	case 3:
		frozen.RLock()
		defer frozen.RUnlock()
	}
	return nil
}

func (w *weakStorage) Store(ctx context.Context, key string, value []byte) error {
	if err := weak(ctx); err != nil {
		return err
	}
	return w.FileStorage.Store(ctx, key, value)
}

func (w *weakStorage) Load(ctx context.Context, key string) ([]byte, error) {
	if err := weak(ctx); err != nil {
		return nil, err
	}
	return w.FileStorage.Load(ctx, key)
}

func (w *weakStorage) List(ctx context.Context, path string, recursive bool) ([]string, error) {
	if err := weak(ctx); err != nil {
		return nil, err
	}
	return w.FileStorage.List(ctx, path, recursive)
}

var (
	_ certmagic.Storage      = (*weakStorage)(nil)
	_ caddy.StorageConverter = (*weakStorage)(nil)
)

// Sixth row: the reply goes on, and is remembered in memory.
func TestRepliesGoOnWhileTheStorageFails(t *testing.T) {
	m, url := caddytest.StartModel(t)
	s := caddytest.New(t)
	cfg := caddytest.AdaptWith(t, caddytest.Global(s.Dir, caddytest.LLM(url, "first", "budget 1000 requests per day"))+caddytest.MetricsSite(caddytest.AcmeFolder(t)), func(c map[string]any) {
		c["storage"] = map[string]any{"module": "docs_test", "root": s.Dir + "/weak"}
	})
	t.Cleanup(func() { weakness.Store(0) })
	for name, how := range map[string]int32{"fails": 1, "hangs": 2, "hangs whatever the context": 3} {
		t.Run("the storage "+name, func(t *testing.T) {
			if err := s.TryLoadJSON(cfg); err != nil {
				t.Fatal(err)
			}
			s.Ready("acme")
			frozen.Lock()
			defer frozen.Unlock()
			defer caddy.Stop() // ends meanwhile
			weakness.Store(how)
			before := s.Metric(t, "caddy_docs_thread_storage_failures_total")
			for _, v := range caddytest.Versions {
				m.Always(modelserver.Reply{Text: caddytest.ModelAnswer})
				first := s.Ask(t, v, caddytest.InstallQuestion, map[string]any{"fp": "ann"})
				if first.Text != caddytest.ModelAnswer || !first.Finished || len(first.Sources) == 0 || first.ThreadID == "" {
					t.Errorf("v%d: %q, finished %t", v, first.Text, first.Finished)
				}
				second := s.Ask(t, v, "And on Windows?", map[string]any{"fp": "ann", "threadId": first.ThreadID})
				if second.ThreadID != first.ThreadID || !strings.Contains(m.Last().Text("assistant")+m.Last().Text("user"), "second model says") {
					t.Errorf("v%d: the conversation is not remembered: thread %s after %s", v, second.ThreadID, first.ThreadID)
				}
			}
			if after := s.Metric(t, "caddy_docs_thread_storage_failures_total"); after <= before {
				t.Errorf("failures counted: %v, before %v", after, before)
			}
			if s.Metric(t, "caddy_docs_threads_failed_total") == 0 {
				t.Error("no turn is counted as not stored")
			}
			caddytest.Until(t, "the failure is logged", func() bool { return strings.Contains(s.Log(), "storage for threads is failing") })
		})
	}
}
