package app

import (
	"context"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/model"
)

// modelCheckTimeout bounds the check whether the model answers.
const modelCheckTimeout = 15 * time.Second

// Model is a model that configurations share, so that what its breakers
// know of the endpoints outlives a reload.
type Model struct{ assistant.Model }

// Destruct closes idle connections; replies in progress keep theirs.
func (m *Model) Destruct() error {
	if c, ok := m.Model.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Check returns an error if the model does not answer.
func (m *Model) Check(ctx context.Context) error {
	c, ok := m.Model.(interface{ Check(context.Context) error })
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, modelCheckTimeout)
	defer cancel()
	return c.Check(ctx)
}

// States returns the states of the model's endpoints, nil if it does not
// report them.
func (m *Model) States() []model.State {
	if m == nil {
		return nil
	}
	if s, ok := m.Model.(interface{ States() []model.State }); ok {
		return s.States()
	}
	return nil
}

// openModel finds or makes the model, nil without one. A model that does not
// answer is no error: replies are extractive until it does, and a warning is
// logged.
func (a *App) openModel() (*Model, error) {
	if a.models == nil {
		return nil, nil
	}
	m, err := share(&a.holds, "model "+a.modelHash, func() (*Model, error) {
		m, err := a.models.OpenModel(a.lasting)
		return &Model{m}, err
	})
	if err != nil {
		return nil, err
	}
	a.Go(func(ctx context.Context) {
		if err := m.Check(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("the model is not responding; replies are extractive until it does", zap.String("model", m.Name()), zap.Error(err))
		}
	})
	return m, nil
}

// Model returns the model, nil before Start and without one.
func (a *App) Model() *Model { return a.model.Load() }

// OpenModel returns the model for a check, nil without one. Before Start it
// opens one, which done closes.
func (a *App) OpenModel() (m *Model, done func() error, err error) {
	if m = a.Model(); m != nil || a.models == nil {
		return m, func() error { return nil }, nil
	}
	opened, err := a.models.OpenModel(a.ctx.Slogger())
	m = &Model{opened}
	return m, m.Destruct, err
}
