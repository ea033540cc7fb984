package app

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// group is what makes a site a group of others.
type group struct {
	*options.Group
	app *App
	// shared has the sites of the group by the newest configuration, for the
	// group's index.
	shared *site.Newest[func() []*site.Site]
	found  atomic.Pointer[foundMembers]
}

// foundMembers are the sites of a group among those of a registry.
type foundMembers struct {
	among *map[string]*live
	sites []*site.Site
	gates []reach.Member
}

// members returns the sites of the group now, in the order of their names.
func (g *group) members() *foundMembers {
	among := g.app.byName.Load()
	if among == nil {
		return new(foundMembers)
	}
	if f := g.found.Load(); f != nil && f.among == among {
		return f
	}
	f := &foundMembers{among: among}
	for _, r := range g.of(*among) {
		f.sites, f.gates = append(f.sites, r.Site), append(f.gates, reach.Member{Name: r.Name, Gate: r.Reach})
	}
	g.found.Store(f)
	return f
}

// of returns those of some sites that are the group's.
func (g *group) of(sites map[string]*live) (members []*live) {
	for _, r := range sorted(sites) {
		named := slices.ContainsFunc(g.Sites, func(pattern string) bool {
			ok, _ := path.Match(pattern, r.Name) // was checked
			return ok
		})
		if r.group == nil && (named || len(g.Sites) == 0 && r.Organization == g.Site.Organization) {
			members = append(members, r)
		}
	}
	return members
}

// checkGroups returns errors for sites of groups that are not defined. Those of folders
// may come later.
func (a *App) checkGroups(sites map[string]*live) error {
	var errs []error
	for _, r := range sorted(sites) {
		if r.group == nil {
			continue
		}
		defined := strings.Join(slices.DeleteFunc(slices.Sorted(maps.Keys(sites)), func(name string) bool { return sites[name].group != nil }), ", ")
		for _, pattern := range r.group.Sites {
			if other := sites[pattern]; other != nil && other.group != nil {
				errs = append(errs, fmt.Errorf("group %s: %s is itself a group; a group can only contain sites", r.Name, pattern))
				continue
			}
			one := &group{Group: &options.Group{Sites: []string{pattern}}}
			if len(one.of(sites)) == 0 && len(a.SiteFolders) == 0 {
				errs = append(errs, fmt.Errorf("group %s: there is no site %s; the defined sites are: %s", r.Name, pattern, defined))
			}
		}
		if len(r.group.Sites) == 0 && len(r.group.of(sites)) == 0 && len(a.SiteFolders) == 0 {
			errs = append(errs, fmt.Errorf("group %s: no site has organization %s; the defined sites are: %s", r.Name, r.group.Site.Organization, defined))
		}
	}
	return errors.Join(errs...)
}
