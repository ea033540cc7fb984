package access

import (
	"net/netip"
	"strings"
)

// Client returns the name under which the requests from an IP address are
// counted: an IPv4 address itself, also if it is mapped to IPv6; the /64 of an
// IPv6 address, which is the smallest network that a customer gets. Anything
// else is returned as it is, cut to 64 bytes.
func Client(address string) string {
	ip, err := netip.ParseAddr(strings.Trim(address, "[]"))
	if err != nil {
		return strings.ToValidUTF8(address[:min(len(address), 64)], "")
	}
	if ip = ip.Unmap(); ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
}
