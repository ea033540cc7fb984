package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// RefreshInterval is how often Run looks for keys that were made or
	// revoked, by this process or another: twice within the promised 10 s.
	RefreshInterval = 4 * time.Second
	// storeTimeout bounds one look.
	storeTimeout = 5 * time.Second
	// useInterval is how often times of last use are written, at most one
	// write for each key.
	useInterval = 5 * time.Minute
	// MaxKeys bounds the made keys that are held. More are ignored, with a
	// line in the log.
	MaxKeys = 10_000

	recordPrefix = "docs/keys"
	// Times of last use stand apart from the records: rewriting a record
	// could bring back one that another process has just revoked.
	usePrefix = "docs/used-keys"
)

var (
	// ErrUnknownKey is the error of Revoke for a key that is not there.
	ErrUnknownKey = errors.New("no such key")
	// ErrAmbiguousKey is the error of Revoke for the beginning of several ids.
	ErrAmbiguousKey = errors.New("several keys begin so")
	// ErrFixedKey is the error of Revoke for a key of the configuration.
	ErrFixedKey = errors.New("the key is written in the configuration: remove it there and reload")
)

var recordName = regexp.MustCompile(`^(k[a-z0-9]{4,30})\.json$`)

// Keys are all keys of a server: the fixed ones of its configuration and
// those in its store. It is safe for concurrent use.
//
// Authenticate works on a set in memory, which Run keeps up to date. While
// the store fails the last good set stays in force.
type Keys struct {
	store Store
	fixed []*Key
	log   *slog.Logger

	set atomic.Pointer[keyset]

	reload  sync.Mutex // held while the store is read
	failing bool
	skipped map[string]string // records that can't be read, and why: each is told once
	written map[string]int64  // times of last use that are in the store
}

type keyset struct {
	byHash map[[sha256.Size]byte]*Key
	byID   map[string]*Key
}

// NewKeys returns keys that has only the fixed ones until Reload or Run is
// called. store may be nil: then there are no others.
func NewKeys(store Store, fixed []*Key, log *slog.Logger) *Keys {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ks := &Keys{store: store, fixed: fixed, log: log, skipped: map[string]string{}, written: map[string]int64{}}
	ks.publish(nil)
	return ks
}

// Authenticate returns the key of a token, if it is one that is in force.
// It reads no storage; no, malformed, unknown, expired and revoked keys are
// all the same (nil, false). Time does not depend on how much of a token is
// right: only its hash is looked up and compared.
func (ks *Keys) Authenticate(token string) (*Key, bool) {
	if len(token) > maxSecret || !strings.HasPrefix(token, Prefix) {
		return nil, false
	}
	sum := sha256.Sum256([]byte(token))
	k, ok := ks.set.Load().byHash[sum]
	if !ok || subtle.ConstantTimeCompare(k.hash[:], sum[:]) != 1 {
		return nil, false
	}
	now := time.Now()
	if k.Expired(now) {
		return nil, false
	}
	// A load first: the line of a busy key's counter stays shared between cores.
	if t := now.Unix(); k.used.Load() < t {
		k.used.Store(t)
	}
	return k, true
}

// AllowsOrigin reports whether any key in force that opens the site allows
// origin. It is what a preflight, which carries no key, is answered from.
func (ks *Keys) AllowsOrigin(organization, site, origin string) bool {
	// Read once: anyone may send a preflight, and there may be many keys.
	got, err := ParseOrigin(origin)
	now := time.Now()
	for _, k := range ks.set.Load().byID {
		if k.Opens(organization, site) && !k.Expired(now) && (len(k.Origins) == 0 || err == nil && k.allows(got)) {
			return true
		}
	}
	return false
}

// Len is the number of keys that are held in memory, fixed ones included.
func (ks *Keys) Len() int { return len(ks.set.Load().byHash) }

// Opened reports whether any key in force opens the site, for the start log.
func (ks *Keys) Opened(organization, site string) bool {
	now := time.Now()
	for _, k := range ks.set.Load().byID {
		if k.Opens(organization, site) && !k.Expired(now) {
			return true
		}
	}
	return false
}

// Run keeps the keys up to date until ctx ends: it looks at the store every
// RefreshInterval, and writes times of last use every few minutes and at the
// end.
func (ks *Keys) Run(ctx context.Context) {
	if ks.store == nil {
		<-ctx.Done()
		return
	}
	refresh := time.NewTicker(RefreshInterval)
	defer refresh.Stop()
	use := time.NewTicker(useInterval)
	defer use.Stop()
	_ = ks.Reload(ctx)
	for {
		select {
		case <-refresh.C:
			_ = ks.Reload(ctx) // logged there
		case <-use.C:
			ks.writeUse(ctx)
		case <-ctx.Done():
			ks.writeUse(context.WithoutCancel(ctx))
			return
		}
	}
}

