package thread

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

const (
	firstSweep    = 2 * time.Minute // not while the server starts
	sweepInterval = 6 * time.Hour
	saveInterval  = 30 * time.Second
)

// Run deletes expired threads a few times a day, and stores those which the
// store could not take before, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	if k.opts.Off {
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
			if _, err := k.Sweep(ctx); err != nil && ctx.Err() == nil {
				k.opts.Log.Warn("deleting expired threads", "error", err)
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

// Sweep deletes the threads whose last turn is older than the TTL, and
// returns how many. It reads only threads that were begun so long ago: those
// begun later can't have expired. What is not a thread it leaves alone.
func (k *Keeper) Sweep(ctx context.Context) (deleted int, err error) {
	if k.opts.Off {
		return 0, nil
	}
	names, err := k.store.List(ctx, prefix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("listing %s: %w", prefix, err)
	}
	since := k.opts.Now().Add(-k.opts.TTL).UTC().Format("20060102")
	for _, name := range names {
		organization, day, id, ok := split(name)
		if !ok || day > since {
			continue
		}
		if err := ctx.Err(); err != nil {
			return deleted, err
		}
		gone, err := k.sweepOne(ctx, organization, id)
		if err != nil {
			return deleted, err
		}
		if gone {
			deleted++
		}
	}
	return deleted, nil
}

func (k *Keeper) sweepOne(ctx context.Context, organization, id string) (bool, error) {
	mu := k.lock(id)
	mu.Lock()
	defer mu.Unlock()
	name, _ := key(organization, id)
	data, err := k.store.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", name, err)
	}
	// One that can't be read is of no use to anyone.
	if t, err := decode(data, id, k.opts.MaxBytes); err == nil && !k.expired(t) {
		return false, nil
	}
	if err := k.store.Delete(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("deleting %s: %w", name, err)
	}
	k.cache.drop(id)
	return true, nil
}

// save stores what the store could not take before.
func (k *Keeper) save(ctx context.Context) {
	for _, id := range k.cache.unsaved() {
		if !k.saveOne(ctx, id) {
			return
		}
	}
}

func (k *Keeper) saveOne(ctx context.Context, id string) bool {
	mu := k.lock(id)
	mu.Lock()
	defer mu.Unlock()
	c, ok := k.cache.get(id)
	if !ok || !c.unsaved {
		return true
	}
	name, ok := key(c.organization, id)
	if !ok || k.put(ctx, name, c.data) != nil {
		return false
	}
	c.stored, c.unsaved = true, false
	k.hold(c)
	return true
}
