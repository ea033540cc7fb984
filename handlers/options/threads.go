package options

import (
	"time"

	"github.com/caddyserver/caddy/v2"
)

// Threads sets how long conversations are kept.
type Threads struct {
	// Keeps no conversations: each request has to bring its own. Default: false.
	Off bool `json:"off,omitempty"`

	// How long a conversation is kept after its last turn, from 1m to 3650d.
	// Default: 30d.
	TTL caddy.Duration `json:"ttl,omitempty"`
}

// Validate checks how long conversations are kept.
func (t *Threads) Validate() error {
	c := new(checker)
	c.duration("ttl", t.TTL, time.Minute, 3650*day)
	if t.Off && t.TTL != 0 {
		c.fail("ttl", "conversations are kept for a time, or threads are off, not both")
	}
	return c.err()
}

// ThreadsTTL is how long conversations are kept; 0: not at all.
func (a *App) ThreadsTTL() time.Duration {
	switch {
	case a.Threads == nil || !a.Threads.Off && a.Threads.TTL == 0:
		return 30 * day
	case a.Threads.Off:
		return 0
	}
	return time.Duration(a.Threads.TTL)
}
