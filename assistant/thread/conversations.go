package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/store"
)

const (
	cacheBytes = 16 << 20 // of memory for threads in use

	// storeTimeout bounds how long a reply waits for the store.
	storeTimeout = 2 * time.Second
	// pause is how long the store is not asked after it failed, so that not
	// every reply waits for one that hangs.
	pause = 5 * time.Second
)

// Conversations are the threads in a store. They are safe for concurrent use.
//
// The store is asked each time, since another process may have added a turn.
// While it fails, threads are read from memory and new turns are kept there:
// no reply is held up or refused. Memory also holds a thread from its first
// reply on, since the client has the id before the turn is stored. Processes
// that share a store do not lock it: if two add a turn to one thread at the
// same moment, one of the turns may be lost.
type Conversations struct {
	store store.Store
	ttl   time.Duration // after the last turn; 0 keeps nothing: threads get ids, and no turns
	log   *slog.Logger

	cache  *cache
	seed   maphash.Seed
	locks  [64]sync.Mutex // by the thread's key
	failed atomic.Uint64
	paused atomic.Int64 // until this time, in Unix ns
}

// New returns the threads in a store, which are kept for a time after their
// last turn; 0 keeps nothing. The log takes failures of the store.
func New(s store.Store, ttl time.Duration, log *slog.Logger) *Conversations {
	return &Conversations{store: s, ttl: ttl, log: log, cache: newCache(cacheBytes), seed: maphash.MakeSeed()}
}

// Open returns the thread with an id, and true, if it is known, not expired,
// and o's. Otherwise it returns a new thread with another id, which is stored
// with its first turn. It can't fail: errors of the store are logged and
// counted (Failures). The caller may change what it gets.
//
// If nothing is kept, an id that checkID accepts is returned as it is, so that a
// client's conversation keeps its id.
func (k *Conversations) Open(ctx context.Context, id string, o Owner) (t *Thread, known bool) {
	if k.ttl == 0 {
		t := newThread(o)
		if checkID(id) == nil {
			t.ID = id
		}
		return t, false
	}
	if key, ok := keyOf(o.Organization, id); ok {
		unlock := k.lock(key)
		t, err := k.load(ctx, key)
		unlock()
		if err == nil && t != nil && t.ownedBy(o) && !k.expired(t) {
			return t, true
		}
	}
	t = newThread(o)
	if key, ok := keyOf(o.Organization, t.ID); ok {
		data, _ := json.Marshal(t) // can't fail
		k.hold(cached{key: key, data: data})
	}
	return t, false
}

// Append adds a turn to a thread that Open returned, after those that Before
// returns: it replaces the others. Texts too long for a thread are
// cut. After an error of the store the turn is kept in memory, and stored when
// the store works again.
func (k *Conversations) Append(ctx context.Context, id string, o Owner, turn Turn, regenerate bool) error {
	if k.ttl == 0 {
		return nil
	}
	key, ok := keyOf(o.Organization, id)
	if !ok {
		return fmt.Errorf("thread %q of organization %q can't be stored", id, o.Organization)
	}
	defer k.lock(key)()
	t, err := k.load(ctx, key)
	if err == nil && t != nil && !t.ownedBy(o) {
		return fmt.Errorf("thread %s has another owner", id)
	}
	if t == nil || k.expired(t) {
		t = newThread(o)
		t.ID = id
	}
	t.Updated = time.Now().UTC()
	if turn.At.IsZero() {
		turn.At = t.Updated
	}
	data, err := t.add(turn, regenerate)
	if err != nil {
		return fmt.Errorf("thread %s: %w", id, err)
	}
	held, _ := k.cache.get(key)
	err = k.put(ctx, key, data)
	k.hold(cached{key: key, data: data, unsaved: err != nil, stored: err == nil || held.stored})
	if err != nil {
		return fmt.Errorf("storing thread %s: %w", id, err)
	}
	return nil
}

// Read returns a thread of an organization, no matter who asked, for somebody
// who may see all of them; nil if there is none. The caller checks the site.
func (k *Conversations) Read(ctx context.Context, organization, id string) (*Thread, error) {
	key, ok := keyOf(organization, id)
	if k.ttl == 0 || !ok {
		return nil, nil
	}
	defer k.lock(key)()
	t, err := k.load(ctx, key)
	if err != nil || t == nil || t.Organization != organization || k.expired(t) {
		return nil, err
	}
	return t, nil
}

// Delete deletes a thread of an organization, from memory and from the store.
// One that is not there is no error.
func (k *Conversations) Delete(ctx context.Context, organization, id string) error {
	key, ok := keyOf(organization, id)
	if k.ttl == 0 || !ok {
		return nil
	}
	defer k.lock(key)()
	err := k.try(ctx, "deleting", func(ctx context.Context) error { return k.store.Delete(ctx, key) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting thread %s: %w", id, err)
	}
	k.cache.drop(key)
	return nil
}

// Failures returns how often the store has failed.
func (k *Conversations) Failures() uint64 { return k.failed.Load() }

func newThread(o Owner) *Thread {
	now := time.Now().UTC()
	return &Thread{
		ID: newID(now), Organization: o.Organization, Site: o.Site, Owner: o.Hash(),
		Created: now, Updated: now,
	}
}

func (k *Conversations) expired(t *Thread) bool { return time.Since(t.Updated) >= k.ttl }

// lock locks a thread. The function that it returns unlocks it.
func (k *Conversations) lock(key string) func() {
	mu := &k.locks[maphash.String(k.seed, key)%uint64(len(k.locks))]
	mu.Lock()
	return mu.Unlock
}

// load returns the latest of what the store and memory have of a thread, nil
// if that is nothing. The error is the store's, if memory had nothing either.
// The caller holds the thread's lock.
func (k *Conversations) load(ctx context.Context, key string) (*Thread, error) {
	var held *Thread
	entry, ok := k.cache.get(key)
	if ok {
		held, _ = decode(entry.data, key)
	}
	if held != nil && !entry.stored {
		return held, nil // begun here, and stored nowhere yet
	}
	var data []byte
	err := k.try(ctx, "reading", func(ctx context.Context) (err error) {
		data, err = k.store.Get(ctx, key)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		k.cache.drop(key) // expired, or deleted by the operator
		return nil, nil
	case err != nil && held != nil:
		return held, nil
	case err != nil:
		return nil, err
	}
	stored, err := decode(data, key)
	if err != nil {
		k.log.Warn("a stored thread can't be read", "key", key, "error", err)
		return held, nil
	}
	if entry.unsaved && held != nil && held.Updated.After(stored.Updated) {
		return held, nil
	}
	return stored, nil
}

func (k *Conversations) hold(c cached) {
	if lost := k.cache.put(c); lost > 0 {
		k.log.Error("conversation turns were lost: the storage is failing and the memory for threads is full", "threads", lost)
	}
}

func (k *Conversations) put(ctx context.Context, key string, data []byte) error {
	return k.try(ctx, "writing", func(ctx context.Context) error { return k.store.Put(ctx, key, data) })
}

// try asks the store, with a time limit since replies wait for the lock
// meanwhile, and not right after it failed.
func (k *Conversations) try(ctx context.Context, doing string, f func(context.Context) error) error {
	if time.Now().UnixNano() < k.paused.Load() {
		return errors.New("the storage failed seconds ago and has not been retried yet")
	}
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := f(limited)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if ctx.Err() != nil {
		return err // the client left; that says nothing of the store
	}
	k.failed.Add(1)
	k.paused.Store(time.Now().Add(pause).UnixNano())
	k.log.Error("the storage for threads is failing; replies continue", "operation", doing, "error", err)
	return err
}
