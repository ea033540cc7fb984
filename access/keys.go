package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/store"
)

const (
	// maxKeys bounds the stored keys that are loaded. Others are ignored and
	// logged.
	maxKeys = 10_000

	// refreshInterval fits twice into the 10 s within which new and revoked
	// keys take effect.
	refreshInterval = 4 * time.Second
	useInterval     = 5 * time.Minute
	storeTimeout    = 5 * time.Second
)

// Keys are the keys of a server: the fixed ones of its configuration and
// those in its store. It is safe for concurrent use.
//
// Requests are authenticated from memory; Run keeps it up to date. While the
// store fails, the keys read last remain valid.
type Keys struct {
	store store.Store
	log   *slog.Logger

	byHash atomic.Pointer[map[[sha256.Size]byte]*Key] // replaced, not modified

	mu      sync.Mutex // held while the store is read; guards the following
	fixed   []*Key
	stored  map[string]*Key // by ID
	failing bool
	ignored map[string]string // reasons by ID; each is logged once
	written map[string]int64  // the stored time of last use by ID
}

// NewKeys returns Keys that has only the fixed keys until Reload or Run is
// called.
func NewKeys(s store.Store, fixed []*Key, log *slog.Logger) *Keys {
	ks := &Keys{store: s, log: log, stored: map[string]*Key{}, written: map[string]int64{}}
	ks.SetFixed(fixed)
	return ks
}

// SetFixed replaces the fixed keys.
func (ks *Keys) SetFixed(fixed []*Key) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	ks.fixed = fixed
	ks.publish()
}

// publish makes the keys available to requests. The caller holds mu.
func (ks *Keys) publish() {
	byHash := map[[sha256.Size]byte]*Key{}
	for _, k := range ks.all() {
		byHash[k.hash] = k
	}
	ks.byHash.Store(&byHash)
}

// all returns the stored and then the fixed keys. The caller holds mu.
func (ks *Keys) all() []*Key { return append(slices.Collect(maps.Values(ks.stored)), ks.fixed...) }

// Authenticate returns the key of a token if it is valid. It doesn't read the
// store. The result is the same for missing, malformed, unknown, expired, and
// revoked keys, and takes no longer the more of a token is right: only its
// hash is looked up and compared.
func (ks *Keys) Authenticate(token string) (*Key, bool) {
	if len(token) > maxSecret || !strings.HasPrefix(token, Prefix) {
		return nil, false
	}
	sum := sha256.Sum256([]byte(token))
	k, ok := (*ks.byHash.Load())[sum]
	if !ok || subtle.ConstantTimeCompare(k.hash[:], sum[:]) != 1 {
		return nil, false
	}
	now := time.Now()
	if k.Expired(now) {
		return nil, false
	}
	k.used.Store(now.Unix())
	return k, true
}

// AllowsOrigin reports whether any valid key that opens the site allows
// origin. Preflight requests, which carry no key, are answered from it.
func (ks *Keys) AllowsOrigin(organization, site, origin string) bool {
	o, err := ParseOrigin(origin)
	return ks.any(organization, site, func(k *Key) bool {
		return len(k.Origins) == 0 || err == nil && k.covers(o)
	})
}

// ListsOrigin reports whether any valid key that opens the site names origin.
func (ks *Keys) ListsOrigin(organization, site, origin string) bool {
	o, err := ParseOrigin(origin)
	return err == nil && ks.any(organization, site, func(k *Key) bool { return k.covers(o) })
}

// Opened reports whether any valid key opens the site.
func (ks *Keys) Opened(organization, site string) bool {
	return ks.any(organization, site, func(*Key) bool { return true })
}

func (ks *Keys) any(organization, site string, also func(*Key) bool) bool {
	now := time.Now()
	for _, k := range *ks.byHash.Load() {
		if k.Opens(organization, site) && !k.Expired(now) && also(k) {
			return true
		}
	}
	return false
}

