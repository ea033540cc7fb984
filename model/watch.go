package model

import (
	"context"
	"sync/atomic"
	"time"
)

// watch ends a request whose model is silent for too long: one timer a
// request, set again only when it fires. Only waiting for the model counts;
// while the reader of the reply is slow the clock stands still.
type watch struct {
	alive bool // something came since the last wait
	done  atomic.Bool
	// since is when the wait for the model began, in nanoseconds after
	// start, plus 1; 0 while it is not waited for.
	since atomic.Int64
	start time.Time

	limit  atomic.Int64
	cause  atomic.Pointer[func() error]
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// begin starts to wait. cause makes the error to cancel with.
func (w *watch) begin(limit time.Duration, cause func() error, cancel context.CancelCauseFunc) {
	w.cancel, w.start = cancel, time.Now()
	w.since.Store(1)
	w.limit.Store(int64(limit))
	w.cause.Store(&cause)
	w.timer = time.AfterFunc(limit, w.fire)
}

func (w *watch) fire() {
	if w.done.Load() {
		return
	}
	limit := time.Duration(w.limit.Load())
	left := limit
	if since := w.since.Load(); since != 0 {
		left = limit - (time.Since(w.start) - time.Duration(since-1))
	}
	if left <= 0 {
		w.cancel((*w.cause.Load())())
		return
	}
	w.timer.Reset(left)
}

// came tells that the model sent something that counts as life.
func (w *watch) came() {
	if !w.alive {
		w.alive = true
		w.since.Store(0)
	}
}

// wait tells that a read is about to wait for the model. What does not
// count as life, such as comments, does not start the wait anew.
func (w *watch) wait() {
	if w.alive {
		w.alive = false
		w.since.Store(int64(time.Since(w.start)) + 1)
	}
}

// within sets another limit, from now on.
func (w *watch) within(limit time.Duration, cause func() error) {
	w.cause.Store(&cause)
	w.limit.Store(int64(limit))
	w.timer.Reset(limit)
}

func (w *watch) stop() {
	w.done.Store(true)
	w.timer.Stop()
}
