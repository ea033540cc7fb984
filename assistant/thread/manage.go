package thread

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Read returns a thread of an organization, no matter who asked, for somebody
// who may see all of them; nil if there is none. The caller checks the site.
func (k *Keeper) Read(ctx context.Context, organization, id string) (*Thread, error) {
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
func (k *Keeper) Delete(ctx context.Context, organization, id string) error {
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
