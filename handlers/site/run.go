package site

import (
	"context"
	"errors"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
)

// ErrStopping is the cause with which replies are ended when the process stops.
var ErrStopping = errors.New("the server is stopping")

// ErrTimeLimit is the error of a reply that ends because the server's write
// timeout is near.
var ErrTimeLimit = errors.New("the reply took longer than the server's write timeout")

// Run has the site's assistant reply, in the context of a request of HTTP/1, 2 or
// 3: within the write timeout of its server, with ErrTimeLimit afterwards, and until replies
// must end because the process does, with ErrStopping.
func (r *Site) Run(ctx context.Context, protoMajor int, in *assistant.Input, sink reply.Sink) (*assistant.Result, error) {
	g := observe.Metrics.Open.WithLabelValues(r.Name)
	g.Inc()
	defer g.Dec()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := func() { cancel(ErrStopping) }
	defer context.AfterFunc(r.Stopping, end)()
	if protoMajor >= 3 {
		defer context.AfterFunc(r.StoppingH3, end)()
	}
	if limit := writeLimit(ctx); limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, ErrTimeLimit)
		defer stop()
	}
	in.Trace = observe.Step
	in.Incomplete = func() bool { return reach.Incomplete(ctx) }
	res, err := r.Assistant().Reply(ctx, in, sink)
	if cause := context.Cause(ctx); err != nil && (cause == ErrTimeLimit || cause == ErrStopping) {
		err = cause
	}
	return res, err
}

// writeLimit is how long a reply may take where the operator has set the
// server's write timeout; 0: no limit. Caddy cuts the response then, and over
// HTTP/3 the cut looks like a whole response, so the reply ends a little
// before it, with an error.
func writeLimit(ctx context.Context) time.Duration {
	srv, ok := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok {
		return 0
	}
	limit := time.Duration(srv.WriteTimeout)
	return limit - min(time.Second, limit/3)
}
