// Package app is the Caddy app "docs": configuration, lifetime, storage,
// admin API and metrics, and the wiring of the pure packages.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/assistant/thread"
	"github.com/caddy-docs/caddy-docs/dashboard"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
)

// App is the Caddy app "docs": the sites whose documentation is searched and
// asked about, the keys that open them, and where the index, the embeddings
// and the model come from. The Caddyfile's global option docs configures it.
type App struct {
	// The sites by name. The name is the {domain} of the API's paths, a DNS
	// label: 1 to 63 of a-z 0-9 -, with no hyphen at either end. HTTP routes may
	// define further sites, as the directive docs does.
	Sites map[string]*Site `json:"sites,omitempty"`

	// Directories whose subdirectories are sites.
	SiteFolders []*SiteFolders `json:"site_folders,omitempty"`

	// Fixed keys. `caddy docs key create` makes others, which are stored.
	Keys []*FixedKey `json:"keys,omitempty"`

	// The index that is searched: docs.index.embedded, inside the process, or
	// docs.index.meilisearch. Default: embedded.
	IndexRaw json.RawMessage `json:"index,omitempty" caddy:"namespace=docs.index inline_key=backend"`

	// The source of embeddings, which makes search hybrid:
	// docs.embedder.openai. Default: none, keyword search only.
	EmbedderRaw json.RawMessage `json:"embedder,omitempty" caddy:"namespace=docs.embedder inline_key=provider"`

	// The model that writes replies: docs.llm.openai. Default: none, and
	// replies quote the documentation.
	LLMRaw json.RawMessage `json:"llm,omitempty" caddy:"namespace=docs.llm inline_key=provider"`

	// How long conversations are kept. Default: 30 days.
	Threads *Threads `json:"threads,omitempty"`

	// What is recorded of searches, questions, clicks and feedback. Default: in a
	// file in data_dir, for 90 days.
	Insights *Insights `json:"insights,omitempty"`

	// How long replies in progress may continue when the process ends and the HTTP
	// app has no grace_period, from 1s to 24h; then they end with an error in
	// the stream. Default: 30s.
	StopTimeout caddy.Duration `json:"stop_timeout,omitempty"`

	// The folder for indexes and embeddings. Default: the folder docs in
	// Caddy's data directory.
	DataDir string `json:"data_dir,omitempty"`

	ctx     caddy.Context
	log     *zap.Logger
	store   *store
	keys    *access.Keys
	tokens  *access.Tokens
	threads *threads
	logins  *dashboard.Logins
	limits  *limitUse
	exit    *exit

	recording *recording
	recorder  *recorder // nil before Start, and with insights off
	silent    bool      // records nothing, see Silence

	indexes   IndexOpener
	embedders EmbedderOpener // nil without an embedder
	models    ModelOpener    // nil without a model
	stores    InsightsOpener
	// Hashes of the guest modules' configuration, with placeholders replaced.
	indexHash, embedderHash, modelHash string

	watcher *sharedWatcher
	// refreshing has room for the refreshes of folders' sites at a time.
	refreshing chan struct{}

	found  *routeSites // what the routes define and serve; set by resolve
	routes *reach.Routes

	// holds is released by Cleanup.
	holds holder

	// started ends when Start has succeeded, or there will be none.
	started context.Context
	ready   context.CancelFunc

	mu    sync.RWMutex
	sites map[string]*LiveSite // nil before Start
	hosts map[string]int       // how many sites have a host
	model *pooledModel         // nil before Start, and without a model

	// background ends with Stop: what this configuration runs besides requests.
	background context.Context
	stop       context.CancelFunc
	wait       sync.WaitGroup

	// endingH3 is cancelled, with ErrStopping, when replies in progress over
	// HTTP/3 must end because a reload will cut them.
	endingH3 context.Context
	endH3    context.CancelCauseFunc
}

// storeTimeout bounds one access to the storage outside of requests.
const storeTimeout = 5 * time.Second

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "docs",
		New: func() caddy.Module { return new(App) },
	}
}

