package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/options"
)

func init() {
	caddy.RegisterModule(new(app.App))
	caddy.RegisterModule(new(options.OpenAIModel))
}

// loadApp returns the app docs with a site acme and a model that does not
// answer. The caller starts and stops it.
func loadApp(t *testing.T) *app.App {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.md"), []byte("# Install\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, err := caddy.ProvisionContext(&caddy.Config{
		Admin:      &caddy.AdminConfig{Disabled: true},
		StorageRaw: fmt.Appendf(nil, `{"module":"file_system","root":%q}`, t.TempDir()),
		AppsRaw: caddy.ModuleMap{
			"docs": fmt.Appendf(nil, `{
				"data_dir": %q, "sites": {"acme": {"root": %q}},
				"llm": {"provider": "openai", "url": "http://127.0.0.1:9/v1", "model": "m"}
			}`, t.TempDir(), dir),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := ctx.App("docs")
	if err != nil {
		t.Fatal(err)
	}
	return loaded.(*app.App)
}

// waited calls start when somebody waits for the context's end.
type waited struct {
	context.Context
	start func()
}

func (w waited) Done() <-chan struct{} {
	w.start()
	return w.Context.Done()
}

// The HTTP app may start before ours, also at a reload: a request that comes
// in between must not get the response that there is no index.
func TestRequestsWaitForTheStartOfTheApp(t *testing.T) {
	docs := loadApp(t)
	start := sync.OnceFunc(func() {
		if err := docs.Start(); err != nil {
			t.Error(err)
		}
	})
	defer func() {
		start()
		if err := docs.Stop(); err != nil {
			t.Error(err)
		}
		if err := docs.Cleanup(); err != nil {
			t.Error(err)
		}
	}()

	asked := false
	next := caddyhttp.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) error {
		asked = true
		release, ok := docs.Site("acme").Acquire()
		if !ok {
			t.Error("the request came to a site that has not started")
			return nil
		}
		release()
		return nil
	})
	r := httptest.NewRequest(http.MethodPost, "/v1/search/acme", nil)
	r = r.WithContext(waited{r.Context(), start})
	guard := &Guard{app: docs}
	if err := guard.ServeHTTP(httptest.NewRecorder(), r, next); err != nil || !asked {
		t.Errorf("%v, asked %t", err, asked)
	}
}

func TestStatusMayBeReadWhileAReloadEndsTheConfiguration(t *testing.T) {
	a := loadApp(t)
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			if st := (admin.API{App: a}).Status(); len(st.Sites) != 1 {
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
