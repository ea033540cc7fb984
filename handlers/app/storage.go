package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"

	"github.com/caddyserver/certmagic"
)

// store gives the pure packages their four methods over Caddy's storage
// (files, Redis, Postgres, S3, Consul …). The storage is the one that holds
// TLS private keys: everything of ours stands below "docs/", and no key is
// made from what a client sends without being checked first.
type store struct{ certmagic.Storage }

const storePrefix = "docs/"

func (s store) key(key string) (string, error) {
	if key == "" || path.Clean("/"+key) != "/"+key || !strings.HasPrefix(key, storePrefix) {
		return "", &fs.PathError{Op: "store", Path: key, Err: fs.ErrInvalid}
	}
	return key, nil
}

// Get returns what is stored, or fs.ErrNotExist.
func (s store) Get(ctx context.Context, key string) ([]byte, error) {
	k, err := s.key(key)
	if err != nil {
		return nil, err
	}
	return s.Load(ctx, k)
}

// Put stores a value whole.
func (s store) Put(ctx context.Context, key string, value []byte) error {
	k, err := s.key(key)
	if err != nil {
		return err
	}
	return s.Store(ctx, k, value)
}

// Delete removes a value; one that is not there is no error.
func (s store) Delete(ctx context.Context, key string) error {
	k, err := s.key(key)
	if err != nil {
		return err
	}
	if err := s.Storage.Delete(ctx, k); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List returns all keys below a prefix; none is no error.
func (s store) List(ctx context.Context, prefix string) ([]string, error) {
	k, err := s.key(strings.TrimSuffix(prefix, "/"))
	if err != nil {
		return nil, err
	}
	keys, err := s.Storage.List(ctx, k, true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return keys, err
}

// currentStore is the storage of the newest configuration that uses what is
// pooled: a reload may bring another value of the same storage.
type currentStore struct{ at *atomic.Pointer[store] }

func (c currentStore) Get(ctx context.Context, key string) ([]byte, error) {
	return c.at.Load().Get(ctx, key)
}

func (c currentStore) Put(ctx context.Context, key string, value []byte) error {
	return c.at.Load().Put(ctx, key, value)
}

func (c currentStore) Delete(ctx context.Context, key string) error {
	return c.at.Load().Delete(ctx, key)
}

func (c currentStore) List(ctx context.Context, prefix string) ([]string, error) {
	return c.at.Load().List(ctx, prefix)
}

// describeStorage says where a storage keeps things, for people.
func describeStorage(s certmagic.Storage) string {
	if f, ok := s.(*certmagic.FileStorage); ok {
		return f.Path
	}
	return fmt.Sprintf("%T", s)
}
