package model

import (
	"sync"
	"time"
)

const (
	// breakAfter is how many failures in a row open a breaker, and breakFor
	// for how long, unless the endpoint named a time (Retry-After) up to
	// maxBreak.
	breakAfter = 5
	breakFor   = 15 * time.Second
	maxBreak   = 5 * time.Minute
)

// breaker keeps requests away from an endpoint that failed breakAfter times
// in a row. When its time is over one request at a time is let through; the
// first that gets a token closes it.
type breaker struct {
	mu       sync.Mutex
	failures int
	open     bool
	until    time.Time
	probing  bool
	// generation rises whenever the breaker opens or closes: what requests
	// of an earlier one come to says nothing about now.
	generation int
	lastError  string
}

// ticket is the permission to ask once. One of its methods success, failure
// and abandon must end it.
type ticket struct {
	b          *breaker
	generation int
	probe      bool
}

// allow returns false while the endpoint is to be left alone.
func (b *breaker) allow(now time.Time) (ticket, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := ticket{b: b, generation: b.generation}
	if !b.open {
		return t, true
	}
	if b.probing || now.Before(b.until) {
		return t, false
	}
	b.probing, t.probe = true, true
	return t, true
}

// alive is told of a probe's first token: others need not wait for its end.
// A failure after it opens the breaker again at once.
func (t *ticket) alive() {
	if !t.probe {
		return
	}
	b := t.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.generation == b.generation {
		b.open, b.probing, b.failures = false, false, breakAfter-1
		b.generation++
		t.generation = b.generation
	}
	t.probe = false
}

func (t *ticket) success() {
	t.alive()
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	if t.generation == t.b.generation {
		t.b.failures, t.b.lastError = 0, ""
	}
}

// failure counts err; it reports whether that opened the breaker.
func (t *ticket) failure(now time.Time, err string, retryAfter time.Duration) (opened bool) {
	b := t.b
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastError = err
	if t.generation != b.generation {
		return false
	}
	b.failures++
	if b.failures < breakAfter {
		return false
	}
	wait := breakFor
	if retryAfter > 0 {
		wait = min(max(retryAfter, time.Second), maxBreak)
	}
	b.open, b.probing, b.until = true, false, now.Add(wait)
	b.generation++
	return true
}

// abandon ends a ticket whose request says nothing about the endpoint's
// health.
func (t *ticket) abandon() {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	if t.probe && t.generation == t.b.generation {
		t.b.probing = false
	}
}

// State is an endpoint as `caddy docs status` shows it.
type State struct {
	// Endpoint is the address without credentials and query.
	Endpoint string `json:"endpoint"`
	Model    string `json:"model"`
	// Breaker is closed, open or probing.
	Breaker string `json:"breaker"`
	// Failures in a row.
	Failures int `json:"failures,omitempty"`
	// Until is when an open breaker lets the next request through.
	Until time.Time `json:"until,omitzero"`
	// LastError is the newest failure since the last success, without keys.
	LastError string `json:"last_error,omitempty"`
}

func (b *breaker) state() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := State{Breaker: "closed", Failures: b.failures, LastError: b.lastError}
	if b.open {
		s.Breaker, s.Until = "open", b.until
		if b.probing {
			s.Breaker = "probing"
		}
	}
	return s
}
