// Package app is the Caddy app "docs": configuration, lifetime, storage,
// admin API and metrics, and the wiring of the pure packages.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

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

	mu       sync.RWMutex
	sites    map[string]*Running
	expected []expectation

	// background ends with Stop: what this configuration runs besides requests.
	background context.Context
	stop       context.CancelFunc
	wait       sync.WaitGroup

	// ending is cancelled, with ErrStopping, when replies under way must end
	// because the process does; endingH3 also when a reload will cut HTTP/3.
	ending, endingH3  context.Context
	endReplies, endH3 context.CancelCauseFunc

	pooled []poolKey // of cores, to be let go
	// Fingerprints of the guest modules' configuration: LoadModule clears the
	// raw JSON.
	indexKey, embedderKey, modelKey string
	threadsKey                      poolKey
}

// ErrStopping is the cause with which replies are ended when the process stops.
var ErrStopping = errors.New("the server is stopping")

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
	a.ending, a.endReplies = context.WithCancelCause(context.Background())
	a.endingH3, a.endH3 = context.WithCancelCause(a.ending)
	a.sites = make(map[string]*Running)

	if a.DataDir == "" {
		a.DataDir = filepath.Join(caddy.AppDataDir(), "docs")
	}
	for name, s := range a.Sites {
		if s == nil {
			return fmt.Errorf("site %s: it is null; give it a root or a sitemap", name)
		}
		if err := s.provision(name, false); err != nil {
			return err
		}
		a.sites[name] = newRunning(name, s)
	}

	if err := a.loadGuests(); err != nil {
		return err
	}
	a.keys = access.NewKeys(a.store, nil, a.log)
	if err := a.fixKeys(); err != nil {
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
	a.metrics = registerMetrics(ctx.GetMetricsRegistry())

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
	if err := a.checkExpected(); err != nil {
		return err
	}
	sites, err := a.resolve()
	if err != nil {
		return err
	}
	if err := a.openModel(); err != nil {
		return err
	}
	for _, r := range sites {
		if err := a.run(r); err != nil {
			return fmt.Errorf("site %s: %w", r.Name, err)
		}
	}
	a.publish(sites)
	a.goBackground(a.keys.Run)
	a.goBackground(a.threads.Run)
	return nil
}

func (a *App) goBackground(f func(context.Context)) {
	a.wait.Add(1)
	go func() {
		defer a.wait.Done()
		f(a.background)
	}()
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
	return a.release()
}

// Handle is told that this configuration stops. On a reload replies under
// way are left alone (over HTTP/3 they are not, where grace_period is set:
// Caddy cuts them then). When the process ends they get until shortly before
// grace_period, or 30 seconds, and then end with an error part.
func (a *App) Handle(context.Context, caddy.Event) error {
	grace := 30 * time.Second
	set := false
	if h, err := a.ctx.AppIfConfigured("http"); err == nil {
		if g := time.Duration(h.(*caddyhttp.App).GracePeriod); g > 0 {
			grace, set = g-min(time.Second, g/4), true
		}
	}
	switch {
	case caddy.Exiting():
		time.AfterFunc(grace, func() { a.endReplies(ErrStopping) })
	case set:
		time.AfterFunc(grace, func() { a.endH3(ErrStopping) })
	}
	return nil
}

// Exiting tells whether the process is about to end: new replies are refused.
func (a *App) Exiting() bool { return caddy.Exiting() }

// ReplyContext derives the context of a reply from its request: it is also
// cancelled, with ErrStopping, when replies must end because the process
// does.
func (a *App) ReplyContext(parent context.Context, protoMajor int) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	end := a.ending
	if protoMajor >= 3 {
		end = a.endingH3
	}
	off := context.AfterFunc(end, func() { cancel(ErrStopping) })
	return ctx, func(cause error) { off(); cancel(cause) }
}

// Keyring returns the keys that open the sites.
func (a *App) Keyring() *access.Keys { return a.keys }

// Conversations returns the threads.
func (a *App) Conversations() *thread.Keeper { return a.threads }

// assistantFor makes the assistant of a site.
func (a *App) assistantFor(r *Running) *assistant.Assistant {
	s := r.Config
	as := &assistant.Assistant{
		Site: assistant.Site{
			Name: r.Name, Title: s.Name, URL: s.URL, Instructions: s.instructions, SupportURL: s.SupportURL,
			AllowLinks: s.AllowLinks, Version: r.Prefer().Version, Language: r.Prefer().Language,
			Suggestions: s.Suggestions,
		},
		Search: r, Log: a.log,
	}
	if a.model != nil {
		as.Model, as.MaxTokens = a.model.Model, a.models.AnswerTokens()
	}
	return as
}

// Interface guards
var (
	_ caddy.App           = (*App)(nil)
	_ caddy.Provisioner   = (*App)(nil)
	_ caddy.CleanerUpper  = (*App)(nil)
	_ caddyevents.Handler = (*App)(nil)
)
