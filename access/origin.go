package access

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Origin is a pattern of web origins: one scheme, host and port, or every
// port of this machine's own host (http://localhost:*), which is where
// front-end developers' servers stand.
type Origin struct {
	scheme, host, port string // port "*": any
}

// ParseOrigin reads an origin as operators write it: https://acme.com,
// https://acme.com:8443, http://localhost:*. A slash at the end is forgiven.
// The error says what to write instead.
func ParseOrigin(s string) (Origin, error) {
	fail := func(what string) (Origin, error) {
		return Origin{}, fmt.Errorf("origin %q: %s", s, what)
	}
	const form = "write scheme, host and perhaps port, like https://acme.com or http://localhost:3000"
	switch {
	case len(s) > 300:
		return Origin{}, errors.New("origin: has more than 300 characters; " + form)
	case s == "null":
		return fail("any sandboxed page has it, so it can't be allowed; " + form)
	case s == "*":
		return fail("a key that names no origin allows any; leave origins out")
	}
	scheme, rest, ok := strings.Cut(strings.TrimSuffix(s, "/"), "://")
	if !ok || !isScheme(scheme) {
		return fail(form)
	}
	if strings.ContainsAny(rest, "/?#@\\ \t") {
		return fail("has more than an origin; " + form)
	}
	o := Origin{scheme: strings.ToLower(scheme)}
	host, anyPort := strings.CutSuffix(rest, ":*")
	if anyPort {
		o.port = "*"
	}
	u, err := url.Parse(o.scheme + "://" + host)
	if err != nil || u.Hostname() == "" {
		return fail(form)
	}
	if strings.Contains(u.Hostname(), "*") {
		return fail("a * stands only for the port of localhost (http://localhost:*); name each host")
	}
	if o.host, err = normalHost(u.Hostname()); err != nil {
		return fail("the host is not a name or address; " + form)
	}
	if anyPort {
		if u.Port() != "" {
			return fail(form)
		}
		if !isLoopback(o.host) {
			return fail("a * for the port is for localhost, 127.0.0.1 and [::1] only; name the port")
		}
		return o, nil
	}
	if strings.HasSuffix(rest, ":") {
		return fail("has a colon without a port; " + form)
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return fail("the port is 1 to 65535; " + form)
		}
		o.port = strconv.FormatUint(n, 10)
	}
	if o.port == defaultPort(o.scheme) {
		o.port = ""
	}
	return o, nil
}

// String returns the origin as browsers send it, or the pattern.
func (o Origin) String() string {
	host := o.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if o.port != "" {
		host += ":" + o.port
	}
	return o.scheme + "://" + host
}

// covers reports whether got, which was sent and not configured, is one of
// the pattern's.
func (o Origin) covers(got Origin) bool {
	return got.port != "*" && o.scheme == got.scheme && o.host == got.host && (o.port == "*" || o.port == got.port)
}

// OriginOf returns the origin of a page's address, like https://acme.com
// for https://acme.com/docs/?x; "" if it has none.
func OriginOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	o, err := ParseOrigin(u.Scheme + "://" + u.Host)
	if err != nil || o.port == "*" {
		return ""
	}
	return o.String()
}

func normalHost(host string) (string, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return "", errors.New("has a zone")
		}
		return ip.String(), nil
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || strings.HasPrefix(host, ".") || strings.HasSuffix(host, ".") || strings.Contains(host, "..") {
		return "", errors.New("has an empty label")
	}
	// Browsers send names in their ASCII form.
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		// Names with underscores are no host names, but some have them.
		ascii = strings.ToLower(host)
		for _, r := range ascii {
			if !isKeyRune(r) && r != '.' {
				return "", err
			}
		}
	}
	return ascii, nil
}

func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func isScheme(s string) bool {
	for i, r := range strings.ToLower(s) {
		if r >= 'a' && r <= 'z' || i > 0 && (r >= '0' && r <= '9' || r == '+' || r == '-' || r == '.') {
			continue
		}
		return false
	}
	return s != ""
}

func defaultPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	}
	return "" // no port to leave out
}
