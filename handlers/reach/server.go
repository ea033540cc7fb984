package reach

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// serverFor returns the server that serves the host of a site's URL, nil if
// this Caddy serves it nowhere.
func serverFor(h *caddyhttp.App, u *url.URL) *caddyhttp.Server {
	if h == nil || u.Host == "" {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = strconv.Itoa(cmp.Or(h.HTTPPort, caddyhttp.DefaultHTTPPort))
		if u.Scheme == "https" {
			port = strconv.Itoa(cmp.Or(h.HTTPSPort, caddyhttp.DefaultHTTPSPort))
		}
	}
	var found *caddyhttp.Server
	for _, name := range slices.Sorted(maps.Keys(h.Servers)) {
		server := h.Servers[name]
		if (len(server.TLSConnPolicies) > 0) != (u.Scheme == "https") || !listensOn(server, port) {
			continue
		}
		hosts := topHosts(server.Routes)
		if MatchesHost(hosts, u.Hostname()) {
			return server
		}
		if hosts == nil {
			found = server // takes every host
		}
	}
	return found
}

// listensOn reports whether a server listens on a port. A server on port 0
// listens on any.
func listensOn(server *caddyhttp.Server, port string) bool {
	for _, listen := range server.Listen {
		a, err := caddy.ParseNetworkAddress(listen)
		if err != nil {
			continue
		}
		for p := a.StartPort; p <= a.EndPort; p++ {
			if p == 0 || strconv.FormatUint(uint64(p), 10) == port {
				return true
			}
		}
	}
	return false
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
	for _, p := range patterns {
		if strings.EqualFold(p, host) || parent != "" && strings.EqualFold(p, "*."+parent) {
			return true
		}
	}
	return false
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
	return hosts
}
