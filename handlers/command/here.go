package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/handlers/app"
)

// openHere answers a request to the admin API by the configuration, as a running
// server would.
func (t *target) openHere(ctx context.Context, method, uri string, in []byte) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, method, uri, bytes.NewReader(in))
	if err != nil {
		return nil, err
	}
	if err := t.prepare(ctx, r.URL.Path); err != nil {
		return nil, err
	}
	api := admin.API{App: t.app}
	answer, w := io.Pipe()
	go func() {
		defer func() {
			switch failed := recover(); failed {
			case nil:
			case http.ErrAbortHandler: // as for a client
				w.CloseWithError(io.ErrUnexpectedEOF)
			default:
				w.CloseWithError(fmt.Errorf("%s %s failed: %v", method, uri, failed))
			}
		}()
		w.CloseWithError(api.Serve(pipeWriter{w, http.Header{}}, r))
	}()
	return answer, nil
}

// pipeWriter is the http.ResponseWriter of openHere.
type pipeWriter struct {
	io.Writer
	header http.Header
}

func (w pipeWriter) Header() http.Header { return w.header }
func (pipeWriter) WriteHeader(int)       {} // errors are returned
func (pipeWriter) Flush()                {} // nothing is kept

// prepare opens the app of the configuration as far as a request needs it: most
// work without the sites' indexes, and others on the pages as they are now.
func (t *target) prepare(ctx context.Context, path string) error {
	if t.app == nil {
		if err := t.provision(); err != nil {
			return err
		}
	}
	what, site, _ := strings.Cut(strings.TrimPrefix(path, "/docs/"), "/")
	if !slices.Contains([]string{"index", "pages", "check", "moved", "queries", "search", "ask", "explain"}, what) {
		return nil
	}
	if !t.started {
		if err := t.app.Start(); err != nil {
			return err
		}
		t.started = true
	}
	if what == "index" || t.refreshed == site {
		return nil
	}
	t.refreshed = site
	_, err := admin.API{App: t.app}.Refresh(ctx, site)
	return err
}

// provision makes the app of the configuration, without serving it.
func (t *target) provision() error {
	if t.config == "" {
		return fmt.Errorf("no running Caddy responds at %s; start it, give the URL of its admin API with --address, or a configuration with --config", t.asked)
	}
	data, err := t.load()
	if err != nil {
		return err
	}
	var cfg caddy.Config
	if err := caddy.StrictUnmarshalJSON(data, &cfg); err != nil {
		return fmt.Errorf("decoding %s: %w", t.config, err)
	}
	cfg.Logging = &caddy.Logging{Logs: map[string]*caddy.CustomLog{"default": {BaseLog: caddy.BaseLog{Level: cmp.Or(t.level, "WARN")}}}}
	ctx, err := caddy.ProvisionContext(&cfg)
	if err != nil {
		return fmt.Errorf("%s: %w", t.config, err)
	}
	loaded, err := ctx.AppIfConfigured("docs")
	if errors.Is(err, caddy.ErrNotConfigured) {
		return fmt.Errorf("%s has no documentation sites: write the directive docs or the global option docs", t.config)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.config, err)
	}
	t.app = loaded.(*app.App)
	t.app.Recorded().Silent = true
	if err := t.app.FindSites(); err != nil {
		t.close()
		return fmt.Errorf("%s: %w", t.config, err)
	}
	return nil
}

// close releases the app of the configuration.
func (t *target) close() {
	if t.app != nil {
		_, _ = t.app.Stop(), t.app.Cleanup()
		t.app = nil
	}
}