// Reload reads the store now. Records never change, so only those that are
// new are read. After an error the keys are as before.
func (ks *Keys) Reload(ctx context.Context) error {
	if ks.store == nil {
		return nil
	}
	ks.reload.Lock()
	defer ks.reload.Unlock()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := ks.read(ctx)
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		// The server is stopping: nothing to tell.
	case err != nil && !ks.failing:
		ks.failing = true
		ks.log.Error("reading keys; those known so far stay in force", "error", err)
	case err == nil && ks.failing:
		ks.failing = false
		ks.log.Info("keys can be read again")
	}
	return err
}

func (ks *Keys) read(ctx context.Context) error {
	names, err := ks.store.List(ctx, recordPrefix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listing %s: %w", recordPrefix, err)
	}
	old := ks.set.Load().byID
	stored := make(map[string]*Key, len(names))
	skipped := map[string]string{}
	for _, name := range names {
		id, ok := recordID(name)
		if !ok {
			continue // temporary files of the storage, and others' files
		}
		if k, ok := old[id]; ok && !k.Fixed {
			stored[id] = k
			continue
		}
		if len(stored) >= MaxKeys {
			ks.skip(skipped, id, fmt.Sprintf("there are more than %d keys", MaxKeys))
			continue
		}
		data, err := ks.store.Get(ctx, recordKey(id))
		if errors.Is(err, fs.ErrNotExist) {
			continue // revoked since List
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", recordKey(id), err)
		}
		k, err := decodeRecord(id, data)
		if err != nil {
			ks.skip(skipped, id, err.Error())
			continue
		}
		stored[id] = k
	}
	// A list may lack what is there: certmagic's file storage stops at a
	// temporary file that vanishes under it, others lag behind. Only the
	// record itself shows that a key was revoked.
	for id, k := range old {
		if k.Fixed || stored[id] != nil {
			continue
		}
		if _, err := ks.store.Get(ctx, recordKey(id)); err == nil {
			stored[id] = k
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reading %s: %w", recordKey(id), err)
		}
	}
	ks.skipped = skipped
	if !maps.Equal(ks.set.Load().made(), stored) {
		ks.publish(stored)
	}
	return nil
}

func (ks *Keys) skip(skipped map[string]string, id, why string) {
	if ks.skipped[id] != why {
		ks.log.Warn("a stored key is ignored", "key", id, "reason", why)
	}
	skipped[id] = why
}

func (ks *Keys) publish(stored map[string]*Key) {
	n := len(stored) + len(ks.fixed)
	set := &keyset{byHash: make(map[[sha256.Size]byte]*Key, n), byID: make(map[string]*Key, n)}
	for id, k := range stored {
		set.byHash[k.hash], set.byID[id] = k, k
	}
	for _, k := range ks.fixed {
		set.byHash[k.hash], set.byID[k.ID] = k, k
	}
	ks.set.Store(set)
}

// made returns those that are not fixed, in a map of its own.
func (s *keyset) made() map[string]*Key {
	made := maps.Clone(s.byID)
	maps.DeleteFunc(made, func(_ string, k *Key) bool { return k.Fixed })
	return made
}

// Create makes a key as Make does and stores it. It is in force here at
// once, and within 10 s in every process that shares the store.
func (ks *Keys) Create(ctx context.Context, k Key) (secret string, made *Key, err error) {
	if ks.store == nil {
		return "", nil, errors.New("there is no storage to keep keys in")
	}
	secret, made, err = Make(k, time.Now())
	if err != nil {
		return "", nil, err
	}
	data, err := encodeRecord(made)
	if err != nil {
		return "", nil, err
	}
	if err := ks.store.Put(ctx, recordKey(made.ID), data); err != nil {
		return "", nil, fmt.Errorf("storing key %s: %w", made.ID, err)
	}
	ks.replace(made.ID, made)
	return secret, made, nil
}

// replace puts a made key into the set, or, with nil, takes it out, without
// a look at the store: what was just done there is known.
func (ks *Keys) replace(id string, k *Key) {
	ks.reload.Lock()
	defer ks.reload.Unlock()
	stored := ks.set.Load().made()
	delete(stored, id)
	if k != nil {
		stored[id] = k
	}
	ks.publish(stored)
}

