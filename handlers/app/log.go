package app

import (
	"context"
	"log/slog"

	"github.com/caddy-docs/caddy-docs/handlers/site"
)

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
