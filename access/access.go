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
	"net/netip"
	"regexp"
	"strings"
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

// Client returns the name under which the requests from an IP address are
// counted: an IPv4 address itself, also if it is mapped to IPv6; the /64 of an
// IPv6 address, which is the smallest network that a customer gets. Anything
// else is returned as it is, cut to 64 bytes.
func Client(address string) string {
	return networkOf(address, 32, 64)
}

// networkOf returns the network of a client's IP address that has as many bits,
// an IPv4 address alone if these are all of its bits.
func networkOf(address string, bits4, bits6 int) string {
	ip, err := netip.ParseAddr(strings.Trim(address, "[]"))
	if err != nil {
		return strings.ToValidUTF8(address[:min(len(address), 64)], "")
	}
	ip = ip.Unmap().WithZone("")
	switch {
	case !ip.Is4():
		bits4 = bits6
	case bits4 == 32:
		return ip.String()
	}
	return netip.PrefixFrom(ip, bits4).Masked().String()
}
