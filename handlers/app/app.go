// Package app is the Caddy app "docs": configuration, lifetime, storage,
// admin API and metrics, and the wiring of the pure packages.
package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/thread"
)

// state is what a provisioned App holds besides its configuration.
type state struct {
	ctx     caddy.Context
	log     *slog.Logger
	store   store
	keys    *access.Keys
	threads *thread.Keeper
	metrics *metrics

	indexes   IndexOpener
	embedders EmbedderOpener
	models    ModelOpener
	model     *pooledModel // nil without llm

	// started is closed at the end of Start, or when there will be none.
	started   chan struct{}
	startOnce sync.Once

	mu    sync.RWMutex
	sites map[string]*LiveSite // nil before Start

	// background ends with Stop: what this configuration runs besides requests.
	background context.Context
	stop       context.CancelFunc
	wait       sync.WaitGroup

	// endingH3 is cancelled, with ErrStopping, when replies under way over
	// HTTP/3 must end because a reload will cut them. It is no child of
	// exit.ending: that would hold on to every configuration there was.
	endingH3 context.Context
	endH3    context.CancelCauseFunc

	pooled     []poolKey // of siteIndexes, to be let go
	budgetKeys []poolKey // of budgets, likewise
	// Fingerprints of the guest modules' configuration: LoadModule clears the
	// raw JSON.
	indexKey, embedderKey, modelKey string
	threadsKey                      poolKey
}

const (
	// storeTimeout bounds one look at the storage during provisioning.
	storeTimeout = 5 * time.Second

	defaultTTL = 30 * 24 * time.Hour
)

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
func (a *App) Provision(ctx caddy.Context) error {
	a.ctx = ctx
	a.log = ctx.Slogger()
	a.store = store{ctx.Storage()}
	a.background, a.stop = context.WithCancel(context.Background())
	a.endingH3, a.endH3 = context.WithCancelCause(context.Background())
	a.started = make(chan struct{})

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

	if err := a.loadGuests(); err != nil {
		return err
	}
	a.keys = access.NewKeys(a.store, nil, a.log)
	if err := a.fixKeys(sites); err != nil {
		return err
	}
	sctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if err := a.keys.Reload(sctx); err != nil {
		a.log.Error("keys could not be read from the storage; those of the configuration work, others as soon as it can be read", "error", err)
	}
	if err := a.openThreads(); err != nil {
		return err
	}
	a.registerMetrics(ctx.GetMetricsRegistry())

	events, err := ctx.App("events")
	if err != nil {
		return err
	}
	return events.(*caddyevents.App).On("stopping", a)
}

// loadGuests loads index, embedder and model modules.
func (a *App) loadGuests() error {
	a.indexKey, a.embedderKey, a.modelKey = fingerprint(a.IndexRaw), fingerprint(a.EmbedderRaw), fingerprint(a.LLMRaw)
	if a.IndexRaw == nil {
		a.indexes = new(EmbeddedIndex)
	} else {
		guest, err := a.ctx.LoadModule(a, "IndexRaw")
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		a.indexes = guest.(IndexOpener)
	}
	if a.EmbedderRaw != nil {
		guest, err := a.ctx.LoadModule(a, "EmbedderRaw")
		if err != nil {
			return fmt.Errorf("embedder: %w", err)
		}
		a.embedders = guest.(EmbedderOpener)
	}
	if m, ok := a.indexes.(*MeilisearchIndex); ok && m.Embedder != "" && a.embedders != nil {
		return fmt.Errorf("index meilisearch has the embedder %s of the servers' own, and there is embedder %s beside it; keep one", m.Embedder, a.embedders.Describe())
	}
	if a.LLMRaw != nil {
		guest, err := a.ctx.LoadModule(a, "LLMRaw")
		if err != nil {
			return fmt.Errorf("llm: %w", err)
		}
		a.models = guest.(ModelOpener)
	}
	return nil
}

// Start brings the sites up: their indexes are loaded from disk, and
// refreshed in the background. It does not wait for them.
func (a *App) Start() error {
	sites, err := a.resolve()
	if err != nil {
		return err
	}
	if err := a.openModel(); err != nil {
		return err
	}
	for _, r := range sorted(sites) {
		if err := a.run(r); err != nil {
			return fmt.Errorf("site %s: %w", r.Name, err)
		}
	}
	a.publish(sites)
	a.startOnce.Do(func() { close(a.started) })
	a.goBackground(a.keys.Run)
	a.goBackground(a.threads.Run)
	return nil
}

func (a *App) goBackground(f func(context.Context)) {
	a.wait.Go(func() { f(a.background) })
}

// Stop ends what this configuration runs in the background. Replies under
// way go on: they hold what they use.
func (a *App) Stop() error {
	a.stop()
	a.wait.Wait()
	return nil
}

// Cleanup gives back what is shared with other configurations. It is also
// called on an App that was provisioned half-way.
func (a *App) Cleanup() error {
	if a.stop != nil {
		a.stop()
	}
	if a.started != nil {
		a.startOnce.Do(func() { close(a.started) }) // nobody waits for a start that failed
	}
	if caddy.Exiting() {
		keeping.Wait()
	}
	return a.release()
}

// Keyring returns the keys that open the sites.
func (a *App) Keyring() *access.Keys { return a.keys }

// Conversations returns the threads.
func (a *App) Conversations() *thread.Keeper { return a.threads }

// makeAssistants makes a site's assistant, and the one that stands in for it
// while the site's budget is spent.
func (a *App) makeAssistants(r *LiveSite) (err error) {
	s := r.Config
	site := assistant.Site{
		Name: r.Name, Title: s.Name, URL: s.URL, Instructions: s.instructions, SupportURL: s.SupportURL,
		AllowLinks: s.AllowLinks, Version: r.Prefer().Version, Language: r.Prefer().Language,
		Suggestions: s.Suggestions, StarterQuestions: s.StarterQuestions,
	}
	r.quoting = &assistant.Assistant{Site: site, Search: r, Log: a.log}
	if a.model == nil {
		r.answering = r.quoting
		return nil
	}
	r.answering = &assistant.Assistant{
		Site: site, Search: r, Log: a.log, Model: observed{a.model.Model}, MaxTokens: a.models.AnswerTokens(),
	}
	if r.budget, err = a.openBudget(r.Name); r.budget != nil {
		r.answering.Model = &budgeted{Model: r.answering.Model, budget: r.budget, answer: r.answering.MaxTokens}
	}
	a.goBackground(func(context.Context) { r.answering.Warm() }) // not at the first reader's cost
	return err
}

// Interface guards
var (
	_ caddy.App           = (*App)(nil)
	_ caddy.Provisioner   = (*App)(nil)
	_ caddy.CleanerUpper  = (*App)(nil)
	_ caddyevents.Handler = (*App)(nil)
)
