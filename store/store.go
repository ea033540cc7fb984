// Package store is what keys, threads and budgets are kept in: in Caddy, its
// storage.
package store

import (
	"context"
	"encoding/json"
	"fmt"
)

// Store keeps small values by key. Several processes may share it. Keys
// consist of a-z 0-9 - _ . and slashes.
type Store interface {
	// Get returns a value, and an error that wraps fs.ErrNotExist for a key
	// that doesn't exist.
	Get(ctx context.Context, key string) ([]byte, error)
	// Put stores a value.
	Put(ctx context.Context, key string, value []byte) error
	// Delete removes a value. It may return fs.ErrNotExist.
	Delete(ctx context.Context, key string) error
	// List returns the full keys of everything below a prefix, in any order. It
	// may return fs.ErrNotExist. The keys can include others' keys, such as
	// temporary files, which callers skip.
	List(ctx context.Context, prefix string) ([]string, error)
}

// Decode reads what is stored as JSON, of at most so many bytes: other programs
// may write to the storage.
func Decode(data []byte, most int, into any) error {
	if len(data) > most {
		return fmt.Errorf("%d bytes; the maximum is %d", len(data), most)
	}
	return json.Unmarshal(data, into)
}
