// Package app is the Caddy app "docs": configuration, lifetime, storage,
// admin API and metrics, and the wiring of the pure packages.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/dashboard"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/retrieval/source"
)

// App is the Caddy app "docs": the sites whose documentation is searched and
// asked about, the keys that open them, and where the index, the embeddings
// and the model come from. The Caddyfile's global option docs configures it.
type App struct {
	options.App

	ctx    caddy.Context
	log    *zap.Logger
	store  *Store
	logins *dashboard.Logins
	exit   *exit
	// lasting logs for what configurations share.
	lasting *slog.Logger

	recorded Insights

	indexes   options.IndexOpener
	embedders options.EmbedderOpener // nil without an embedder
	models    options.ModelOpener    // nil without a model
	// Hashes of the guest modules' configuration, with placeholders replaced.
	indexHash, embedderHash, modelHash string

	watcher *source.Watcher // of the folders of all sites
	// refreshing has room for the refreshes of folders' sites at a time.
	refreshing chan struct{}

	folders []*folders
	found   *routeSites // what the routes define and serve; set by resolve
	routes  *reach.Routes

	// holds is released by Cleanup.
	holds holder

	// started ends when Start has succeeded, or there will be none.
	started context.Context
	ready   context.CancelFunc
	// served ends when all apps have started.
	served context.Context
	serve  context.CancelFunc

	shared site.Shared
	registry
	model atomic.Pointer[Model] // nil before Start, and without a model

	// background ends with Stop: what this configuration runs besides requests.
	background context.Context
	stop       context.CancelFunc
	wait       sync.WaitGroup

	// endH3 ends replies in progress over HTTP/3, which a reload will cut.
	endH3 context.CancelCauseFunc
}

// storeTimeout bounds one access to the storage outside of requests.
const storeTimeout = 5 * time.Second

func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs", New: func() caddy.Module { return new(App) }}
}

// Provision checks the configuration, loads the guest modules and reads the
// keys. Nothing is indexed or connected to before Start, so that `caddy
// validate` has no effects.
func (a *App) Provision(ctx caddy.Context) (err error) {
	a.ctx = ctx
	a.log = ctx.Logger()
	a.background, a.stop = context.WithCancel(context.Background())
	a.served, a.serve = context.WithCancel(context.Background())
	a.started, a.ready = context.WithCancel(context.Background())
	logs := shareNew(&a.holds, "log", func() *site.Newest[slog.Handler] { return new(site.Newest[slog.Handler]) })
	a.holds.releases = append(a.holds.releases, logs.Use(ctx.Slogger().Handler()))
	a.lasting = slog.New(lastingLog{logs, func(h slog.Handler) slog.Handler { return h }})
	a.shared.Log, a.shared.Slog = a.log, ctx.Slogger()
	a.shared.StoppingH3, a.endH3 = context.WithCancelCause(context.Background())
	a.exit = shareNew(&a.holds, "exit", func() *exit {
		ending, end := context.WithCancelCause(context.Background())
		return &exit{ending: ending, end: end}
	})
	a.shared.Stopping = a.exit.ending
	a.store = shareNew(&a.holds, "storage", func() *Store { return &Store{locked: make(map[string]*storage)} })
	a.holds.releases = append(a.holds.releases, a.store.Use(&storage{Storage: ctx.Storage()}))
	a.shared.Limits = shareNew(&a.holds, "limits", site.NewLimits)
	a.shared.Recording = shareNew(&a.holds, "recording", site.NewRecording)
	a.watcher = shareNew(&a.holds, "watcher", func() *source.Watcher { return new(source.Watcher) })
	if err := a.Resolve(ctx); err != nil {
		return err
	}
	for _, f := range a.SiteFolders {
		a.folders = append(a.folders, &folders{SiteFolders: f, app: a, missing: make(map[string]time.Time)})
	}
	a.refreshing = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))

	if err := a.loadGuests(); err != nil {
		return err
	}
	a.routes = reach.NewRoutes(ctx)
	a.logins = dashboard.NewLogins(a.store, ctx.Slogger())
	a.shared.Keys = access.NewKeys(a.store, nil, ctx.Slogger())
	a.shared.Tokens = access.NewTokens(a.store, ctx.Slogger())
	if err := a.fixKeys(a.configured()); err != nil {
		return err
	}
	sctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if err := a.shared.Keys.Reload(sctx); err != nil {
		a.log.Error("the keys in the storage could not be read; until they can be, only the keys in the configuration are valid", zap.Error(err))
	}
	ttl := a.ThreadsTTL()
	a.shared.Threads = shareNew(&a.holds, "threads "+ttl.String(), func() *site.Threads { return site.NewThreads(a.store, ttl, a.lasting) })
	if err := a.recorded.load(a); err != nil {
		return fmt.Errorf("insights: %w", err)
	}
	if err := observe.Register(ctx.GetMetricsRegistry(), (*readings)(a)); err != nil {
		return err
	}

	events, err := ctx.App("events")
	if err != nil {
		return err
	}
	e := events.(*caddyevents.App)
	return errors.Join(e.On("started", a), e.On("stopping", a))
}

// configured returns the sites of the configuration.
func (a *App) configured() map[string]*live {
	sites := make(map[string]*live)
	for name, s := range a.Sites {
		sites[name] = &live{Site: site.New(name, s, &a.shared)}
	}
	for name, g := range a.Groups {
		r := &live{Site: site.New(name, &g.Site, &a.shared), group: &group{Group: g, app: a}}
		r.Members = func() []*site.Site { return r.group.members().sites }
		sites[name] = r
	}
	return sites
}

