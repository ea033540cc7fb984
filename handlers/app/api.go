package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/fileserver"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"

	"github.com/caddy-docs/caddy-docs/handlers/hosting"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
)

// serves reports whether the route of an API serves a site.
func (p *place) serves(r *live) bool {
	return slices.Contains(p.sites, r.Name) || len(p.sites) == 0 && (r.Host == "" || p.takesHost(r.Host))
}

// takesHost reports whether the place is at a host.
func (p *place) takesHost(host string) bool {
	return len(p.hosts) == 0 || hosting.MatchesHost(p.hosts, host)
}

// ServesAPI reports whether a route of a server names a site and takes the host.
// It is for use after AwaitStart.
func (a *App) ServesAPI(server *caddyhttp.Server, host, site string) bool {
	return slices.ContainsFunc(a.found.apis, func(p *place) bool {
		return p.server == server && p.takesHost(host) && slices.Contains(p.sites, site)
	})
}

// MCP returns the URL of a site's MCP server that wants no key: its path alone if
// the host is not known, "" if there is none. It is for use after AwaitStart.
func (a *App) MCP(site string) string {
	r := a.get(site)
	if r == nil {
		return ""
	}
	for _, p := range a.found.mcps {
		switch base := p.base(a.found.http, r); {
		case !p.serves(r):
		case strings.HasPrefix(r.Prefix+"/", p.prefix+"/"):
			return strings.TrimSuffix(base, p.prefix) + r.Prefix + "/mcp"
		default: // the route does not see the site's own paths
			return base + "/v1/mcp/" + site
		}
	}
	return ""
}

// base is the URL that the API of a site is below at this route, without a
// host if none is known.
func (p *place) base(h *caddyhttp.App, r *live) string {
	if u, err := url.Parse(r.Config.URL); err == nil && u.Host != "" && p.takesHost(hosting.Hostname(u.Host)) {
		return u.Scheme + "://" + u.Host + p.prefix
	}
	return p.url(h) + p.prefix
}

// apiRoutes are the routes that serve a site.
func (f *routeSites) apiRoutes(r *live) (routes []*place) {
	for _, p := range f.apis {
		if p.serves(r) {
			routes = append(routes, p)
		}
	}
	if len(routes) > 0 {
		return routes
	}
	for _, p := range f.apis { // ServesAt, where no site has the host
		if len(p.sites) == 0 {
			routes = append(routes, p)
		}
	}
	return routes
}

// api is the URL that the site's API is below, a path if the host is not
// known. ok is false if no route serves it.
func (f *routeSites) api(r *live) (base string, ok bool) {
	routes := f.apiRoutes(r)
	if len(routes) == 0 {
		return "", false
	}
	return routes[0].base(f.http, r), true
}

// hiddenError is the error for an API that requests don't reach.
type hiddenError struct{ found, do string }

func (e *hiddenError) Error() string { return e.found }

