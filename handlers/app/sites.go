package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
)

// Definition is a site that a handler in a route defines (directive docs).
// Start finds it there.
type Definition struct {
	Name string `json:"name"`
	Site *Site  `json:"site"`
}

// Provision resolves the site's placeholders and checks it. The root may be
// missing: Start takes it from the routes around the handler.
func (d *Definition) Provision() error {
	if d == nil {
		return nil
	}
	if d.Site == nil {
		d.Site = new(Site)
	}
	return d.Site.provision(d.Name)
}

// LiveSite is a site that requests are answered for.
type LiveSite struct {
	Name         string
	Organization string
	Config       *Site

	origin string       // of Config.URL
	host   string       // of Config.URL, without port
	hosts  []string     // of the routes that define or name the site
	at     *place       // the route that defines the site, nil for none
	folder *SiteFolders // that the site's folder is of, nil for none

	// holds is released, and ctx ends, when the site is closed.
	holds  holder
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup

	index     *siteIndex
	served    atomic.Pointer[served]
	reach     *reach.Site // nil with locks off
	answering *assistant.Assistant
	quoting   *assistant.Assistant // without a model, for when the budget is spent
	budget    *siteBudget          // nil: no bound
	slots     *replySlots
	widget    widgetState

	// hidden says why the API could not be reached after the start, nil if it
	// could.
	hidden atomic.Pointer[string]
}

func newLiveSite(name string, s *Site) *LiveSite {
	r := &LiveSite{Name: name, Config: s, Organization: cmp.Or(s.Organization, name), origin: access.OriginOf(s.URL)}
	if u, err := url.Parse(s.URL); err == nil {
		r.host = strings.ToLower(u.Hostname())
	}
	return r
}

// goBackground runs f until the site is closed.
func (r *LiveSite) goBackground(f func(context.Context)) {
	r.wait.Go(func() { f(r.ctx) })
}

// close ends what the site runs, and releases what it holds. Replies in
// progress go on.
func (r *LiveSite) close() error {
	if r.cancel == nil {
		return nil // never opened
	}
	r.cancel()
	r.wait.Wait()
	return r.holds.release()
}

// addSite adds a site to those that requests are answered for. The caller
// holds the lock.
func (a *App) addSite(r *LiveSite) {
	a.sites[r.Name] = r
	if r.host != "" {
		a.hosts[r.host]++
	}
}

// setSites sets the sites. The caller holds the lock.
func (a *App) setSites(sites map[string]*LiveSite) {
	a.sites, a.hosts = make(map[string]*LiveSite, len(sites)), make(map[string]int)
	for _, r := range sites {
		a.addSite(r)
	}
}

// provision resolves the site's placeholders and checks its configuration.
func (s *Site) provision(name string) error {
	where := "site " + name
	for _, field := range []struct {
		name  string
		value *string
	}{{"root", &s.Root}, {"sitemap", &s.Sitemap}, {"url", &s.URL}, {"support_url", &s.SupportURL}, {"instructions", &s.Instructions}} {
		v, err := replaced(field.name, *field.value)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		*field.value = v
	}
	s.URL = strings.TrimRight(s.URL, "/")
	return s.loadInstructions(where)
}

// loadInstructions reads the instructions' file, if that is what they name.
func (s *Site) loadInstructions(where string) error {
	s.instructions = s.Instructions
	name := instructionsFile(s.Instructions)
	if name == "" {
		return nil
	}
	const most = 64 << 10
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%s: reading instructions: %w", where, err)
	}
	if len(data) > most {
		return fmt.Errorf("%s: instructions %s are longer than %d bytes; a model reads them with every question", where, name, most)
	}
	s.instructions = string(data)
	return nil
}

// instructionsFile returns the name of the file that instructions name, "" if
// they are the text itself.
func instructionsFile(instructions string) string {
	name := strings.TrimSpace(instructions)
	if ext := filepath.Ext(name); strings.ContainsAny(name, " \t\n") || ext != ".md" && ext != ".txt" {
		return ""
	}
	return name
}

// all returns the sites in the order of their names, none before the start.
func (a *App) all() []*LiveSite {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return sorted(a.sites)
}

// sorted returns sites in the order of their names.
func sorted(sites map[string]*LiveSite) []*LiveSite {
	return slices.SortedFunc(maps.Values(sites), func(x, y *LiveSite) int { return strings.Compare(x.Name, y.Name) })
}

// Site returns a site, nil if there is none of that name or the app has not
// started.
func (a *App) Site(name string) *LiveSite {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.sites[name]
}

// ServesAt reports whether a route that names no sites serves one at a host:
// it serves the sites whose URL has that host, or all if there are none.
func (a *App) ServesAt(name, host string) bool {
	host = withoutPort(host)
	a.mu.RLock()
	defer a.mu.RUnlock()
	site := a.sites[name]
	if site == nil {
		return false
	}
	return site.host == host || a.hosts[host] == 0
}

// SiteAt returns the only site whose URL has a host, nil if there are several
// or none.
func (a *App) SiteAt(host string) *LiveSite {
	host = withoutPort(host)
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.hosts[host] != 1 {
		return nil
	}
	for _, r := range a.sites {
		if r.host == host {
			return r
		}
	}
	return nil
}

// withoutPort returns the name of a Host header.
func withoutPort(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return strings.ToLower(host)
}

// SitesAt returns the names of the sites that a route that names none serves
// at a host: see ServesAt.
func (a *App) SitesAt(host string) (names []string) {
	host = withoutPort(host)
	a.mu.RLock()
	defer a.mu.RUnlock()
	for name, r := range a.sites {
		if r.host == host || a.hosts[host] == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// IsHost reports whether a host, perhaps with a port, is that of the site's
// URL. If the URL is unknown, any host matches.
func (r *LiveSite) IsHost(host string) bool {
	host = withoutPort(host)
	return r.host == "" || strings.EqualFold(r.host, host)
}

// KnownHost reports whether a request for the site may have a host: that of
// the site's URL, those of the routes that name the site, and addresses. A
// page of another site could otherwise reach a server in a private network by
// its own domain name (DNS rebinding).
func (r *LiveSite) KnownHost(host string) bool {
	host = strings.Trim(withoutPort(host), "[]")
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if slices.ContainsFunc(r.hosts, func(h string) bool { return strings.Contains(h, "{") }) {
		return true
	}
	return strings.EqualFold(r.host, host) || reach.MatchesHost(r.hosts, host)
}

// OriginAllowed reports whether pages of an origin may use a site's API with
// some key.
func (a *App) OriginAllowed(site, origin string) bool {
	r := a.Site(site)
	return r != nil && (r.OwnOrigin(origin) || a.keys.AllowsOrigin(r.Organization, r.Name, origin))
}

// OriginListed reports whether an origin is that of the site's URL, or a key of
// the site names it.
func (a *App) OriginListed(r *LiveSite, origin string) bool {
	return r.OwnOrigin(origin) || a.keys.ListsOrigin(r.Organization, r.Name, origin)
}

// OwnOrigin reports whether an origin is that of the site's URL.
func (r *LiveSite) OwnOrigin(origin string) bool {
	return r.origin != "" && strings.EqualFold(origin, r.origin)
}

// Acquire holds what the site needs to answer until release is called. It is
// false after the site is gone.
func (r *LiveSite) Acquire() (release func(), ok bool) {
	if !r.index.acquire() {
		return nil, false
	}
	return r.index.release, true
}

// Assistant answers for the site, without the model while the site's budget is
// spent.
func (r *LiveSite) Assistant() *assistant.Assistant {
	if r.budget.spent() {
		return r.quoting
	}
	return r.answering
}
