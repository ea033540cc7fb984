package model

import (
	"sync"
	"time"
)

const (
	// breakAfter consecutive failures open a breaker for breakFor, or for the
	// endpoint's Retry-After up to maxBreak.
	breakAfter = 5
	breakFor   = 15 * time.Second
	maxBreak   = 5 * time.Minute
)

// breaker keeps requests away from an endpoint that keeps failing. Once its
// time is over it lets one request through every breakFor; the first to get a
// token closes it.
type breaker struct {
	mu        sync.Mutex
	failures  int       // consecutive
	until     time.Time // when an open breaker lets a request through; zero while it is closed
	lastError string
}

// allow reports whether the endpoint may be asked.
func (b *breaker) allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return true
	}
	if now.Before(b.until) {
		return false
	}
	b.until = now.Add(breakFor)
	return true
}

// firstToken closes an open breaker. A failure of the same reply opens it again.
func (b *breaker) firstToken() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.until.IsZero() {
		b.until, b.failures = time.Time{}, breakAfter-1
	}
}

func (b *breaker) success() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		b.failures, b.lastError = 0, ""
	}
}

// failure counts a failure, and reports until when the breaker is open if that
// opened it.
func (b *breaker) failure(now time.Time, err *Error) (until time.Time, opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	b.lastError = err.Error()
	opened = b.until.IsZero() && b.failures >= breakAfter
	if opened {
		b.until = now.Add(breakFor)
	}
	if err.RetryAfter > 0 && !b.until.IsZero() {
		b.until = now.Add(min(max(err.RetryAfter, time.Second), maxBreak))
	}
	return b.until, opened
}

// State is an endpoint as `caddy docs status` shows it.
type State struct {
	// Endpoint is the URL without credentials and query.
	Endpoint string `json:"endpoint"`
	Model    string `json:"model"`
	// Breaker is closed or open.
	Breaker string `json:"breaker"`
	// Failures is the number of consecutive failures.
	Failures int `json:"failures,omitempty"`
	// Until is when an open breaker lets the next request through.
	Until time.Time `json:"until,omitzero"`
	// LastError is the last failure since the last success, without keys.
	LastError string `json:"last_error,omitempty"`
}

func (b *breaker) state() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := State{Breaker: "closed", Failures: b.failures, Until: b.until, LastError: b.lastError}
	if !b.until.IsZero() {
		s.Breaker = "open"
	}
	return s
}
