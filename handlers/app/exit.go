package app

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// ErrStopping is the cause with which replies are ended when the process stops.
var ErrStopping = errors.New("the server is stopping")

// defaultStopTimeout is how long replies may go on when the process ends and
// no grace_period says. Caddy itself would wait for ever.
const defaultStopTimeout = 30 * time.Second

// exit is the end of the process. It is one for all configurations: replies
// that began before a reload are ended with the others.
var exit = newExit()

type exiting struct {
	refusing atomic.Bool
	// ending is cancelled, with ErrStopping, when replies under way must end.
	ending context.Context
	end    context.CancelCauseFunc
}

func newExit() *exiting {
	e := new(exiting)
	e.ending, e.end = context.WithCancelCause(context.Background())
	return e
}

// Handle is told that this configuration stops. On a reload replies under
// way are left alone (over HTTP/3 they are not, where grace_period is set:
// Caddy cuts them then). When the process ends new requests are refused from
// the end of shutdown_delay on, and replies under way get until shortly
// before grace_period, or StopTimeout, and then end with an error part.
func (a *App) Handle(context.Context, caddy.Event) error {
	var delay, grace time.Duration
	if h, err := a.ctx.AppIfConfigured("http"); err == nil {
		delay, grace = time.Duration(h.(*caddyhttp.App).ShutdownDelay), time.Duration(h.(*caddyhttp.App).GracePeriod)
	}
	// Error parts take a moment to send, over HTTP/3 to many at once too.
	before := grace - min(2*time.Second, grace/3)
	switch {
	case caddy.Exiting():
		if grace == 0 {
			if before = time.Duration(a.StopTimeout); before <= 0 {
				before = defaultStopTimeout
			}
		}
		if delay == 0 {
			exit.refusing.Store(true)
		} else {
			time.AfterFunc(delay, func() { exit.refusing.Store(true) })
		}
		time.AfterFunc(delay+before, func() { exit.end(ErrStopping) })
	case grace > 0:
		time.AfterFunc(before, func() { a.endH3(ErrStopping) })
	}
	return nil
}

// Exiting tells whether the process is about to end: requests are refused.
func (a *App) Exiting() bool { return exit.refusing.Load() }

// ReplyContext derives the context of a reply from its request: it is also
// cancelled, with ErrStopping, when replies must end because the process
// does.
func (a *App) ReplyContext(parent context.Context, protoMajor int) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	end := func() { cancel(ErrStopping) }
	off := context.AfterFunc(exit.ending, end)
	offH3 := func() bool { return false }
	if protoMajor >= 3 {
		offH3 = context.AfterFunc(a.endingH3, end)
	}
	return ctx, func(cause error) {
		off()
		offH3()
		cancel(cause)
	}
}
