package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	// ErrUnknownKey is returned by Revoke for a key that doesn't exist.
	ErrUnknownKey = errors.New("no such key")
	// ErrAmbiguousKey is returned by Revoke for a prefix of several IDs.
	ErrAmbiguousKey = errors.New("several keys begin with it")
	// ErrFixedKey is returned by Revoke for a key of the configuration.
	ErrFixedKey = errors.New("the key is part of the configuration; remove it there and reload")
)

// Add stores a key by its Record. It is valid here at once, and within 10 s
// in every process that shares the store.
func (ks *Keys) Add(ctx context.Context, data []byte) (*Key, error) {
	k, err := parseRecord(data)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	if _, err := ks.store.Get(ctx, recordKey(k.ID)); err == nil {
		return nil, fmt.Errorf("key %s already exists", k.ID)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("storing key %s: %w", k.ID, err)
	}
	if data, err = Record(k); err != nil { // without fields of later versions
		return nil, err
	}
	if err := ks.store.Put(ctx, recordKey(k.ID), data); err != nil {
		return nil, fmt.Errorf("storing key %s: %w", k.ID, err)
	}
	ks.mu.Lock()
	defer ks.mu.Unlock()
	ks.stored[k.ID] = k
	ks.publish()
	return k, nil
}

// List returns copies of all keys with their times of last use, fixed keys
// first, then by creation.
func (ks *Keys) List(ctx context.Context) ([]*Key, error) {
	keys, err := ks.current(ctx)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		used, err := ks.lastUse(ctx, k)
		if err != nil {
			return nil, err
		}
		c := *k
		c.Sites, c.Origins = slices.Clone(k.Sites), slices.Clone(k.Origins)
		if used > 0 {
			c.LastUsed = time.Unix(used, 0).UTC()
		}
		keys[i] = &c
	}
	slices.SortFunc(keys, func(a, b *Key) int {
		fixed := strings.Compare(strconv.FormatBool(b.Fixed), strconv.FormatBool(a.Fixed))
		return cmp.Or(fixed, a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return keys, nil
}

// Revoke deletes a stored key. It becomes invalid here at once, and within
// 10 s in every process that shares the store. which is the key's ID, or a
// prefix of at least 4 characters that no other ID has. The error wraps
// ErrUnknownKey, ErrFixedKey, ErrAmbiguousKey, or the store's error.
func (ks *Keys) Revoke(ctx context.Context, which string) (*Key, error) {
	keys, err := ks.current(ctx)
	if err != nil {
		return nil, err
	}
	k, err := find(keys, which)
	if err != nil {
		return nil, err
	}
	if k.Fixed {
		return nil, fmt.Errorf("key %s: %w", k.ID, ErrFixedKey)
	}
	if err := ks.store.Delete(ctx, recordKey(k.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("revoking key %s: %w", k.ID, err)
	}
	_ = ks.store.Delete(ctx, useKey(k.ID)) // of no use without the key
	ks.mu.Lock()
	defer ks.mu.Unlock()
	delete(ks.stored, k.ID)
	ks.publish()
	return k, nil
}

// current returns all keys as the store has them now.
func (ks *Keys) current(ctx context.Context) ([]*Key, error) {
	if err := ks.Reload(ctx); err != nil {
		return nil, err
	}
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.all(), nil
}

func find(keys []*Key, which string) (*Key, error) {
	if strings.HasPrefix(which, Prefix) {
		return nil, ErrUnknownKey // without the secret
	}
	var found *Key
	var ids []string
	for _, k := range keys {
		if k.ID == which {
			return k, nil
		}
		if len(which) >= 4 && strings.HasPrefix(k.ID, which) {
			found, ids = k, append(ids, k.ID)
		}
	}
	switch len(ids) {
	case 0:
		return nil, fmt.Errorf("key %q: %w; write its ID, or at least 4 characters of it", which, ErrUnknownKey)
	case 1:
		return found, nil
	}
	slices.Sort(ids)
	return nil, fmt.Errorf("key %q: %w (%s); write more of it", which, ErrAmbiguousKey, strings.Join(ids, ", "))
}

// lastUse returns when a key was last used by this process or another, in
// Unix seconds.
func (ks *Keys) lastUse(ctx context.Context, k *Key) (int64, error) {
	used := k.used.Load()
	data, err := ks.store.Get(ctx, useKey(k.ID))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("reading %s: %w", useKey(k.ID), err)
	}
	stored, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return used, nil // overwritten at the next use
	}
	return max(used, stored), nil
}
