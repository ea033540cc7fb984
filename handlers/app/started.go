package app

import (
	"context"
	"time"
)

// startTime bounds how long a request waits for the app's start. Start loads
// indexes from disk, so that a first one may take a second.
const startTime = 5 * time.Second

// AwaitStart waits until the app has started, and reports whether it has: not
// if ctx ends, the start fails or takes too long. Caddy starts the apps of a configuration in any order: the HTTP app
// may already bring requests of a new configuration, also at a reload, while
// sites have neither index nor address yet.
func (a *App) AwaitStart(ctx context.Context) bool {
	select {
	case <-a.started:
	default:
		t := time.NewTimer(startTime)
		defer t.Stop()
		select {
		case <-a.started:
		case <-ctx.Done():
		case <-t.C:
		}
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.sites != nil
}
