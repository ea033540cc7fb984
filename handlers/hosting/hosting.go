// Package hosting reads from a configuration which server has a host, and whether
// it may serve pages there.
package hosting

import (
	"cmp"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"golang.org/x/net/idna"
)

// ServerFor returns the server that serves pages at the host of a site's URL,
// nil if this Caddy has none: the one that listens at the URL, else one that has
// the host in its routes, since a proxy in front of it may change the port and
// the scheme.
func ServerFor(h *caddyhttp.App, u *url.URL) (found *caddyhttp.Server) {
	if h == nil || u.Host == "" {
		return nil
	}
	host := Hostname(u.Host)
	want := hostURL(h, u.Scheme, host, u.Port())
	best := 0
	for _, name := range slices.Sorted(maps.Keys(h.Servers)) {
		server := h.Servers[name]
		serves, named := pagesAt(server, server.Routes, host, false, nil)
		if !serves {
			continue
		}
		match := 0
		switch {
		case slices.ContainsFunc(URLs(h, server, host), func(at url.URL) bool {
			return at == want || at.Scheme == want.Scheme && at.Port() == "0"
		}):
			match = 3
			if named {
				match = 4
			}
		case named && Scheme(server) == want.Scheme:
			match = 2
		case named:
			match = 1
		}
		if match > best {
			found, best = server, match
		}
	}
	return found
}

// URLs returns the URLs of a host on a server, for each address that it
// listens on. Port 0 means any: one that the system chooses, or one of a proxy
// in front of a socket, whose first URL has no port.
func URLs(h *caddyhttp.App, server *caddyhttp.Server, host string) (urls []url.URL) {
	for _, listen := range server.Listen {
		a, err := caddy.ParseNetworkAddress(listen)
		if err != nil {
			continue
		}
		if a.IsUnixNetwork() {
			urls = append(urls, hostURL(h, Scheme(server), host, ""))
		}
		for port := uint64(a.StartPort); port <= uint64(a.EndPort); port++ {
			urls = append(urls, hostURL(h, Scheme(server), host, strconv.FormatUint(port, 10)))
		}
	}
	return urls
}

// Scheme is the scheme of a server's URLs.
func Scheme(server *caddyhttp.Server) string {
	if len(server.TLSConnPolicies) > 0 {
		return "https"
	}
	return "http"
}

// hostURL is a URL with its port left out where it is the app's own for the
// scheme.
func hostURL(h *caddyhttp.App, scheme, host, port string) url.URL {
	own := cmp.Or(h.HTTPPort, caddyhttp.DefaultHTTPPort)
	if scheme == "https" {
		own = cmp.Or(h.HTTPSPort, caddyhttp.DefaultHTTPSPort)
	}
	if port != "" && port != strconv.Itoa(own) {
		host = net.JoinHostPort(host, port)
	}
	return url.URL{Scheme: scheme, Host: host}
}

// MatchesHost reports whether a host, as Hostname returns it, may match one of the
// patterns, as MatchHost of Caddy does: * is any label. A pattern with a placeholder
// that only a request has may match every host.
func MatchesHost(patterns []string, host string) bool {
	labels := strings.Split(host, ".")
	return slices.ContainsFunc(patterns, func(p string) bool {
		return strings.Contains(p, "{") || slices.EqualFunc(strings.Split(Hostname(p), "."), labels, func(want, label string) bool {
			return want == "*" || want == label
		})
	})
}

// HostsOf returns the hosts that a route is narrowed to, nil for none.
func HostsOf(route caddyhttp.Route) (hosts []string) {
	for _, set := range route.MatcherSets {
		before := len(hosts)
		for _, m := range set {
			switch h := m.(type) {
			case *caddyhttp.MatchHost:
				hosts = append(hosts, *h...)
			case caddyhttp.MatchHost:
				hosts = append(hosts, h...)
			}
		}
		if len(hosts) == before { // a set that takes every host
			return nil
		}
	}
	for i, host := range hosts { // {env.DOCS_HOST}
		hosts[i] = caddy.NewReplacer().ReplaceKnown(host, "")
	}
	return hosts
}

// ServesPages reports whether some of a server's routes have a handler that may
// answer with pages at a host, which is "" for any.
func ServesPages(server *caddyhttp.Server, routes caddyhttp.RouteList, host string) bool {
	serves, _ := pagesAt(server, routes, host, false, nil)
	return serves
}

// pagesAt is ServesPages. named reports that such a handler is in a route for the
// host, or that the routes are. invoked are the named routes that lead to them.
func pagesAt(server *caddyhttp.Server, routes caddyhttp.RouteList, host string, within bool, invoked []string) (serves, named bool) {
	for _, route := range routes {
		hosts := HostsOf(route)
		if hosts != nil && host != "" && !MatchesHost(hosts, host) {
			continue
		}
		for _, handler := range route.Handlers {
			within := within || hosts != nil
			inner, innerNamed := false, false
			switch h := handler.(type) {
			case *caddyhttp.Subroute:
				inner, innerNamed = pagesAt(server, h.Routes, host, within, invoked)
			case *caddyhttp.Invoke:
				if r := server.NamedRoutes[h.Name]; r != nil && !slices.Contains(invoked, h.Name) {
					inner, innerNamed = pagesAt(server, caddyhttp.RouteList{*r}, host, within, append(slices.Clip(invoked), h.Name))
				}
			default:
				name := caddy.GetModuleName(h)
				inner = !servesNone[name] && !strings.HasPrefix(name, "docs_")
				innerNamed = inner && within
			}
			serves, named = serves || inner, named || innerNamed
		}
	}
	return serves, named
}

// servesNone are the handlers that never answer with a page: others may, those
// of other plugins too.
var servesNone = map[string]bool{
	"acme_server": true, "authentication": true, "copy_response_headers": true, "encode": true, "error": true, "headers": true,
	"intercept": true, "log_append": true, "map": true, "metrics": true, "push": true, "rate_limit": true, "request_body": true,
	"rewrite": true, "static_response": true, "templates": true, "tracing": true, "vars": true,
}

// Hostname is the value of a Host header without a port, as clients send it and
// Caddy's matchers have it: in ASCII and lower case.
func Hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.String()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	if ascii, err := idna.ToASCII(host); err == nil { // with an underscore or a wildcard
		return ascii
	}
	return host
}

// HostHeader is a Host header with the Hostname of a host and its port.
func HostHeader(host string) string {
	name := Hostname(host)
	if _, port, err := net.SplitHostPort(host); err == nil {
		return net.JoinHostPort(name, port)
	}
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}