// Len returns the number of keys in memory.
func (ks *Keys) Len() int { return len(*ks.byHash.Load()) }

// Run keeps the keys up to date until ctx ends. It reads the store every few
// seconds, and writes times of last use every few minutes and at the end.
func (ks *Keys) Run(ctx context.Context) {
	refresh := time.NewTicker(refreshInterval)
	defer refresh.Stop()
	use := time.NewTicker(useInterval)
	defer use.Stop()
	_ = ks.Reload(ctx) // logged there
	for {
		select {
		case <-refresh.C:
			_ = ks.Reload(ctx)
		case <-use.C:
			ks.writeUse(ctx)
		case <-ctx.Done():
			ks.writeUse(context.WithoutCancel(ctx))
			return
		}
	}
}

// Reload reads the store now. If that fails, the keys don't change.
func (ks *Keys) Reload(ctx context.Context) error {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	err := ks.read(ctx)
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // the server is stopping
	case err != nil && !ks.failing:
		ks.failing = true
		ks.log.Error("the keys could not be read; the last keys that were read remain valid", "error", err)
	case err == nil && ks.failing:
		ks.failing = false
		ks.log.Info("keys can be read again")
	}
	return err
}

func (ks *Keys) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	names, err := ks.store.List(ctx, recordPrefix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listing %s: %w", recordPrefix, err)
	}
	stored := make(map[string]*Key, len(names))
	ignored := map[string]string{}
	for _, name := range names {
		id, ok := recordID(name)
		if !ok {
			continue
		}
		if k, ok := ks.stored[id]; ok {
			stored[id] = k
			continue
		}
		if len(stored) >= maxKeys {
			ignored[id] = fmt.Sprintf("there are more than %d keys", maxKeys)
			continue
		}
		data, err := ks.store.Get(ctx, recordKey(id))
		if errors.Is(err, fs.ErrNotExist) {
			continue // revoked since List
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", recordKey(id), err)
		}
		k, err := parseRecord(data)
		switch {
		case err != nil:
			ignored[id] = err.Error()
		case k.ID != id:
			ignored[id] = "it is the record of another key"
		default:
			stored[id] = k
		}
	}
	if err := ks.keepUnlisted(ctx, stored); err != nil {
		return err
	}
	for id, reason := range ignored {
		if ks.ignored[id] != reason {
			ks.log.Warn("ignoring a stored key", "key", id, "reason", reason)
		}
	}
	ks.ignored = ignored
	if !maps.Equal(ks.stored, stored) {
		ks.stored = stored
		ks.publish()
	}
	return nil
}

// keepUnlisted adds the keys that were read before and whose records are still
// there. A list can be incomplete: certmagic's file storage stops at a temporary
// file that disappears, and others lag behind.
func (ks *Keys) keepUnlisted(ctx context.Context, stored map[string]*Key) error {
	for id, k := range ks.stored {
		if stored[id] != nil {
			continue
		}
		if _, err := ks.store.Get(ctx, recordKey(id)); err == nil {
			stored[id] = k
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reading %s: %w", recordKey(id), err)
		}
	}
	return nil
}

// writeUse stores the times of last use that have changed.
func (ks *Keys) writeUse(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	ks.mu.Lock()
	defer ks.mu.Unlock()
	revoked := maps.Clone(ks.written)
	for _, k := range ks.all() {
		delete(revoked, k.ID)
		used := k.used.Load()
		if used <= ks.written[k.ID] {
			continue
		}
		if err := ks.store.Put(ctx, useKey(k.ID), strconv.AppendInt(nil, used, 10)); err != nil {
			ks.log.Warn("could not store when keys were last used", "error", err)
			return // tried again after useInterval
		}
		ks.written[k.ID] = used
	}
	// The process that revoked a key may have deleted an earlier time than the one
	// written here.
	for id := range revoked {
		delete(ks.written, id)
		_ = ks.store.Delete(ctx, useKey(id))
	}
}
