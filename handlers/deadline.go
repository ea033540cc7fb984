package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// steadyDeadline sets the write deadline of a response, unless it is the one
// that it set last.
//
// Caddy's idle timeout sets the deadline before each write and before each
// flush, twice a token: to its own, a minute ahead, or to the handler's where
// that is earlier. The handler's moves every few seconds only (extend), and
// setting it costs a stream of 50 tokens a second 3 % of its processor time.
type steadyDeadline struct {
	http.ResponseWriter
	idle *caddyhttp.IdleTimeoutWriter // nil where Caddy has no idle timeout
	ctrl *http.ResponseController     // its own
	set  time.Time
}

// install puts d between the idle timeout of a request and its response.
func (d *steadyDeadline) install(ctx context.Context) {
	_, idle := caddyhttp.IdleTimeoutsFromContext(ctx)
	if idle == nil {
		return
	}
	d.ResponseWriter, d.idle, d.ctrl = idle.ResponseWriterWrapper.ResponseWriter, idle, idle.Ctrl
	idle.Ctrl = http.NewResponseController(d)
}

// remove gives the idle timeout its own way back.
func (d *steadyDeadline) remove() {
	if d.idle != nil {
		d.idle.Ctrl = d.ctrl
	}
}

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
