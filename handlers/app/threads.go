package app

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/assistant/thread"
)

// keepers are the conversations of all configurations of the process. One
// keeper over reloads: a reply that began before a reload appends to the
// same memory that the next question reads.
var keepers = caddy.NewUsagePool()

// keeper is a pooled thread.Keeper, whose storage is that of the newest
// configuration.
type keeper struct {
	*thread.Keeper
	store atomic.Pointer[store]
}

// Destruct has nothing to do: a keeper holds memory only.
func (*keeper) Destruct() error { return nil }

// threadsTTL is how long threads are kept, 0 where they are not.
func (a *App) threadsTTL() time.Duration {
	switch {
	case a.Threads == nil || !a.Threads.Off && a.Threads.TTL == 0:
		return defaultTTL
	case a.Threads.Off:
		return 0
	}
	return time.Duration(a.Threads.TTL)
}

// openThreads finds or makes the keeper for this storage and ttl.
func (a *App) openThreads() error {
	ttl := a.threadsTTL()
	if ttl < 0 || ttl > 0 && ttl < time.Minute {
		return fmt.Errorf("threads ttl %s: write a duration of at least 1m, like 30d, or threads off", ttl)
	}
	// Storages that are configured alike print alike (certmagic's are plain
	// structs); one that does not merely gets a keeper of its own.
	key := poolKey(fingerprint(fmt.Sprintf("%T %+v", a.store.Storage, a.store.Storage), ttl))
	v, _, err := keepers.LoadOrNew(key, func() (caddy.Destructor, error) {
		k := new(keeper)
		var s thread.Store
		if ttl > 0 {
			s = threadStore{currentStore{&k.store}}
		}
		k.Keeper = thread.NewKeeper(s, thread.Options{TTL: ttl, Log: slog.New(a.log.Handler())})
		return k, nil
	})
	if err != nil {
		return err
	}
	k := v.(*keeper)
	k.store.Store(&a.store)
	a.threads, a.threadsKey = k.Keeper, key
	return nil
}
