package app

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/fileserver"
)

// place is where in the HTTP app a site's route stands: the folders that are
// served around it, the hosts, and the server.
type place struct {
	roots  []string
	hosts  []string
	server *caddyhttp.Server
}

// definer is the handler that brings a site along (handlers.Guard).
type definer interface{ Defines() string }

// findPlaces walks the routes of all servers for the handlers that bring
// sites along. It works on the provisioned routes and so for Caddyfile and
// JSON alike; the Caddyfile adapter's shared state is no source for roots: at
// the top level of a block it can hold another block's.
func findPlaces(h *caddyhttp.App) map[string]*place {
	found := make(map[string]*place)
	for _, server := range h.Servers {
		walk(server.Routes, place{server: server}, found)
	}
	return found
}

// walk notes, in the order in which requests pass them, the roots that are
// set in each list of routes; a list inside one inherits what came before.
func walk(routes caddyhttp.RouteList, at place, found map[string]*place) {
	// A list's roots count for all its routes, also for those that stand
	// before: Caddyfile order puts root first, handwritten JSON may not.
	own := roots(routes)
	if len(own) > 0 {
		at.roots = own
	}
	for _, route := range routes {
		here := at
		if hosts := hostsOf(route); hosts != nil {
			here.hosts = hosts
		}
		for _, handler := range route.Handlers {
			switch h := handler.(type) {
			case *caddyhttp.Subroute:
				walk(h.Routes, here, found)
			case definer:
				name := h.Defines()
				if name == "" {
					continue
				}
				p := found[name]
				if p == nil {
					p = &place{server: here.server}
					found[name] = p
				}
				for _, root := range here.roots {
					if !slices.Contains(p.roots, root) {
						p.roots = append(p.roots, root)
					}
				}
				for _, host := range here.hosts {
					if !slices.Contains(p.hosts, host) {
						p.hosts = append(p.hosts, host)
					}
				}
			}
		}
	}
}

// roots are the folders that a list of routes serves: the variable "root"
// (the root directive), else the roots of its file servers.
func roots(routes caddyhttp.RouteList) (vars []string) {
	var servers []string
	add := func(to *[]string, root string) {
		if root != "" && !slices.Contains(*to, root) {
			*to = append(*to, root)
		}
	}
	for _, route := range routes {
		for _, handler := range route.Handlers {
			switch h := handler.(type) {
			case *caddyhttp.VarsMiddleware:
				if root, ok := (*h)["root"].(string); ok {
					add(&vars, root)
				}
			case *fileserver.FileServer:
				if h.Root != "{http.vars.root}" {
					add(&servers, h.Root)
				}
			}
		}
	}
	if len(vars) > 0 {
		return vars
	}
	return servers
}

func hostsOf(route caddyhttp.Route) (hosts []string) {
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

// root is the one constant folder of a place, or an error that says what to
// write.
func (p *place) root(site string) (string, error) {
	write := fmt.Sprintf("write the folder: docs %s /path/to/docs", site)
	switch {
	case p == nil || len(p.roots) == 0:
		return "", fmt.Errorf("no root is set where docs %s stands; %s", site, write)
	case len(p.roots) > 1:
		return "", fmt.Errorf("several roots are set where docs %s stands (%s); %s", site, strings.Join(p.roots, ", "), write)
	case strings.Contains(p.roots[0], "{"):
		return "", fmt.Errorf("the root where docs %s stands has a placeholder (%s), which is known only with a request; %s", site, p.roots[0], write)
	}
	return p.roots[0], nil
}

// url is the address of the first host that is served there, "" if there is
// none that is constant.
func (p *place) url(h *caddyhttp.App) string {
	if p == nil || p.server == nil {
		return ""
	}
	for _, host := range p.hosts {
		if strings.ContainsAny(host, "*{") {
			continue
		}
		scheme, port := "http", ""
		if len(p.server.TLSConnPolicies) > 0 {
			scheme = "https"
		}
		if len(p.server.Listen) > 0 {
			_, port, _ = net.SplitHostPort(p.server.Listen[0])
		}
		httpPort, httpsPort := 80, 443
		if h.HTTPPort != 0 {
			httpPort = h.HTTPPort
		}
		if h.HTTPSPort != 0 {
			httpsPort = h.HTTPSPort
		}
		switch {
		case port == "" || scheme == "http" && port == strconv.Itoa(httpPort) || scheme == "https" && port == strconv.Itoa(httpsPort):
			return scheme + "://" + host
		case port == "0":
			return "" // chosen by the system when the server starts
		}
		return scheme + "://" + net.JoinHostPort(host, port)
	}
	return ""
}
