package thread

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of Options that are left out.
const (
	DefaultTTL        = 30 * 24 * time.Hour
	DefaultMaxTurns   = 50
	DefaultMaxBytes   = 256 << 10
	DefaultCacheBytes = 16 << 20
)

const (
	prefix = "docs/threads"

	// storeTimeout bounds how long a reply waits for a thread.
	storeTimeout = 2 * time.Second
	// pause is how long the store is left alone after it failed, so that not
	// every reply waits for one that hangs.
	pause = 5 * time.Second
)

// Options of a Keeper. The zero value is the defaults.
type Options struct {
	// Off keeps nothing: threads get ids, and no turns.
	Off bool
	// TTL is how long a thread is kept after its last turn. Default: 30 days.
	TTL time.Duration
	// MaxTurns and MaxBytes (of JSON) bound a thread; the oldest turns go
	// first. Default: 50 and 256 kB.
	MaxTurns, MaxBytes int
	// CacheBytes bounds the memory for threads in use. Default: 16 MB.
	CacheBytes int
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Log takes failures of the store. Default: none.
	Log *slog.Logger
}

// Keeper keeps threads in a store. It is safe for concurrent use.
//
// The store is asked each time, since another process may have added a turn;
// memory stands in for it while it fails, so that a reply is never held up
// or refused for want of its thread, and holds a thread from its first reply
// on, whose id the client has before its turn is stored. Processes that share
// a store do not lock: of two turns of one thread at the same moment in two
// processes the later one may be kept alone.
type Keeper struct {
	store Store
	opts  Options

	cache  *cache
	locks  [64]sync.Mutex // by id
	seed   maphash.Seed
	failed atomic.Uint64
	paused atomic.Int64 // until this time, in Unix nanoseconds
}