// loadGuests loads index, embedder and model modules.
func (a *App) loadGuests() (err error) {
	a.indexes = new(options.EmbeddedIndex)
	if a.IndexRaw != nil {
		if a.indexes, a.indexHash, err = loadGuest[options.IndexOpener](a, "IndexRaw"); err != nil {
			return fmt.Errorf("index: %w", err)
		}
	}
	if a.EmbedderRaw != nil {
		if a.embedders, a.embedderHash, err = loadGuest[options.EmbedderOpener](a, "EmbedderRaw"); err != nil {
			return fmt.Errorf("embedder: %w", err)
		}
	}
	if a.LLMRaw != nil {
		if a.models, a.modelHash, err = loadGuest[options.ModelOpener](a, "LLMRaw"); err != nil {
			return fmt.Errorf("llm: %w", err)
		}
	}
	if m, ok := a.indexes.(*options.MeilisearchIndex); ok && m.Embedder != "" && a.embedders != nil {
		return fmt.Errorf("index meilisearch has the servers' embedder %s, and there is also embedder %s; keep one", m.Embedder, a.embedders.Describe())
	}
	if m, ok := a.indexes.(*options.MeilisearchIndex); ok && m.SemanticRatio != nil && a.semanticRatio() != nil {
		return fmt.Errorf("semantic_ratio is in embedder (%v) and in index meilisearch (%v); keep one", *a.semanticRatio(), *m.SemanticRatio)
	}
	return nil
}

// semanticRatio is that of the embedder, nil if it has none.
func (a *App) semanticRatio() *float64 {
	if a.embedders == nil {
		return nil
	}
	return a.embedders.SemanticWeight()
}

// loadGuest loads a guest module. The hash is of the provisioned module, so
// that it changes with a rotated key.
func loadGuest[T any](a *App, field string) (guest T, hash string, err error) {
	loaded, err := a.ctx.LoadModule(a, field)
	if err != nil {
		return guest, "", err
	}
	guest, ok := loaded.(T)
	if !ok {
		return guest, "", fmt.Errorf("%T can't be used here: it does not implement %s", loaded, reflect.TypeFor[T]())
	}
	hash, err = hashOf(loaded.(caddy.Module).CaddyModule().ID, loaded)
	return guest, hash, err
}

// Start brings the sites up: their indexes are loaded from disk, and
// refreshed in the background. It does not wait for them.
func (a *App) Start() (err error) {
	sites, err := a.resolve()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			for _, r := range sites {
				r.close()
			}
		}
	}()
	model, err := a.openModel()
	if err != nil {
		return err
	}
	for _, r := range sorted(sites) {
		if err := a.openSite(r, model); err != nil {
			return fmt.Errorf("site %s: %w", r.Name, err)
		}
	}
	if err := a.recorded.open(a); err != nil {
		return err
	}
	a.model.Store(model)
	a.byName.Store(&sites)
	for _, r := range sites {
		if r.group != nil {
			r.holds.releases = append(r.holds.releases, r.group.shared.Use(r.Members))
		}
	}
	a.ready()
	for _, at := range a.found.dashboards {
		a.log.Info("the dashboard is ready",
			zap.String("url", cmp.Or(at.below(a.found.http), fmt.Sprint(at, at.prefix))), zap.String("sign_in", "caddy docs login"), zap.String("open_to", at.openTo))
	}
	a.Go(a.shared.Keys.Run)
	a.Go(a.shared.Threads.Run)
	a.Go(func(ctx context.Context) {
		reach.Ticks(ctx, func() {
			for _, r := range a.all() {
				r.Reach.Tick()
			}
		})
	})
	for _, f := range a.folders {
		a.Go(f.run)
	}
	return nil
}

// startTimeout bounds how long a request waits for Start, which may take a
// second while it loads indexes from disk.
const startTimeout = 5 * time.Second

// AwaitStart waits until the app has started, and reports whether it has: not
// if ctx ends, the start fails or takes too long. Caddy starts the apps of a
// configuration in any order: the HTTP app may already bring requests of a
// new configuration, also at a reload.
func (a *App) AwaitStart(ctx context.Context) bool {
	if a.started.Err() == nil {
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		select {
		case <-a.started.Done():
		case <-ctx.Done():
		}
	}
	return a.byName.Load() != nil
}

// Go runs f until the app stops.
func (a *App) Go(f func(context.Context)) {
	a.wait.Go(func() { f(a.background) })
}

// Stop ends what this configuration runs in the background. Replies under
// way go on: they hold what they use.
func (a *App) Stop() error {
	a.stop()
	a.wait.Wait()
	for _, r := range a.all() {
		r.wait.Wait()
	}
	return nil
}

// Cleanup releases what is shared with other configurations. It is also
// called on an App whose provisioning failed.
func (a *App) Cleanup() error {
	a.stop()
	a.ready() // requests stop waiting for a start that failed
	var errs []error
	for _, r := range a.all() {
		errs = append(errs, r.close())
	}
	return errors.Join(append(errs, a.holds.release())...)
}

var (
	_ caddy.App           = (*App)(nil)
	_ caddy.Provisioner   = (*App)(nil)
	_ caddy.CleanerUpper  = (*App)(nil)
	_ caddyevents.Handler = (*App)(nil)
)