// List returns all keys, fixed ones first, then by creation, each with the
// time of its last use. The values are copies.
func (ks *Keys) List(ctx context.Context) ([]*Key, error) {
	if err := ks.Reload(ctx); err != nil {
		return nil, err
	}
	var keys []*Key
	for _, k := range ks.set.Load().byID {
		used, err := ks.lastUse(ctx, k)
		if err != nil {
			return nil, err
		}
		c := *k
		c.Sites, c.Origins = slices.Clone(k.Sites), slices.Clone(k.Origins)
		if used > 0 {
			c.LastUsed = time.Unix(used, 0).UTC()
		}
		keys = append(keys, &c)
	}
	slices.SortFunc(keys, func(a, b *Key) int {
		if a.Fixed != b.Fixed {
			if a.Fixed {
				return -1
			}
			return 1
		}
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return keys, nil
}

// Revoke takes a made key out of force: here at once, and within 10 s in
// every process that shares the store. which is the key's ID, the beginning
// of it (at least 4 characters) if no other key begins so, or the secret
// itself. Errors are ErrUnknownKey, ErrFixedKey and ErrAmbiguousKey (with the
// ids that begin so), wrapped, and those of the store.
func (ks *Keys) Revoke(ctx context.Context, which string) (*Key, error) {
	if err := ks.Reload(ctx); err != nil {
		return nil, err
	}
	k, err := ks.find(which)
	if err != nil {
		return nil, err
	}
	if k.Fixed {
		return nil, fmt.Errorf("key %s: %w", k.ID, ErrFixedKey)
	}
	if err := ks.store.Delete(ctx, recordKey(k.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("revoking key %s: %w", k.ID, err)
	}
	ks.replace(k.ID, nil)
	// The key is gone; when it was used last is no longer of use.
	_ = ks.store.Delete(ctx, useKey(k.ID))
	return k, nil
}

func (ks *Keys) find(which string) (*Key, error) {
	set := ks.set.Load()
	if strings.HasPrefix(which, Prefix) {
		if k, ok := set.byHash[sha256.Sum256([]byte(which))]; ok {
			return k, nil
		}
		return nil, ErrUnknownKey // without the secret
	}
	if k, ok := set.byID[which]; ok {
		return k, nil
	}
	if len(which) < 4 {
		return nil, fmt.Errorf("key %q: %w; give its id, at least 4 characters of it, or the key itself", which, ErrUnknownKey)
	}
	var found []string
	for id := range set.byID {
		if strings.HasPrefix(id, which) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("key %q: %w", which, ErrUnknownKey)
	case 1:
		return set.byID[found[0]], nil
	}
	slices.Sort(found)
	return nil, fmt.Errorf("key %q: %w (%s); give more of it", which, ErrAmbiguousKey, strings.Join(found, ", "))
}

// lastUse is the later of what this process saw and what any wrote.
func (ks *Keys) lastUse(ctx context.Context, k *Key) (int64, error) {
	used := k.used.Load()
	if ks.store == nil {
		return used, nil
	}
	data, err := ks.store.Get(ctx, useKey(k.ID))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return used, nil
		}
		return 0, fmt.Errorf("reading %s: %w", useKey(k.ID), err)
	}
	stored, err := strconv.ParseInt(strings.TrimSpace(string(data[:min(len(data), 20)])), 10, 64)
	if err != nil || stored < 0 {
		return used, nil // not ours; overwritten at the next use
	}
	return max(used, stored), nil
}

// writeUse writes the times of last use that are newer than those written.
func (ks *Keys) writeUse(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	ks.reload.Lock()
	defer ks.reload.Unlock()
	byID := ks.set.Load().byID
	for id := range ks.written {
		if byID[id] != nil {
			continue
		}
		// Revoked, perhaps before what was written last: nobody else knows
		// that it is there.
		delete(ks.written, id)
		_ = ks.store.Delete(ctx, useKey(id))
	}
	for id, k := range byID {
		used := k.used.Load()
		if used <= ks.written[id] {
			continue
		}
		if err := ks.store.Put(ctx, useKey(id), strconv.AppendInt(nil, used, 10)); err != nil {
			ks.log.Warn("writing when keys were used last", "error", err)
			return // the next time will do
		}
		ks.written[id] = used
	}
}

func recordKey(id string) string { return recordPrefix + "/" + id + ".json" }

func useKey(id string) string { return usePrefix + "/" + id }

func recordID(name string) (id string, ok bool) {
	// Exactly one level below the prefix, whether or not the store begins
	// its names with a slash.
	if path.Dir(strings.TrimPrefix(name, "/")) != recordPrefix {
		return "", false
	}
	m := recordName.FindStringSubmatch(path.Base(name))
	if m == nil {
		return "", false
	}
	return m[1], true
}
