package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// Store is Caddy's storage (files, Redis, Postgres, S3, Consul …) as the pure
// packages use it. All configurations share it, and it passes everything on
// to the storage of the newest one: a reload may bring another value of the
// same storage and close the old one.
//
// The storage also holds TLS private keys: all keys of this module begin with
// "docs/", and no key is made from what a client sends without being checked.
type Store struct {
	site.Newest[*storage]

	mu     sync.Mutex
	locked map[string]*storage // by the name of the lock
}

// storage is that of a configuration.
type storage struct {
	certmagic.Storage
	late atomic.Int32 // calls that nobody waits for any longer
}

// lateTimeout is how long a call has to return after its context ended. Those of
// files don't look at it, and hang with the disk.
const lateTimeout = time.Second

// call calls the newest storage. While a call is late, there are no others: each
// may hold a thread of the system, and what it writes would replace what is newer.
// What only reads for a client that left is late after storeTimeout.
func call[T any](ctx context.Context, s *Store, key string, reads bool, f func(*storage) (T, error)) (v T, err error) {
	in, err := s.at(key)
	if err != nil {
		return v, err
	}
	if in.late.Load() > 0 {
		return v, errors.New("the storage hangs: a call of it has not returned yet")
	}
	type result struct {
		value T
		err   error
	}
	returned := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("the storage panics: %v", p)
			}
			returned <- r
		}()
		r.value, r.err = f(in)
	}()
	select {
	case r := <-returned:
		return r.value, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-returned:
		return r.value, r.err
	case <-time.After(lateTimeout):
	}
	left := reads && errors.Is(ctx.Err(), context.Canceled) // which says nothing of the storage
	if !left {
		in.late.Add(1)
	}
	go func() {
		if left {
			select {
			case <-returned:
				return
			case <-time.After(storeTimeout - lateTimeout):
			}
			in.late.Add(1)
		}
		<-returned
		in.late.Add(-1)
	}()
	return v, fmt.Errorf("the storage hangs: %w", ctx.Err())
}

// newest returns the storage of the newest configuration.
func (s *Store) newest() (*storage, error) {
	if in := s.Current(); in != nil {
		return in, nil
	}
	return nil, fs.ErrClosed
}

// at returns the storage for a key, and an error if the key is not valid.
func (s *Store) at(key string) (*storage, error) {
	if path.Clean("/"+key) != "/"+key || !strings.HasPrefix(key, "docs/") {
		return nil, &fs.PathError{Op: "store", Path: key, Err: fs.ErrInvalid}
	}
	return s.newest()
}

// Get returns what is stored, or fs.ErrNotExist.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	return call(ctx, s, key, true, func(in *storage) ([]byte, error) { return in.Load(ctx, key) })
}

// Put stores a value.
func (s *Store) Put(ctx context.Context, key string, value []byte) error {
	_, err := call(ctx, s, key, false, func(in *storage) (struct{}, error) { return struct{}{}, in.Store(ctx, key, value) })
	return err
}

// Delete removes a value; one that is not there is no error.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := call(ctx, s, key, false, func(in *storage) (struct{}, error) { return struct{}{}, in.Delete(ctx, key) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List returns all keys below a prefix; none is no error.
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	prefix = strings.TrimSuffix(prefix, "/")
	keys, err := call(ctx, s, prefix, true, func(in *storage) ([]string, error) { return in.List(ctx, prefix, true) })
	// certmagic's file storage returns this error with a part of the list where
	// a file vanishes while it lists.
	if errors.Is(err, fs.ErrNotExist) && len(keys) == 0 {
		return nil, nil
	}
	return keys, err
}

// Lock waits until a lock is held that all processes with this storage share,
// or ctx is done.
func (s *Store) Lock(ctx context.Context, name string) error {
	in, err := s.newest()
	if err != nil {
		return err
	}
	if err := in.Lock(ctx, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked[name] = in
	return nil
}

// Unlock releases a lock, in the storage that it was taken in.
func (s *Store) Unlock(ctx context.Context, name string) error {
	s.mu.Lock()
	in := s.locked[name]
	delete(s.locked, name)
	s.mu.Unlock()
	if in == nil {
		return fmt.Errorf("lock %s is not held", name)
	}
	return in.Unlock(ctx, name)
}

// Check returns an error if values can't be written.
func (s *Store) Check(ctx context.Context) error {
	key := "docs/doctor/" + rand.Text()
	return errors.Join(s.Put(ctx, key, make([]byte, 4<<10)), s.Delete(ctx, key))
}

// String says where the newest storage keeps things, for people.
func (s *Store) String() string {
	in, err := s.newest()
	if err != nil {
		return err.Error()
	}
	if f, ok := in.Storage.(*certmagic.FileStorage); ok {
		return f.Path
	}
	return fmt.Sprintf("%T", in.Storage)
}

// ownerKey is where the storage keeps the ID that its indexes in servers have.
const ownerKey = "docs/index/owner"

// indexOwner is the owner of the indexes of all Caddys with a storage.
func (s *Store) indexOwner(ctx context.Context) (meilisearch.Owner, error) {
	host, _ := os.Hostname()
	owner := meilisearch.Owner{Name: strings.TrimSpace("the one with the storage " + s.String() + " on " + host)}
	id, err := s.Get(ctx, ownerKey)
	if errors.Is(err, fs.ErrNotExist) {
		const lock = "docs_index_owner"
		if err := s.Lock(ctx, lock); err != nil {
			return owner, err
		}
		defer func() { _ = s.Unlock(context.WithoutCancel(ctx), lock) }()
		if id, err = s.Get(ctx, ownerKey); errors.Is(err, fs.ErrNotExist) {
			id = []byte(rand.Text())
			err = s.Put(ctx, ownerKey, id)
		}
	}
	owner.ID = string(id)
	return owner, err
}
