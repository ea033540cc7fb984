package thread

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

const (
	firstSweep    = 2 * time.Minute // after the server has started
	sweepInterval = 6 * time.Hour
	saveInterval  = 30 * time.Second
)

// Run deletes expired threads every six hours, and stores the turns that the
// store did not accept before, until ctx ends.
func (k *Conversations) Run(ctx context.Context) {
	if k.ttl == 0 {
		<-ctx.Done()
		return
	}
	sweep := time.NewTimer(firstSweep)
	defer sweep.Stop()
	save := time.NewTicker(saveInterval)
	defer save.Stop()
	for {
		select {
		case <-sweep.C:
			if _, err := k.sweep(ctx); err != nil && ctx.Err() == nil {
				k.log.Warn("expired threads could not be deleted", "error", err)
			}
			sweep.Reset(sweepInterval)
		case <-save.C:
			k.save(ctx)
		case <-ctx.Done():
			k.save(context.WithoutCancel(ctx))
			return
		}
	}
}

// sweep deletes the threads whose last turn is older than the TTL, and returns
// how many. It reads only those that were begun as long ago, and leaves alone
// what is not a thread.
func (k *Conversations) sweep(ctx context.Context) (deleted int, err error) {
	if k.ttl == 0 {
		return 0, nil
	}
	names, err := k.store.List(ctx, prefix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("listing %s: %w", prefix, err)
	}
	since := time.Now().Add(-k.ttl).UTC().Format(dayFormat)
	for _, key := range names {
		if day, ok := dayOf(key); !ok || day > since {
			continue
		}
		if err := ctx.Err(); err != nil {
			return deleted, err
		}
		gone, err := k.sweepOne(ctx, strings.TrimPrefix(key, "/"))
		if err != nil {
			return deleted, err
		}
		if gone {
			deleted++
		}
	}
	return deleted, nil
}

func (k *Conversations) sweepOne(ctx context.Context, key string) (bool, error) {
	defer k.lock(key)()
	gone := false
	err := k.try(ctx, "expiring", func(ctx context.Context) error {
		data, err := k.store.Get(ctx, key)
		if err != nil {
			return err
		}
		// A thread that can't be read is deleted, too.
		if t, err := decode(data, key); err == nil && !k.expired(t) {
			return nil
		}
		gone = true
		return k.store.Delete(ctx, key)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("expiring %s: %w", key, err)
	}
	if gone {
		k.cache.drop(key)
	}
	return gone, nil
}

// save stores the turns that the store did not accept before.
func (k *Conversations) save(ctx context.Context) {
	for _, key := range k.cache.unsaved() {
		if !k.saveOne(ctx, key) {
			return
		}
	}
}

func (k *Conversations) saveOne(ctx context.Context, key string) bool {
	defer k.lock(key)()
	c, ok := k.cache.get(key)
	if !ok || !c.unsaved {
		return true
	}
	if k.put(ctx, key, c.data) != nil {
		return false
	}
	c.stored, c.unsaved = true, false
	k.hold(c)
	return true
}
