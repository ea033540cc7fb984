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
