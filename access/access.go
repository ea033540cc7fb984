// Package access says who may ask what: the keys that open sites (make,
// hash, check, keep), the origins from which browsers may use them, and the
// addresses by which clients are counted.
//
// A key is public: it stands in the pages of a site. It names an
// organization, whose limits its requests spend, and may be narrowed to some
// of its sites and to the pages of some origins. What protects a site's
// budget are the limits; what a key adds is that they can be told apart and
// withdrawn.
package access

import (
	"context"
	"fmt"
	"regexp"
)

// Store keeps small values by name. Get returns an error that is
// fs.ErrNotExist for a name that is not there, and so may List and Delete.
// List returns the full names of everything below prefix, in any order; it
// may name things that nobody put there (temporary files), which callers
// skip. Names are made of a–z 0–9 - _ . and slashes.
type Store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, prefix string) ([]string, error)
}

var label = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$`)

// CheckName returns an error that says what to write if name, of a site or
// an organization as kind says, is not a DNS label. Labels are what makes
// names safe in storage keys, in addresses and in zone keys.
func CheckName(kind, name string) error {
	if !label.MatchString(name) {
		return fmt.Errorf("%s %q: must be 1 to 63 of a-z 0-9 -, with no hyphen at either end", kind, name)
	}
	return nil
}