// Provision checks the configuration, loads the guest modules and reads the
// keys. Nothing is indexed or connected to before Start, so that `caddy
// validate` has no effects.
func (a *App) Provision(ctx caddy.Context) (err error) {
	a.ctx = ctx
	a.log = ctx.Logger()
	a.background, a.stop = context.WithCancel(context.Background())
	a.started, a.ready = context.WithCancel(context.Background())
	a.endingH3, a.endH3 = context.WithCancelCause(context.Background())
	if a.exit, err = share(&a.holds, exitKey{}, newExit); err != nil {
		return err
	}
	if a.store, err = share(&a.holds, storeKey{}, newStore); err != nil {
		return err
	}
	a.holds.releases = append(a.holds.releases, a.store.use(ctx.Storage()))
	if a.limits, err = share(&a.holds, limitUseKey{}, newLimitUse); err != nil {
		return err
	}

	if a.DataDir, err = replaced("data_dir", a.DataDir); err != nil {
		return err
	}
	if a.DataDir == "" {
		a.DataDir = filepath.Join(caddy.AppDataDir(), "docs")
	}
	sites := make(map[string]*LiveSite)
	for name, s := range a.Sites {
		if s == nil {
			return fmt.Errorf("site %s: it is null; give it a root or a sitemap", name)
		}
		if err := s.provision(name); err != nil {
			return err
		}
		sites[name] = newLiveSite(name, s)
	}

	for i, f := range a.SiteFolders {
		if f == nil {
			return fmt.Errorf("site_folders %d: it is null; give it folders and site", i+1)
		}
		if err := f.provision(); err != nil {
			return fmt.Errorf("sites %s: %w", f.Folders, err)
		}
	}
	if a.watcher, err = share(&a.holds, watcherKey{}, func() (*sharedWatcher, error) { return new(sharedWatcher), nil }); err != nil {
		return err
	}
	a.refreshing = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))

	if err := a.loadGuests(); err != nil {
		return err
	}
	a.routes = reach.NewRoutes(ctx)
	a.logins = dashboard.NewLogins(a.store, ctx.Slogger())
	a.keys = access.NewKeys(a.store, nil, ctx.Slogger())
	a.tokens = access.NewTokens(a.store, ctx.Slogger())
	if err := a.fixKeys(sites); err != nil {
		return err
	}
	sctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if err := a.keys.Reload(sctx); err != nil {
		a.log.Error("keys could not be read from the storage; only those of the configuration are valid until they can be", zap.Error(err))
	}
	if err := a.openThreads(); err != nil {
		return err
	}
	if err := a.loadInsights(); err != nil {
		return fmt.Errorf("insights: %w", err)
	}
	if err := a.registerMetrics(ctx.GetMetricsRegistry()); err != nil {
		return err
	}

	events, err := ctx.App("events")
	if err != nil {
		return err
	}
	return events.(*caddyevents.App).On("stopping", a)
}

// loadGuests loads index, embedder and model modules.
func (a *App) loadGuests() (err error) {
	a.indexes = new(EmbeddedIndex)
	if a.IndexRaw != nil {
		if a.indexes, a.indexHash, err = loadGuest[IndexOpener](a, "IndexRaw"); err != nil {
			return fmt.Errorf("index: %w", err)
		}
	}
	if a.EmbedderRaw != nil {
		if a.embedders, a.embedderHash, err = loadGuest[EmbedderOpener](a, "EmbedderRaw"); err != nil {
			return fmt.Errorf("embedder: %w", err)
		}
	}
	if a.LLMRaw != nil {
		if a.models, a.modelHash, err = loadGuest[ModelOpener](a, "LLMRaw"); err != nil {
			return fmt.Errorf("llm: %w", err)
		}
	}
	if m, ok := a.indexes.(*MeilisearchIndex); ok && m.Embedder != "" && a.embedders != nil {
		return fmt.Errorf("index meilisearch has the servers' embedder %s, and there is also embedder %s; keep one", m.Embedder, a.embedders.Describe())
	}
	if m, ok := a.indexes.(*MeilisearchIndex); ok && m.SemanticRatio != nil && a.semanticRatio() != nil {
		return fmt.Errorf("semantic_ratio is in embedder (%v) and in index meilisearch (%v); keep one", *a.semanticRatio(), *m.SemanticRatio)
	}
	return nil
}

// semanticRatio is that of the embedder, nil if it has none.
func (a *App) semanticRatio() *float64 {
	if e, ok := a.embedders.(SemanticWeight); ok {
		return e.SemanticWeight()
	}
	return nil
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
		return guest, "", fmt.Errorf("%T does not implement the interface of its namespace", loaded)
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
	if err := a.openInsights(); err != nil {
		return err
	}
	a.mu.Lock()
	a.setSites(sites)
	a.model = model
	a.mu.Unlock()
	a.ready()
	a.announceInsights()
	a.announceDashboards()
	a.goBackground(a.keys.Run)
	a.goBackground(a.threads.Run)
	a.goBackground(a.tickReach)
	for _, f := range a.SiteFolders {
		a.goBackground(func(ctx context.Context) { a.runFolders(ctx, f) })
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
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.sites != nil
}

func (a *App) goBackground(f func(context.Context)) {
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
	if a.stop == nil {
		return nil
	}
	a.stop()
	a.ready() // nobody waits for a start that failed
	var errs []error
	for _, r := range a.all() {
		errs = append(errs, r.close())
	}
	return errors.Join(append(errs, a.holds.release())...)
}

// Keyring returns the keys that open the sites.
func (a *App) Keyring() *access.Keys { return a.keys }

// Tokens returns the browser tokens of the sites.
func (a *App) Tokens() *access.Tokens { return a.tokens }

// Conversations returns the threads.
func (a *App) Conversations() *thread.Keeper { return a.threads.Keeper }

// Interface guards
var (
	_ caddy.App           = (*App)(nil)
	_ caddy.Provisioner   = (*App)(nil)
	_ caddy.CleanerUpper  = (*App)(nil)
	_ caddyevents.Handler = (*App)(nil)
)
