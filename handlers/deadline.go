package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// steadyDeadline keeps Caddy's idle timeout from costing a stream much.
//
// The timeout sets the write deadline before each write and before each
// flush, twice a token: to its own, a minute ahead, or to the handler's where
// that is earlier. The handler's moves every few seconds only (extend), and to
// set it takes 3 % of the processor time of a stream of 50 tokens a second, to
// find out what it is another 2 %.
type steadyDeadline struct {
	http.ResponseWriter
	idle *caddyhttp.IdleTimeoutWriter // nil where nothing was changed
	ctrl *http.ResponseController     // idle's own
	set  time.Time
}

// install returns what to write w's response to, with a deadline of timeout
// that the caller sets on it.
func (d *steadyDeadline) install(ctx context.Context, w http.ResponseWriter, timeout time.Duration) http.ResponseWriter {
	_, idle := caddyhttp.IdleTimeoutsFromContext(ctx)
	if idle == nil {
		return w
	}
	inner := idle.ResponseWriterWrapper.ResponseWriter
	if t := &idle.Deadline; w == idle && !idle.ClearBetweenWrites && t.MinRate == 0 && t.HardDeadline.IsZero() && t.Timeout >= timeout {
		return inner // the caller's deadline is always the earlier
	}
	// Something stands between, such as an access log, or the timeout is the
	// stricter: it goes on, but a deadline that is already set is not set
	// again.
	d.ResponseWriter, d.idle, d.ctrl = inner, idle, idle.Ctrl
	idle.Ctrl = http.NewResponseController(d)
	return w
}

// remove gives the idle timeout its own way back.
func (d *steadyDeadline) remove() {
	if d.idle != nil {
		d.idle.Ctrl = d.ctrl
	}
}

// SetWriteDeadline sets the deadline of the response, unless it is the one
// that it set last.
func (d *steadyDeadline) SetWriteDeadline(t time.Time) error {
	if t.Equal(d.set) {
		return nil
	}
	err := d.ctrl.SetWriteDeadline(t)
	if err == nil {
		d.set = t
	}
	return err
}

// Unwrap returns the response, for what else a controller can do.
func (d *steadyDeadline) Unwrap() http.ResponseWriter { return d.ResponseWriter }
