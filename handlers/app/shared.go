package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// shared is what configurations share, so that a reload loses nothing that
// requests use: indexes, models with their breakers, budgets, threads, reply
// slots, the storage, and the end of the process.
var shared = caddy.NewUsagePool()

// holder holds shared values until it releases them.
type holder struct {
	releases []func() error // the last one first
}

// release releases what the holder holds. It may be called again.
func (h *holder) release() error {
	var errs []error
	for _, release := range slices.Backward(h.releases) {
		errs = append(errs, release())
	}
	h.releases = nil
	return errors.Join(errs...)
}

// held is a shared value.
type held[T any] struct{ value T }

// closeTimeout is how long the end of the last configuration that uses a value
// waits until it has stored what it has to.
const closeTimeout = 5 * time.Second

// Destruct ends a value that needs an end.
func (v held[T]) Destruct() error {
	switch v := any(v.value).(type) {
	case caddy.Destructor:
		return v.Destruct()
	case interface{ Close(context.Context) error }:
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return v.Close(ctx)
	}
	return nil
}

// share returns the shared value of a key, which open makes if nobody holds
// it, and lets h hold it.
func share[T any](h *holder, key string, open func() (T, error)) (value T, err error) {
	v, _, err := shared.LoadOrNew(key, func() (caddy.Destructor, error) {
		value, err := open()
		return held[T]{value}, err
	})
	if err != nil {
		return value, err
	}
	h.releases = append(h.releases, func() error {
		_, err := shared.Delete(key)
		return err
	})
	return v.(held[T]).value, nil
}

// shareNew is share for what can be made without an error.
func shareNew[T any](h *holder, key string, make func() T) T {
	v, _ := share(h, key, func() (T, error) { return make(), nil })
	return v
}

// hashOf identifies configuration values. It is a hash since they may hold
// secrets.
func hashOf(parts ...any) (string, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(parts); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// lastingLog is a handler that passes records on to that of the newest
// configuration: what configurations share outlives those that made it.
type lastingLog struct {
	newest *site.Newest[slog.Handler]
	with   func(slog.Handler) slog.Handler
}

func (l lastingLog) current() slog.Handler {
	if h := l.newest.Current(); h != nil {
		return l.with(h)
	}
	return slog.DiscardHandler
}

func (l lastingLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.current().Enabled(ctx, level)
}

func (l lastingLog) Handle(ctx context.Context, r slog.Record) error {
	return l.current().Handle(ctx, r)
}

func (l lastingLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return lastingLog{l.newest, func(h slog.Handler) slog.Handler { return l.with(h).WithAttrs(attrs) }}
}

func (l lastingLog) WithGroup(name string) slog.Handler {
	return lastingLog{l.newest, func(h slog.Handler) slog.Handler { return l.with(h).WithGroup(name) }}
}
