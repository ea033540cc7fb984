package source

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// reserved are networks without public sites that net/netip does not count as
// private: shared address space (RFC 6598), protocol assignments, benchmarks,
// "this network", documentation, reserved, and those that carry any IPv4
// address: local NAT64 (RFC 8215), 6to4 and Teredo.
var reserved = func() (networks []netip.Prefix) {
	for s := range strings.FieldsSeq(`0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 192.0.2.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
		240.0.0.0/4 64:ff9b:1::/48 2001::/32 2001:db8::/32 2002::/16 fec0::/10`) {
		networks = append(networks, netip.MustParsePrefix(s))
	}
	return networks
}()

// nat64 carries an IPv4 address in its last four bytes.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// public reports whether an address belongs to the public Internet.
func public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if nat64.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false // loopback, link-local, multicast, unspecified; RFC 1918, ULA
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// dialer connects to public addresses only, unless private ones are allowed.
// It checks the address after the name was resolved, so a name can't resolve
// to one address for the check and to another for the connection.
func dialer(allowPrivate bool) *net.Dialer {
	d := &net.Dialer{Timeout: 10 * time.Second}
	if allowPrivate {
		return d
	}
	d.Control = func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("connecting to %q: %w", address, err)
		}
		if !public(at.Addr()) {
			return fmt.Errorf("connecting to %s: it is a private address; allow_private in the site's configuration permits those", at.Addr())
		}
		return nil
	}
	return d
}

// Fetch returns what is at a URL, at most so many bytes and one more, and its
// validator. With that of an earlier response it may return ErrUnchanged. It
// connects to public addresses only, unless private ones are allowed, also after
// redirects.
func Fetch(ctx context.Context, address, tag string, allowPrivate bool, most int64) (data []byte, newTag string, err error) {
	transport := newTransport(allowPrivate)
	defer transport.CloseIdleConnections()
	response, err := get(ctx, &http.Client{Timeout: requestTimeout, Transport: transport}, address, tag, "")
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotModified && tag != "":
		return nil, tag, retrieval.ErrUnchanged
	case response.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("the server responds with %s", response.Status)
	}
	data, err = io.ReadAll(io.LimitReader(response.Body, most+1))
	return data, response.Header.Get("ETag"), err
}

func newTransport(allowPrivate bool) *http.Transport {
	return &http.Transport{
		// No proxy: the address that is checked must be the one that is asked.
		DialContext:            dialer(allowPrivate).DialContext,
		ForceAttemptHTTP2:      true,
		MaxConnsPerHost:        sitemapWorkers,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  requestTimeout,
		MaxResponseHeaderBytes: 64 << 10,
	}
}
