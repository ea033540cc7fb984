package handlers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// deadlineNotes is a response that notes the write deadlines set on it.
type deadlineNotes struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlineNotes) SetWriteDeadline(t time.Time) error { d.set = append(d.set, t); return nil }
func (d *deadlineNotes) FlushError() error                  { return nil }

func TestADeadlineIsSetOnceWhereItStays(t *testing.T) {
	const timeout = 30 * time.Second
	logged := func(idle *caddyhttp.IdleTimeoutWriter) http.ResponseWriter {
		return &caddyhttp.ResponseWriterWrapper{ResponseWriter: idle}
	}
	plain := func(idle *caddyhttp.IdleTimeoutWriter) http.ResponseWriter { return idle }
	for name, test := range map[string]struct {
		idle   caddyhttp.IdleTimeoutWriter
		given  func(*caddyhttp.IdleTimeoutWriter) http.ResponseWriter
		past   bool // the idle timeout is written past
		steady bool // one deadline for all writes
	}{
		"Caddy's default":                 {caddyhttp.IdleTimeoutWriter{Deadline: caddyhttp.IdleDeadline{Timeout: time.Minute}}, plain, true, true},
		"with an access log":              {caddyhttp.IdleTimeoutWriter{Deadline: caddyhttp.IdleDeadline{Timeout: time.Minute}}, logged, false, true},
		"a stricter timeout":              {caddyhttp.IdleTimeoutWriter{Deadline: caddyhttp.IdleDeadline{Timeout: 10 * time.Second}}, plain, false, false},
		"a slowest rate":                  {caddyhttp.IdleTimeoutWriter{Deadline: caddyhttp.IdleDeadline{Timeout: time.Minute, MinRate: 1, Start: time.Now()}}, plain, false, true},
		"a limit for the whole response":  {caddyhttp.IdleTimeoutWriter{Deadline: caddyhttp.IdleDeadline{Timeout: time.Minute, HardDeadline: time.Now().Add(time.Hour)}}, plain, false, true},
		"deadlines cleared after a write": {caddyhttp.IdleTimeoutWriter{Deadline: caddyhttp.IdleDeadline{Timeout: time.Minute}, ClearBetweenWrites: true}, plain, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			out := &deadlineNotes{ResponseWriter: httptest.NewRecorder()}
			idle, own := &test.idle, http.NewResponseController(out)
			idle.ResponseWriterWrapper, idle.Ctrl = &caddyhttp.ResponseWriterWrapper{ResponseWriter: out}, own
			given := test.given(idle)
			var d steadyDeadline
			w := d.install(caddyhttp.ContextWithIdleTimeouts(context.Background(), nil, idle), given, timeout)
			if past := w == http.ResponseWriter(out); past != test.past || !past && w != given {
				t.Fatalf("written past the idle timeout: %t", past)
			}
			control := http.NewResponseController(w)
			if err := control.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				if _, err := w.Write([]byte("token")); err != nil {
					t.Fatal(err)
				}
				if err := control.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if steady := len(out.set) == 1; steady != test.steady {
				t.Errorf("the deadline was set %d times", len(out.set))
			}
			for _, at := range out.set {
				if left := time.Until(at); left > timeout {
					t.Errorf("a deadline %v ahead", left)
				}
			}
			// A later one counts.
			if err := control.SetWriteDeadline(time.Now().Add(time.Second)); err != nil || time.Until(out.set[len(out.set)-1]) > time.Second {
				t.Errorf("the last deadline is not set: %v", err)
			}
			if d.remove(); idle.Ctrl != own {
				t.Error("the idle timeout has not got its controller back")
			}
		})
	}
	var d steadyDeadline
	w := httptest.NewRecorder()
	if got := d.install(context.Background(), w, timeout); got != http.ResponseWriter(w) {
		t.Error("without an idle timeout the response is another")
	}
	d.remove()
}
