package app

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/fileserver"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/handlers/hosting"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// FindSites finds the sites of the configuration and those that routes define,
// for commands that work without Start.
func (a *App) FindSites() error {
	sites, err := a.resolve()
	if err == nil {
		a.byName.Store(&sites)
	}
	return err
}

// resolve returns the sites of the configuration and those that routes
// define, with what those left out: root and url.
func (a *App) resolve() (map[string]*live, error) {
	found, err := findRoutes(a.ctx)
	if err != nil {
		return nil, err
	}
	sites := a.configured()
	var errs []error
	for name, d := range found.defined {
		if sites[name] != nil {
			errs = append(errs, fmt.Errorf("site %s is defined twice, by the app docs and by %s; give one of them another name, or serve the app's site there (directives assistant and search)", name, &d.place))
			continue
		}
		s := *d.Site
		if s.Root == "" && s.Sitemap == "" && !s.HasPages() && (len(d.roots) > 0 || len(s.AllSources()) == 0) {
			if s.Root, err = d.root(); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		// A public sitemap says where its pages are.
		var also []place
		if s.URL == "" {
			also = d.others()
		}
		if s.URL == "" && (s.Sitemap == "" || s.AllowPrivate) {
			if s.URL = d.url(found.http); s.URL != "" {
				s.URL += d.pages
			}
		}
		sites[name] = &live{Site: site.New(name, &s, &a.shared), at: &d.place, also: also}
		sites[name].Hosts, sites[name].Routed = d.hosts, true
	}
	for _, f := range a.folders {
		f.find(sites)
	}
	unknown := func(who, name string) {
		switch {
		case sites[name] != nil || found.defined[name] != nil:
		case len(a.SiteFolders) > 0:
			a.log.Warn("a site has no folder yet", zap.String("site", name), zap.String("named_by", who))
		default:
			errs = append(errs, fmt.Errorf("%s names the site %s, which is not defined; the defined sites are: %s",
				who, name, cmp.Or(strings.Join(slices.Sorted(maps.Keys(sites)), ", "), "none")))
		}
	}
	if len(found.defined)+len(sites)+len(a.SiteFolders) == 0 && found.all != nil {
		errs = append(errs, fmt.Errorf("%s serves all sites, but none is defined; write there: docs NAME, or in the global option docs: site NAME { root /path/to/docs }", found.all))
	}
	for name, at := range found.named {
		unknown(at.String(), name)
		if r := sites[name]; r != nil {
			r.Hosts = union(r.Hosts, at.hosts)
		}
	}
	for _, r := range sites {
		if found.all != nil && r.Host == "" && len(r.Hosts) == 0 {
			r.Hosts = found.all.hosts
		}
	}
	for i, k := range a.Keys {
		for _, name := range k.Sites {
			unknown(fmt.Sprintf("key %d", i+1), name)
		}
	}
	errs = append(errs, a.checkGroups(sites))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	a.found = found
	return sites, a.fixKeys(sites)
}

// place is a route of the HTTP app that has a site's handler or a file server.
type place struct {
	server *caddyhttp.Server
	hosts  []string
	roots  []string // the folders that are served around the route
	// prefix is the path that is stripped before the route, and pages what of
	// it is also stripped from the URLs of pages.
	prefix, pages string
	// trail are the lists of routes that lead to it, from the server's on, each
	// up to the route that leads on.
	trail []caddyhttp.RouteList

	sites  []string // that the handler names; empty: those at the request's host
	path   string   // of the part of the API that it serves, with %s for the site
	openTo string   // of a dashboard
}

func (p *place) String() string {
	return "a route of " + cmp.Or(strings.Join(p.hosts, ", "), strings.Join(p.server.Listen, ", "))
}

// definedSite is a site that routes define.
type definedSite struct {
	*options.Definition
	place
	// places are all that define it.
	places []place
}

// routeSites are the sites that the routes of the HTTP app define and name.
type routeSites struct {
	http    *caddyhttp.App
	defined map[string]*definedSite
	named   map[string]place
	all     *place // serves all sites, nil for none
	apis    []*place
	folders []*place // where file servers are
	// dashboards are the routes of docs_dashboard, and mcps those of MCP servers
	// that want no key.
	dashboards, mcps []*place
	errs             []error
}

// findRoutes walks the routes of all servers. It works on the provisioned
// routes and so for Caddyfile and JSON alike; the Caddyfile adapter's shared
// state can't be used for roots: at the top level of a block it can hold
// another block's.
func findRoutes(ctx caddy.Context) (*routeSites, error) {
	found := &routeSites{defined: make(map[string]*definedSite), named: make(map[string]place)}
	loaded, err := ctx.AppIfConfigured("http")
	if errors.Is(err, caddy.ErrNotConfigured) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	found.http = loaded.(*caddyhttp.App)
	for _, name := range slices.Sorted(maps.Keys(found.http.Servers)) {
		server := found.http.Servers[name]
		found.walk(server.Routes, place{server: server}, nil)
		if server.Errors != nil {
			found.walk(server.Errors.Routes, place{server: server}, nil)
		}
	}
	return found, errors.Join(found.errs...)
}

// walk visits a list of routes that serves the roots of at, unless it sets
// its own. invoked are the named routes that lead to it.
func (f *routeSites) walk(routes caddyhttp.RouteList, at place, invoked []string) {
	// A list's roots count for all its routes, also for those before: in
	// Caddyfile order root comes first, in JSON it may not.
	if own := roots(routes); len(own) > 0 {
		at.roots = own
	}
	for i, route := range routes {
		here := at
		here.trail = append(slices.Clip(at.trail), routes[:i+1])
		if hosts := hosting.HostsOf(route); hosts != nil {
			here.hosts = hosts
		}
		for _, handler := range route.Handlers {
			switch h := handler.(type) {
			case *rewrite.Rewrite:
				strip := strings.TrimSuffix(h.StripPathPrefix, "/")
				if strip == "" || strings.Contains(strip, "{") {
					break
				}
				if !strings.HasPrefix(strip, "/") {
					strip = "/" + strip
				}
				pages := here.pages
				if hosting.ServesPages(at.server, routes[i:], "") {
					pages += strip
				}
				here.prefix, here.pages = here.prefix+strip, pages
				at.prefix, at.pages = here.prefix, here.pages // for the routes behind
			case *caddyhttp.Subroute:
				f.walk(h.Routes, here, invoked)
				if h.Errors != nil {
					f.walk(h.Errors.Routes, here, invoked)
				}
			case *fileserver.FileServer:
				f.folders = append(f.folders, &here)
			case *caddyhttp.Invoke:
				if r := here.server.NamedRoutes[h.Name]; r != nil && !slices.Contains(invoked, h.Name) {
					f.walk(caddyhttp.RouteList{*r}, here, append(slices.Clip(invoked), h.Name))
				}
			default:
				named := here
				naming, names := handler.(interface{ NamedSites() []string })
				if names {
					named.sites = naming.NamedSites()
					named.path = map[string]string{"docs_search": "/v1/search/%s", "docs_assistant": "/v2/assistant/%s/message"}[caddy.GetModuleName(h)]
				}
				if m, ok := handler.(interface{ WantsKey() bool }); ok && !m.WantsKey() {
					f.mcps = append(f.mcps, &named)
				}
				if d, ok := handler.(interface{ DefinedSite() *options.Definition }); ok && d.DefinedSite() != nil {
					f.define(d.DefinedSite(), here)
				} else if names {
					f.name(named)
					if d, ok := handler.(interface{ OpenTo() string }); ok {
						named.openTo = d.OpenTo()
						f.dashboards = append(f.dashboards, &named)
					}
					if named.path != "" {
						f.apis = append(f.apis, &named)
					}
				}
			}
		}
	}
}

// name notes the sites that a route names, all if there are none.
func (f *routeSites) name(at place) {
	if len(at.sites) == 0 && f.all == nil {
		f.all = &at
	} else if len(at.sites) == 0 {
		f.all.hosts = union(f.all.hosts, at.hosts)
	}
	for _, name := range at.sites {
		known, ok := f.named[name]
		if !ok {
			known = at
		}
		known.hosts = union(known.hosts, at.hosts)
		f.named[name] = known
	}
}

// define notes a site. Several routes may define the same one, such as a
// snippet that is imported into two blocks.
func (f *routeSites) define(d *options.Definition, at place) {
	old := f.defined[d.Name]
	switch {
	case old == nil:
		f.defined[d.Name] = &definedSite{d, at, []place{at}}
		return
	case !reflect.DeepEqual(old.Site, d.Site):
		f.errs = append(f.errs, fmt.Errorf("site %s is defined twice and differently, by %s and by %s; give one of them another name", d.Name, &old.place, &at))
		return
	}
	roots, hosts := old.roots, old.hosts
	if !old.places[0].servesPages() && at.servesPages() { // which says where the pages are
		old.places, old.place = slices.Insert(old.places, 0, at), at
	} else {
		old.places = append(old.places, at)
	}
	old.roots = union(old.places[0].roots, union(roots, at.roots))
	old.hosts = union(old.places[0].hosts, union(hosts, at.hosts))
}

// servesPages reports whether pages may be served at the place, not the API alone.
func (p *place) servesPages() bool {
	return hosting.ServesPages(p.server, p.server.Routes, p.sample())
}

// union returns the values of both lists, each once.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// roots are the folders that a list of routes serves: the variable "root"
// (the root directive), else the roots of its file servers.
func roots(routes caddyhttp.RouteList) (vars []string) {
	var servers []string
	for _, route := range routes {
		for _, handler := range route.Handlers {
			switch h := handler.(type) {
			case *caddyhttp.VarsMiddleware:
				if root, _ := (*h)["root"].(string); root != "" {
					vars = union(vars, []string{root})
				}
			case *fileserver.FileServer:
				if h.Root != "" && h.Root != "{http.vars.root}" {
					servers = union(servers, []string{h.Root})
				}
			}
		}
	}
	if len(vars) > 0 {
		return vars
	}
	return servers
}

// others are the places after the first that serve the same pages at other hosts.
// A block for the same hosts is usually that for another scheme.
func (d *definedSite) others() (others []place) {
	first := d.places[0]
	for _, p := range d.places[1:] {
		hosts := slices.DeleteFunc(slices.Clone(p.hosts), func(host string) bool { return slices.Contains(first.hosts, host) })
		if len(p.hosts) > 0 && len(hosts) == 0 || len(p.hosts)+len(first.hosts) == 0 || !slices.Equal(p.roots, first.roots) {
			continue
		}
		p.hosts = hosts
		if p.servesPages() {
			others = append(others, p)
		}
	}
	return others
}

// root is the one constant folder of the places that define a site, or an
// error that says what to write.
func (d *definedSite) root() (string, error) {
	p, site := d.place, d.Name
	write := fmt.Sprintf("write the folder: docs %s /path/to/docs", site)
	switch {
	case len(p.roots) > 1 && len(d.places) > 1:
		var where []string
		for _, at := range d.places {
			where = append(where, fmt.Sprintf("%s has %s", &at, cmp.Or(strings.Join(at.roots, ", "), "none")))
		}
		return "", fmt.Errorf("docs %s: is in several blocks with different roots: %s; give the sites different names, or %s",
			site, strings.Join(where, "; "), write)
	case len(p.roots) == 0:
		return "", fmt.Errorf("docs %s: no root is set; %s", site, write)
	case len(p.roots) > 1:
		return "", fmt.Errorf("docs %s: several roots are set (%s); %s", site, strings.Join(p.roots, ", "), write)
	case strings.Contains(p.roots[0], "{"):
		return "", fmt.Errorf("docs %s: the root has a placeholder (%s) that depends on the request; %s", site, p.roots[0], write)
	}
	return p.roots[0], nil
}

// host is the first constant host of a place, "" for none.
func (p *place) host() string {
	for _, host := range p.hosts {
		if !strings.ContainsAny(host, "*{") {
			return host
		}
	}
	return ""
}

// sample is a host of the place for requests inside the process: the first
// constant one, else one of a wildcard's; "" if there is none.
func (p *place) sample() string {
	if host := p.host(); host != "" {
		return host
	}
	for _, host := range p.hosts {
		if parent, ok := strings.CutPrefix(host, "*."); ok && !strings.ContainsAny(parent, "*{") {
			return "docs." + parent
		}
	}
	return ""
}

// url is the URL of the first host that is served there, "" if there is none
// that is constant or the port is not known before the server starts.
func (p *place) url(h *caddyhttp.App) string {
	host := p.host()
	if host == "" {
		return ""
	}
	urls := hosting.URLs(h, p.server, host)
	if len(urls) == 0 || urls[0].Port() == "0" {
		return ""
	}
	return urls[0].String()
}

// below is url with the prefix of the route, "" if the host is not known.
func (p *place) below(h *caddyhttp.App) string {
	if u := p.url(h); u != "" {
		return u + p.prefix
	}
	return ""
}
