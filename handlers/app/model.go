package app

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// models are the model chains of all configurations of the process: what a
// breaker has learned of an endpoint outlives a reload.
var models = caddy.NewUsagePool()

// pooledModel is a model shared by configurations with the same llm.
type pooledModel struct {
	assistant.Model
	close func() error
}

// Destruct closes idle connections; replies under way keep theirs.
func (m *pooledModel) Destruct() error {
	if m.close == nil {
		return nil
	}
	return m.close()
}

// openModel finds or makes the model. One that can't be reached is no error:
// replies are extractive until it can, and a warning says so.
func (a *App) openModel() error {
	if a.models == nil {
		return nil
	}
	v, _, err := models.LoadOrNew(poolKey(a.modelKey), func() (caddy.Destructor, error) {
		m, err := a.models.OpenModel(slog.New(a.log.Handler()))
		if err != nil {
			return nil, err
		}
		p := &pooledModel{Model: m}
		if c, ok := m.(io.Closer); ok {
			p.close = c.Close
		}
		return p, nil
	})
	if err != nil {
		return err
	}
	a.mu.Lock() // a scrape of the metrics may come early
	a.model = v.(*pooledModel)
	a.mu.Unlock()
	if c, ok := a.model.Model.(interface{ Check(context.Context) error }); ok {
		a.goBackground(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
			defer cancel()
			if err := c.Check(ctx); err != nil && ctx.Err() == nil {
				a.log.Warn("the model does not answer; replies are extractive until it does", "model", a.model.Name(), "error", err)
			}
		})
	}
	return nil
}

// release lets go of everything shared.
func (a *App) release() error {
	for _, key := range a.pooled {
		if _, err := siteIndexes.Delete(key); err != nil {
			a.log.Error("closing a site's index", "error", err)
		}
	}
	a.pooled = nil
	for _, key := range a.budgetKeys {
		if _, err := budgets.Delete(key); err != nil {
			a.log.Error("storing what a site has spent", "error", err)
		}
	}
	a.budgetKeys = nil
	if a.model != nil {
		_, _ = models.Delete(poolKey(a.modelKey))
		a.mu.Lock()
		a.model = nil
		a.mu.Unlock()
	}
	if a.threadsKey != "" {
		_, _ = keepers.Delete(a.threadsKey)
		a.threadsKey = ""
	}
	return nil
}
