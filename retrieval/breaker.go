package retrieval

import (
	"context"
	"sync"
	"time"
)

// Breaker keeps calls away from a service that fails. It opens after a number
// of failures in a row and then lets one call at a time try the service, after
// pauses that double. It is safe for concurrent use.
type Breaker struct {
	// After is the number of failures in a row that open the breaker.
	After int
	// First is the pause before the first new try, Last the longest pause.
	First, Last time.Duration

	mu       sync.Mutex
	failures int   // in a row
	err      error // of the last one
	until    time.Time
	trying   bool
}

// Allow reports whether to call the service now. The caller passes the result
// to Record, unless the result says nothing about the service.
func (b *Breaker) Allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < b.After {
		return true
	}
	if time.Now().Before(b.until) {
		return false
	}
	b.trying, b.until = true, time.Now().Add(b.First)
	return true
}

// Record takes the result of a call and reports whether it opened or closed
// the breaker. Calls that were in progress when the breaker opened don't
// prolong its pause.
func (b *Breaker) Record(err error) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	wasOpen := b.failures >= b.After
	switch {
	case err == nil:
		b.failures, b.err, b.trying = 0, nil, false
		return wasOpen
	case wasOpen && !b.trying && time.Now().Before(b.until):
		return false
	}
	b.err, b.trying = err, false
	if b.failures++; b.failures >= b.After {
		b.until = time.Now().Add(backoff(b.First, b.Last, b.failures-b.After+1))
	}
	return !wasOpen && b.failures >= b.After
}

// Wait sets the pause of an open breaker, after a service has named it.
func (b *Breaker) Wait(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures >= b.After {
		b.until = time.Now().Add(d)
	}
}

// State returns the number of failures in a row, until when calls are kept away,
// zero if the breaker is closed, and the last error.
func (b *Breaker) State() (failures int, until time.Time, lastError error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures >= b.After {
		until = b.until
	}
	return b.failures, until, b.err
}

// backoff is the pause after a number of failures in a row: first, doubled
// with each further failure, at most last.
func backoff(first, last time.Duration, failures int) time.Duration {
	return min(first<<min(failures-1, 20), last)
}

// Sleep reports whether d has passed before ctx was done.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
