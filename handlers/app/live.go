package app

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/caddy-docs/caddy-docs/handlers/hosting"
	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// live is a site of a configuration, and what the app knows of it.
type live struct {
	*site.Site

	at     *place   // the route that defines the site, nil for none
	also   []place  // other routes that do, if the operator wrote no URL
	folder *folders // that the site's folder is of, nil for none
	group  *group   // what the site is, if it is a group

	// holds is released, and ctx ends, when the site is closed.
	holds  holder
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup

	// hidden says why the API could not be reached after the start, nil if it
	// could.
	hidden atomic.Pointer[string]
}

// goBackground runs f until the site is closed.
func (r *live) goBackground(f func(context.Context)) {
	r.wait.Go(func() { f(r.ctx) })
}

// close ends what the site runs, and releases what it holds. Replies in
// progress go on.
func (r *live) close() error {
	if r.cancel == nil {
		return nil // never opened
	}
	r.cancel()
	r.wait.Wait()
	return r.holds.release()
}

// registry has the sites of a configuration that requests are answered for.
type registry struct {
	changing sync.Mutex
	byName   atomic.Pointer[map[string]*live] // nil before Start; the map never changes
}

// sites returns the sites by name, for reading.
func (g *registry) sites() map[string]*live {
	if sites := g.byName.Load(); sites != nil {
		return *sites
	}
	return nil
}

// change applies f to a copy of the sites, which then replaces them.
func (g *registry) change(f func(sites map[string]*live)) {
	g.changing.Lock()
	defer g.changing.Unlock()
	sites := maps.Clone(g.sites())
	f(sites)
	g.byName.Store(&sites)
}

// sorted returns sites in the order of their names.
func sorted(sites map[string]*live) []*live {
	return slices.SortedFunc(maps.Values(sites), func(x, y *live) int { return strings.Compare(x.Name, y.Name) })
}

// all returns the sites in the order of their names, none before the start.
func (g *registry) all() []*live { return sorted(g.sites()) }

// All returns the sites in the order of their names, none before the start.
func (g *registry) All() (sites []*site.Site) {
	for _, r := range g.all() {
		sites = append(sites, r.Site)
	}
	return sites
}

// Site returns a site, nil if there is none of that name or the app has not
// started.
func (g *registry) Site(name string) *site.Site {
	if r := g.get(name); r != nil {
		return r.Site
	}
	return nil
}

func (g *registry) get(name string) *live { return g.sites()[name] }

// at returns the sites whose URL has a host, or else the groups.
func (g *registry) at(host string) (sites []*live) {
	host = hosting.Hostname(host)
	var groups []*live
	for _, r := range g.sites() {
		switch {
		case r.Host != host:
		case r.group != nil:
			groups = append(groups, r)
		default:
			sites = append(sites, r)
		}
	}
	if len(sites) == 0 {
		return groups
	}
	return sites
}

// ServesAt reports whether a route that names no sites serves one at a host:
// it serves the sites whose URL has that host, or all if there are none.
func (g *registry) ServesAt(name, host string) bool {
	r, there := g.get(name), g.at(host)
	return r != nil && (len(there) == 0 || slices.Contains(there, r))
}

// SiteAt returns the only site whose URL has a host, nil if there are several
// or none.
func (g *registry) SiteAt(host string) *site.Site {
	if there := g.at(host); len(there) == 1 {
		return there[0].Site
	}
	return nil
}

// Served returns the sites that a route serves at a host: those that it names,
// else see ServesAt. They are in the order of their names, groups after the others,
// whose pages are there.
func (g *registry) Served(names []string, host string) (sites []*site.Site) {
	there := g.at(host)
	if len(there) == 0 || len(names) > 0 {
		there = g.all()
	}
	for _, r := range there {
		if len(names) == 0 || slices.Contains(names, r.Name) {
			sites = append(sites, r.Site)
		}
	}
	slices.SortFunc(sites, func(x, y *site.Site) int {
		switch group := x.Members != nil; {
		case group == (y.Members != nil):
			return strings.Compare(x.Name, y.Name)
		case group:
			return 1
		default:
			return -1
		}
	})
	return sites
}
