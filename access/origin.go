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

// Origin is a web origin, or a pattern for every port of the reader's own
// machine, such as http://localhost:*, where front ends are developed.
type Origin struct {
	scheme, host, port string // port: "" for the scheme's default, "*" for any
}

// ParseOrigin reads an origin as operators write it: https://acme.com,
// https://acme.com:8443, http://localhost:*. A trailing slash is accepted.
// Errors say what to write instead.
func ParseOrigin(s string) (Origin, error) {
	fail := func(problem string) (Origin, error) {
		return Origin{}, fmt.Errorf("origin %q: %s", s, problem)
	}
	const form = "write scheme, host and optional port, like https://acme.com or http://localhost:3000"
	switch {
	case len(s) > 300:
		return Origin{}, errors.New("origin: longer than 300 characters; " + form)
	case s == "null":
		return fail("every sandboxed page has it, so it can't be allowed; " + form)
	case s == "*":
		return fail("a key that names no origin allows any; omit origins")
	}
	scheme, rest, ok := strings.Cut(strings.TrimSuffix(s, "/"), "://")
	if !ok {
		return fail(form)
	}
	if strings.ContainsAny(rest, "/?#@\\ \t") {
		return fail("more than an origin; " + form)
	}
	o := Origin{scheme: strings.ToLower(scheme)}
	rest, anyPort := strings.CutSuffix(rest, ":*")
	u, err := url.Parse(o.scheme + "://" + rest)
	if err != nil || u.Hostname() == "" || anyPort && u.Port() != "" {
		return fail(form)
	}
	if strings.Contains(u.Hostname(), "*") {
		return fail("only the port of localhost can be * (http://localhost:*); name each host")
	}
	if o.host, err = normalHost(u.Hostname()); err != nil {
		return fail("the host is neither a name nor an IP address; " + form)
	}
	switch n, err := strconv.ParseUint(u.Port(), 10, 16); {
	case anyPort && !IsLoopback(o.host):
		return fail("only the port of localhost, 127.0.0.1 and [::1] can be *; name the port")
	case anyPort:
		o.port = "*"
	case strings.HasSuffix(rest, ":"):
		return fail("a colon without a port; " + form)
	case u.Port() == "":
	case err != nil || n == 0:
		return fail("the port must be 1 to 65535; " + form)
	case o.scheme == "http" && n == 80, o.scheme == "https" && n == 443:
	default:
		o.port = strconv.FormatUint(n, 10)
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

// covers reports whether got, the origin of a request, is o or matches it.
func (o Origin) covers(got Origin) bool {
	return got.port != "*" && o.scheme == got.scheme && o.host == got.host && (o.port == "*" || o.port == got.port)
}

// OriginOf returns the origin of a URL, like https://acme.com for
// https://acme.com/docs/?x, or an empty string if it has none.
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
	// Browsers send names in ASCII.
	ascii, err := idna.Lookup.ToASCII(host)
	if err == nil {
		return ascii, nil
	}
	// Names with underscores aren't valid host names, but exist.
	if strings.ContainsFunc(host, func(r rune) bool { return r != '.' && !isKeyRune(r) }) {
		return "", err
	}
	return strings.ToLower(host), nil
}

func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}
