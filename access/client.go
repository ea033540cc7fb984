package access

import (
	"net/netip"
	"strings"
)

// Client returns the name under which the requests of an address are
// counted: an IPv4 address as it is (also when it came as an IPv6 one), an
// IPv6 address as its /64, since that is the least that one customer of a
// network is given. Anything else comes back as it is, cut to 64 bytes.
func Client(address string) string {
	ip, err := netip.ParseAddr(strings.Trim(address, "[]"))
	if err != nil {
		return strings.ToValidUTF8(address[:min(len(address), 64)], "")
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	prefix, err := ip.Prefix(64)
	if err != nil {
		return ip.String()
	}
	return prefix.String()
}
