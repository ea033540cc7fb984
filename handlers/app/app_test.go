package app

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/caddyserver/caddy/v2"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"
)

func init() {
	caddy.RegisterModule(new(App))
	caddy.RegisterModule(new(OpenAIModel))
}

// start runs the app docs with a site acme and a model that does not answer.
func start(t *testing.T) *App {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "index.md"), []byte("# Install\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, err := caddy.ProvisionContext(&caddy.Config{
		Admin:      &caddy.AdminConfig{Disabled: true},
		StorageRaw: fmt.Appendf(nil, `{"module":"file_system","root":%q}`, t.TempDir()),
		AppsRaw: caddy.ModuleMap{"docs": fmt.Appendf(nil, `{
			"data_dir": %q, "sites": {"acme": {"root": %q}},
			"llm": {"provider": "openai", "url": "http://127.0.0.1:9/v1", "model": "m"}
		}`, t.TempDir(), root)},
	})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := ctx.App("docs")
	if err != nil {
		t.Fatal(err)
	}
	a := loaded.(*App)
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestStatusMayBeReadWhileAReloadEndsTheConfiguration(t *testing.T) {
	a := start(t)
	ended := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			if st := a.Status(); len(st.Sites) != 1 {
				t.Errorf("status %+v", st)
			}
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	if err := a.Cleanup(); err != nil {
		t.Error(err)
	}
	close(ended)
	wait.Wait()
}

func TestMeilisearchTakesTheSemanticRatioOfTheEmbedder(t *testing.T) {
	own, embedders := .3, .4
	for _, c := range []struct{ index, embedder, want *float64 }{
		{nil, nil, nil}, {&own, nil, &own}, {nil, &embedders, &embedders},
	} {
		m := &MeilisearchIndex{SemanticRatio: c.index}
		if got := m.options(IndexOptions{SemanticRatio: (&OpenAIEmbedder{SemanticRatio: c.embedder}).SemanticWeight()}).SemanticRatio; got != c.want {
			t.Errorf("index %v, embedder %v: got %v", c.index, c.embedder, got)
		}
	}
}
