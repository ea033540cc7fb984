package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
)

// Record returns what is stored of a key: everything but its secret. Whoever
// makes a key elsewhere (the command line) hands it to Keys.Add.
func Record(k *Key) ([]byte, error) { return encodeRecord(k) }

// Add stores a key by its record. It returns an error if the record is not
// one that Record makes, or if a key of its ID is there already.
func (ks *Keys) Add(ctx context.Context, data []byte) (*Key, error) {
	if ks.store == nil {
		return nil, errors.New("there is no storage to keep keys in")
	}
	var head struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("reading the record: %w", err)
	}
	if !recordName.MatchString(head.ID + ".json") {
		return nil, fmt.Errorf("key id %q: must be k and 4 to 30 of a-z 0-9", head.ID)
	}
	k, err := decodeRecord(head.ID, data)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", head.ID, err)
	}
	if _, err := ks.store.Get(ctx, recordKey(k.ID)); err == nil {
		return nil, fmt.Errorf("key %s: is there already", k.ID)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("storing key %s: %w", k.ID, err)
	}
	if data, err = encodeRecord(k); err != nil {
		return nil, err
	}
	if err := ks.store.Put(ctx, recordKey(k.ID), data); err != nil {
		return nil, fmt.Errorf("storing key %s: %w", k.ID, err)
	}
	return k, ks.Reload(ctx)
}