// checkAPI asks for the site's API, in the process and without a key, and
// returns the URL that it is below. The error is a *hiddenError if something
// else answers.
func (f *routeSites) checkAPI(ctx context.Context, inside *reach.Routes, r *live) (base string, err error) {
	routes := f.apiRoutes(r)
	if len(routes) == 0 {
		return "", &hiddenError{
			"no route serves it",
			fmt.Sprintf("write in a site block: search %s, and: assistant %s", r.Name, r.Name),
		}
	}
	problems := make(map[string]error) // by the part's path
	for _, p := range routes {
		path := p.prefix + fmt.Sprintf(p.path, r.Name)
		if err, asked := problems[p.path]; asked && err == nil {
			continue // reached by another route
		}
		host := p.requestHost(r)
		reached, status, to, err := inside.Post(ctx, p.server, host, path)
		if swallows(to, host, path) && to.Hostname() != hosting.Hostname(host) && p.takesHost(to.Hostname()) { // such as www
			reached, status, to, err = inside.Post(ctx, p.server, to.Host, path)
		}
		switch {
		case err != nil:
			problems[p.path] = fmt.Errorf("POST %s: %w", path, err)
		case !reached && swallows(to, host, path):
			problems[p.path] = &hiddenError{
				fmt.Sprintf("POST %s does not reach it: a redirect to %s answers first", path, to),
				"exclude /v1/* and /v2/* from the redirect: redir runs before docs",
			}
		case reached, status == http.StatusUnauthorized, status == http.StatusForbidden, status >= 300 && status < 400, status < 0: // or a login
			problems[p.path] = nil
			base = cmp.Or(base, p.base(f.http, r))
		case problems[p.path] == nil:
			problems[p.path] = p.explain(ctx, r, host, path, status)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(problems)) {
		if err := problems[path]; err != nil {
			return "", err
		}
	}
	return base, nil
}

// swallows reports whether a redirect sends requests for a path of the API to
// another host or path and keeps what they ask for, as no login does. One that
// changes only the scheme or the port is answered by a proxy in front.
func swallows(to *url.URL, host, path string) bool {
	return to != nil && strings.HasSuffix(strings.TrimSuffix(to.Path, "/"), path) &&
		(to.Path != path || to.Hostname() != hosting.Hostname(host))
}

// requestHost is the host of a request for a site's API.
func (p *place) requestHost(r *live) string {
	if u, err := url.Parse(r.Config.URL); err == nil && u.Host != "" && p.takesHost(hosting.Hostname(u.Host)) {
		return u.Host
	}
	return cmp.Or(p.sample(), "localhost")
}

// explain finds the route that keeps a request from the API.
func (p *place) explain(ctx context.Context, r *live, host, path string, status int) *hiddenError {
	e := &hiddenError{found: fmt.Sprintf("POST %s does not reach it: ", path), do: "put the directive where no other route answers before it"}
	request := reach.Prepared(ctx, p.server, host, path)
	for _, routes := range p.trail {
		last := len(routes) - 1
		around := routes[last]
		for _, before := range routes[:last] {
			if matches, err := before.MatcherSets.AnyMatchWithError(request); err != nil || !matches {
				continue
			}
			name := answers(before)
			if name == "" && (before.Group == "" || before.Group != around.Group) {
				strip(before, request)
				continue
			}
			e.found += cmp.Or(name, "another block") + describe(before) + " answers first"
			e.do = fmt.Sprintf("write the directive for site %s before it: within route, and for handle, the order in the file counts", r.Name)
			return e
		}
		if matches, err := around.MatcherSets.AnyMatchWithError(request); err == nil && !matches {
			e.found += "the block" + describe(around) + " around the directive does not match it"
			e.do = fmt.Sprintf("move the directive for site %s out of that block, to the top level of the site block", r.Name)
			if r.Config.Root != "" {
				e.do += fmt.Sprintf(", with its folder: docs %s %s", r.Name, r.Config.Root)
			}
			return e
		}
	}
	if status == 0 {
		e.found += "no handler responds"
	} else {
		e.found += fmt.Sprintf("the response is %d %s", status, http.StatusText(status))
	}
	return e
}

// strip removes a prefix from the path as the route does.
func strip(route caddyhttp.Route, r *http.Request) {
	for _, h := range route.Handlers {
		if h, ok := h.(*rewrite.Rewrite); ok {
			r.URL.Path = strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(h.StripPathPrefix, "/"))
		}
	}
}

// answers names the handler of a route that answers every request, "" if the
// route has none.
func answers(route caddyhttp.Route) string {
	for _, handler := range route.Handlers {
		switch h := handler.(type) {
		case *caddyhttp.Subroute:
			for _, inner := range h.Routes {
				if name := answers(inner); name != "" && len(inner.MatcherSets) == 0 {
					return name
				}
			}
		case *fileserver.FileServer:
			if !h.PassThru {
				return "file_server"
			}
		case *reverseproxy.Handler, *caddyhttp.StaticResponse, *caddyhttp.StaticError:
			return caddy.GetModuleName(h)
		}
	}
	if route.Terminal {
		return "a terminal route"
	}
	return ""
}

// describe names what a route is narrowed to: " for /docs/*".
func describe(route caddyhttp.Route) string {
	var parts []string
	for _, set := range route.MatcherSets {
		for _, m := range set {
			switch m := m.(type) {
			case *caddyhttp.MatchPath:
				parts = append(parts, *m...)
			case caddyhttp.MatchPath:
				parts = append(parts, m...)
			case *caddyhttp.MatchHost, caddyhttp.MatchHost: // below
			default:
				parts = append(parts, "the matcher "+strings.TrimPrefix(caddy.GetModuleID(m), "http.matchers."))
			}
		}
	}
	parts = append(parts, hosting.HostsOf(route)...)
	if len(parts) == 0 {
		return ""
	}
	return " for " + strings.Join(parts, ", ")
}

// WhatToDo returns what an error of CheckAPI says to do.
func WhatToDo(err error) string {
	if hidden, ok := errors.AsType[*hiddenError](err); ok {
		return hidden.do
	}
	return "see the error"
}
