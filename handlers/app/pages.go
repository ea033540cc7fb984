package app

import (
	"net/url"
	"path/filepath"
	"slices"

	"github.com/caddy-docs/caddy-docs/handlers/reach"
)

// findPages finds where this Caddy serves the pages of a site, by its
// configuration alone: at its URL, if a server has that host, else where the
// site's folder is served, such as behind a proxy that sends another host, else
// in a block for any host that has the site's API. None: the site is served
// elsewhere.
func (f *routeSites) findPages(r *live, o *reach.Options) {
	u, err := url.Parse(r.Config.URL)
	known := err == nil && u.Host != ""
	if known && reach.ServerFor(o.HTTP, u) != nil {
		return // New finds it
	}
	serve := func(p *place) bool {
		if p == nil || p.server == nil || known && len(p.hosts) > 0 || !reach.ServesPages(p.server, p.sample()) {
			return false
		}
		o.Server, o.Prefix = p.server, p.pages
		if !known {
			o.Host = p.sample()
		}
		return true
	}
	if !known && serve(r.at) {
		return
	}
	if p := f.folderPlace(r); p != nil {
		o.Server, o.Host, o.Prefix = p.server, p.sample(), p.pages
		return
	}
	if serve(r.at) || slices.ContainsFunc(f.apiRoutes(r), serve) {
		return
	}
	o.Named = !known || r.at != nil && r.at.takesHost(u.Hostname()) && len(r.at.hosts) > 0
}

// folderPlace returns a place where a file server has the folder of a site:
// one at the hosts of its routes, if there is one; nil for none.
func (f *routeSites) folderPlace(r *live) (found *place) {
	roots := r.Config.Roots()
	named := func(host string) bool { return slices.Contains(r.Hosts, host) }
	for _, p := range f.folders {
		if !slices.ContainsFunc(p.roots, func(root string) bool {
			return slices.ContainsFunc(roots, func(own string) bool { return filepath.Clean(root) == filepath.Clean(own) })
		}) {
			continue
		}
		if found == nil || slices.ContainsFunc(p.hosts, named) && !slices.ContainsFunc(found.hosts, named) {
			found = p
		}
	}
	return found
}