// NewKeeper returns a Keeper. A nil store is the same as Options.Off.
func NewKeeper(store Store, o Options) *Keeper {
	if o.TTL <= 0 {
		o.TTL = DefaultTTL
	}
	if o.MaxTurns <= 0 {
		o.MaxTurns = DefaultMaxTurns
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	o.MaxBytes = max(o.MaxBytes, 4<<10)
	if o.CacheBytes <= 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Off = o.Off || store == nil
	return &Keeper{store: store, opts: o, cache: newCache(o.CacheBytes), seed: maphash.MakeSeed()}
}

// Open returns the thread of an id, and true, if it is known, not expired,
// and o's. Otherwise it returns a new thread with an id of its own, which is
// stored with its first turn. It can't fail: a store that does is logged and
// counted (Failures). The caller may change what it gets.
//
// With Options.Off an id that CheckID accepts is handed back, so that a
// client's conversation keeps its name.
func (k *Keeper) Open(ctx context.Context, id string, o Owner) (t *Thread, known bool) {
	if k.opts.Off {
		t := k.fresh(o)
		if CheckID(id) == nil {
			t.ID = id
		}
		return t, false
	}
	if _, ok := key(o.Organization, id); ok {
		mu := k.lock(id)
		mu.Lock()
		t, err := k.load(ctx, id, o.Organization)
		mu.Unlock()
		if err == nil && t != nil && t.ownedBy(o) && !k.expired(t) {
			return t, true
		}
	}
	t = k.fresh(o)
	// The client has the id before the first turn is stored, and may come
	// back with it at once.
	begun := *t
	k.hold(cached{id: t.ID, organization: o.Organization, begun: &begun})
	return t, false
}

// Append adds a turn to a thread that Open returned, or with replaceLast
// puts it in place of the last one (an answer made anew). Texts too long for
// the thread's bounds are cut. After an error of the store the turn is kept
// in memory, and stored when the store works again.
func (k *Keeper) Append(ctx context.Context, id string, o Owner, turn Turn, replaceLast bool) error {
	if k.opts.Off {
		return nil
	}
	name, ok := key(o.Organization, id)
	if !ok {
		return fmt.Errorf("thread %q of organization %q can't be stored", id, o.Organization)
	}
	mu := k.lock(id)
	mu.Lock()
	defer mu.Unlock()
	t, err := k.load(ctx, id, o.Organization)
	if err == nil && t != nil && !t.ownedBy(o) {
		return fmt.Errorf("thread %s belongs to another", id)
	}
	if t == nil || k.expired(t) {
		t = k.fresh(o)
		t.ID = id
	}
	if turn.At.IsZero() {
		turn.At = k.opts.Now().UTC()
	}
	t.Updated = k.opts.Now().UTC()
	data, err := t.add(turn, replaceLast, k.opts.MaxTurns, k.opts.MaxBytes)
	if err != nil {
		return fmt.Errorf("thread %s: %w", id, err)
	}
	err = k.put(ctx, name, data)
	entry, held := k.cache.get(id)
	k.hold(cached{
		id: id, organization: o.Organization, data: data,
		unsaved: err != nil, stored: err == nil || held && entry.stored,
	})
	if err != nil {
		return fmt.Errorf("storing thread %s: %w", id, err)
	}
	return nil
}

// Failures returns how often the store has failed.
func (k *Keeper) Failures() uint64 { return k.failed.Load() }

func (k *Keeper) fresh(o Owner) *Thread {
	now := k.opts.Now().UTC()
	return &Thread{
		ID: newID(now), Organization: o.Organization, Site: o.Site, Owner: o.Hash(),
		Created: now, Updated: now,
	}
}

func (k *Keeper) expired(t *Thread) bool {
	return !k.opts.Now().Before(t.Updated.Add(k.opts.TTL))
}

func (k *Keeper) lock(id string) *sync.Mutex {
	return &k.locks[maphash.String(k.seed, id)%uint64(len(k.locks))]
}

// load returns the latest of what the store and memory have of a thread: nil
// if that is nothing. The error is the store's, if memory had nothing either.
// The caller holds the thread's lock.
func (k *Keeper) load(ctx context.Context, id, organization string) (*Thread, error) {
	entry, ok := k.cache.get(id)
	ok = ok && entry.organization == organization
	held := func() *Thread {
		if !ok {
			return nil
		}
		if entry.begun != nil {
			t := *entry.begun
			return &t
		}
		t, _ := decode(entry.data, id, k.opts.MaxBytes)
		return t
	}
	if ok && !entry.stored {
		return held(), nil // begun here, and stored nowhere yet
	}
	name, _ := key(organization, id)
	data, err := k.get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		k.cache.drop(id) // expired, or deleted by the operator
		return nil, nil
	}
	if err != nil {
		if t := held(); t != nil {
			return t, nil
		}
		return nil, err
	}
	stored, err := decode(data, id, k.opts.MaxBytes)
	if err != nil {
		k.opts.Log.Warn("a stored thread can't be read", "thread", id, "error", err)
		return held(), nil
	}
	if ok && entry.unsaved {
		if t := held(); t != nil && t.Updated.After(stored.Updated) {
			return t, nil
		}
	}
	return stored, nil
}

func (k *Keeper) hold(c cached) {
	if lost := k.cache.put(c); lost > 0 {
		k.opts.Log.Error("turns are lost: the store fails, and memory for threads is full", "threads", lost)
	}
}

var errPaused = errors.New("the storage has just failed and is left alone for some seconds")

// get and put are the store's, with a time limit and a pause after failures.
func (k *Keeper) get(ctx context.Context, name string) (data []byte, err error) {
	err = k.try(ctx, "reading", func(ctx context.Context) (err error) {
		data, err = k.store.Get(ctx, name)
		return err
	})
	return data, err
}

func (k *Keeper) put(ctx context.Context, name string, data []byte) error {
	return k.try(ctx, "writing", func(ctx context.Context) error { return k.store.Put(ctx, name, data) })
}

func (k *Keeper) try(ctx context.Context, doing string, f func(context.Context) error) error {
	now := k.opts.Now()
	if now.UnixNano() < k.paused.Load() {
		return errPaused
	}
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := f(limited)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if ctx.Err() != nil {
		return err // the caller went away; the store may be well
	}
	k.failed.Add(1)
	k.paused.Store(k.opts.Now().Add(pause).UnixNano())
	k.opts.Log.Error("storage of threads fails; replies go on", "doing", doing, "error", err)
	return err
}
