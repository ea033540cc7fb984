// Package access decides who may send what: it holds the keys that open
// sites, the origins from which browsers may use them, and the limits of
// clients.
//
// A key is public, since it is part of a site's pages. It identifies an
// organization, whose limits its requests count against, and may be
// restricted to some sites and origins. Keys don't protect a site; they make
// its callers distinguishable and can be revoked.
package access

import (
	"fmt"
	"regexp"
)

var label = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$`)

// CheckName returns an error if name is not a DNS label, which makes it safe
// in storage keys, URLs, and zone names. kind says in the error what is named,
// like site or organization.
func CheckName(kind, name string) error {
	if !label.MatchString(name) {
		return fmt.Errorf("%s %q: must be 1 to 63 of a-z 0-9 -, with no hyphen at either end", kind, name)
	}
	return nil
}
