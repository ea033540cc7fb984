package reach

import (
	"cmp"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// ServerFor returns the server that serves pages at the host of a site's URL,
// nil if this Caddy has none: the one that listens at the URL, else one that has
// the host in its routes, since a proxy in front of it may change the port and
// the scheme.
func ServerFor(h *caddyhttp.App, u *url.URL) (found *caddyhttp.Server) {
	if h == nil || u.Host == "" {
		return nil
	}
	want := hostURL(h, u.Scheme, u.Hostname(), u.Port())
	best := 0
	for _, name := range slices.Sorted(maps.Keys(h.Servers)) {
		server := h.Servers[name]
		hosts := topHosts(server.Routes)
		named := MatchesHost(hosts, u.Hostname())
		if hosts != nil && !named || !ServesPages(server, server.Routes, u.Hostname()) {
			continue
		}
		match := 0
		switch {
		case slices.ContainsFunc(URLs(h, server, u.Hostname()), func(at url.URL) bool {
			return at == want || at.Scheme == want.Scheme && at.Port() == "0"
		}):
			match = 3
			if named {
				match = 4
			}
		case named && scheme(server) == want.Scheme:
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
			urls = append(urls, hostURL(h, scheme(server), host, ""))
		}
		for port := uint64(a.StartPort); port <= uint64(a.EndPort); port++ {
			urls = append(urls, hostURL(h, scheme(server), host, strconv.FormatUint(port, 10)))
		}
	}
	return urls
}

// scheme is the scheme of a server's URLs.
func scheme(server *caddyhttp.Server) string {
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

// topHosts are the hosts of a server's routes, nil if one takes every host.
func topHosts(routes caddyhttp.RouteList) []string {
	var hosts []string
	for _, route := range routes {
		own := HostsOf(route)
		if own == nil {
			return nil
		}
		hosts = append(hosts, own...)
	}
	return hosts
}

// MatchesHost reports whether a host is among patterns like *.example.com.
func MatchesHost(patterns []string, host string) bool {
	_, parent, _ := strings.Cut(host, ".")
	return slices.ContainsFunc(patterns, func(p string) bool {
		return strings.EqualFold(p, host) || parent != "" && strings.EqualFold(p, "*."+parent)
	})
}

// HostsOf returns the hosts that a route is narrowed to, nil for none.
func HostsOf(route caddyhttp.Route) (hosts []string) {
	for _, set := range route.MatcherSets {
		for _, m := range set {
			switch h := m.(type) {
			case *caddyhttp.MatchHost:
				hosts = append(hosts, *h...)
			case caddyhttp.MatchHost:
				hosts = append(hosts, h...)
			}
		}
	}
	for i, host := range hosts { // {env.DOCS_HOST}
		hosts[i] = caddy.NewReplacer().ReplaceKnown(host, "")
	}
	return hosts
}

// ServesPages reports whether some of a server's routes have a handler that may
// answer with pages at a host, which is "" for any. invoked are the named routes
// that lead to them.
func ServesPages(server *caddyhttp.Server, routes caddyhttp.RouteList, host string, invoked ...string) bool {
	for _, route := range routes {
		if hosts := HostsOf(route); hosts != nil && host != "" && !MatchesHost(hosts, host) {
			continue
		}
		for _, handler := range route.Handlers {
			switch h := handler.(type) {
			case *caddyhttp.Subroute:
				if ServesPages(server, h.Routes, host, invoked...) {
					return true
				}
			case *caddyhttp.Invoke:
				if r := server.NamedRoutes[h.Name]; r != nil && !slices.Contains(invoked, h.Name) &&
					ServesPages(server, caddyhttp.RouteList{*r}, host, append(slices.Clip(invoked), h.Name)...) {
					return true
				}
			default:
				if name := caddy.GetModuleName(h); !servesNone[name] && !strings.HasPrefix(name, "docs_") {
					return true
				}
			}
		}
	}
	return false
}

// servesNone are the handlers that never answer with a page: others may, those
// of other plugins too.
var servesNone = map[string]bool{
	"acme_server": true, "authentication": true, "copy_response_headers": true, "encode": true, "error": true, "headers": true,
	"intercept": true, "log_append": true, "map": true, "metrics": true, "push": true, "rate_limit": true, "request_body": true,
	"rewrite": true, "static_response": true, "templates": true, "tracing": true, "vars": true,
}
