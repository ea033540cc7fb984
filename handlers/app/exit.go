package app

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// defaultStopTimeout is how long replies may continue when the process ends and
// there is no grace_period, without which Caddy itself waits forever.
const defaultStopTimeout = 30 * time.Second

// exit is the end of the process. Configurations share it, so that replies
// that began before a reload end with the others.
type exit struct {
	refusing atomic.Bool // new requests
	// ending is cancelled, with site.ErrStopping, when replies in progress must end.
	ending context.Context
	end    context.CancelCauseFunc
}

// Handle implements caddyevents.Handler for the events that this configuration
// has started, and that it stops. When the process ends, new requests are
// refused once shutdown_delay is over. Replies in progress may continue until
// shortly before grace_period, or StopTimeout, ends; then they end with an error
// in the stream. A reload leaves replies alone, except over HTTP/3 with a
// grace_period, after which Caddy cuts them.
func (a *App) Handle(_ context.Context, e caddy.Event) error {
	if e.Name() == "started" {
		a.serve()
		return nil
	}
	var delay, grace time.Duration
	if h, err := a.ctx.AppIfConfigured("http"); err == nil {
		delay, grace = time.Duration(h.(*caddyhttp.App).ShutdownDelay), time.Duration(h.(*caddyhttp.App).GracePeriod)
	}
	// The errors take a moment to send, over HTTP/3 to many at once too.
	before := grace - min(2*time.Second, grace/3)
	switch {
	case caddy.Exiting():
		if grace == 0 {
			before = cmp.Or(time.Duration(a.StopTimeout), defaultStopTimeout)
		}
		if delay == 0 {
			a.exit.refusing.Store(true)
		} else {
			time.AfterFunc(delay, func() { a.exit.refusing.Store(true) })
		}
		time.AfterFunc(delay+before, func() { a.exit.end(site.ErrStopping) })
	case grace > 0:
		time.AfterFunc(before, func() { a.endH3(site.ErrStopping) })
	}
	return nil
}

// Exiting reports whether the process is about to end: requests are refused.
func (a *App) Exiting() bool { return a.exit.refusing.Load() }
