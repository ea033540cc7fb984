package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"golang.org/x/sync/semaphore"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/retrieval"
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
	if d.Site == nil {
		d.Site = new(Site)
	}
	return d.Site.provision(d.Name)
}

// LiveSite is a site of this configuration, ready to be asked. What it costs
// to make, its index, is shared with the configurations before and after it.
type LiveSite struct {
	Name         string
	Organization string
	Config       *Site

	answering *assistant.Assistant
	quoting   *assistant.Assistant // without a model, for when the budget is spent
	budget    *siteBudget          // nil: no bound

	origin string     // of Config.URL
	host   string     // of Config.URL, without port
	index  *siteIndex // nil until the app has started

	placesOnce sync.Once
	places     *semaphore.Weighted
}

// queueTime is how long a reply waits for a place when a site has as many
// under way as it may.
const queueTime = 2 * time.Second

func newLiveSite(name string, s *Site) *LiveSite {
	r := &LiveSite{Name: name, Config: s, Organization: cmp.Or(s.Organization, name)}
	r.setURL(s.URL)
	return r
}

func (r *LiveSite) setURL(address string) {
	r.Config.URL = address
	r.origin = access.OriginOf(address)
	if u, err := url.Parse(address); err == nil {
		r.host = u.Hostname()
	}
}

// provision resolves the site's placeholders and checks its configuration.
func (s *Site) provision(name string) error {
	where := "site " + name
	repl := caddy.NewReplacer()
	for _, field := range []*string{&s.Root, &s.Sitemap, &s.URL, &s.SupportURL, &s.Instructions} {
		v, err := repl.ReplaceOrErr(*field, true, true)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		*field = v
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

// FindSites finds the sites of the configuration and those that routes define,
// for commands that work without Start.
func (a *App) FindSites() error {
	sites, err := a.resolve()
	if err == nil {
		a.publish(sites)
	}
	return err
}

// resolve returns the sites of the configuration and those that routes
// define, with what those left out: root and url.
func (a *App) resolve() (map[string]*LiveSite, error) {
	found, err := a.findRoutes()
	if err != nil {
		return nil, err
	}
	sites := make(map[string]*LiveSite)
	for name, s := range a.Sites {
		sites[name] = newLiveSite(name, s)
	}
	var errs []error
	for name, d := range found.defined {
		if sites[name] != nil {
			errs = append(errs, fmt.Errorf("site %s is defined twice, by the app docs and by %s; give one of them another name, or serve the app's site there (directives assistant and search)", name, d.place))
			continue
		}
		site := *d.Site
		if site.Root == "" && site.Sitemap == "" {
			if site.Root, err = d.root(name); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		if site.URL == "" {
			site.URL = d.url(found.http)
		}
		sites[name] = newLiveSite(name, &site)
	}
	unknown := func(who, name string) {
		if sites[name] == nil && found.defined[name] == nil {
			errs = append(errs, fmt.Errorf("%s names the site %s, which is not defined; defined are: %s",
				who, name, cmp.Or(strings.Join(slices.Sorted(maps.Keys(sites)), ", "), "none")))
		}
	}
	for name, at := range found.named {
		unknown(at.String(), name)
	}
	for i, k := range a.Keys {
		for _, name := range k.Sites {
			unknown(fmt.Sprintf("key %d", i+1), name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return sites, a.fixKeys(sites)
}

// publish makes the sites those that requests see.
func (a *App) publish(sites map[string]*LiveSite) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sites = sites
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

// ServesAt tells whether a route that names no sites serves one at a host:
// if some sites' addresses have that host, those alone; else all.
func (a *App) ServesAt(name, host string) bool {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	site := a.sites[name]
	if site == nil {
		return false
	}
	if strings.EqualFold(site.host, host) {
		return true
	}
	for _, r := range a.sites {
		if r.host != "" && strings.EqualFold(r.host, host) {
			return false
		}
	}
	return true
}

// OriginAllowed tells whether a browser page of an origin may use a site's
// API with some key.
func (a *App) OriginAllowed(site, origin string) bool {
	r := a.Site(site)
	return r != nil && (r.OwnOrigin(origin) || a.keys.AllowsOrigin(r.Organization, r.Name, origin))
}

// OwnOrigin tells whether an origin is the site's own address.
func (r *LiveSite) OwnOrigin(origin string) bool {
	return r.origin != "" && strings.EqualFold(origin, r.origin)
}

// Prefer returns the version and language that are favoured where a request
// does not say: the site's defaults.
func (r *LiveSite) Prefer() retrieval.Filter {
	return retrieval.Filter{Version: defaultOf(r.Config.Versions), Language: defaultOf(r.Config.Languages)}
}

func defaultOf(scopes []Scope) string {
	for _, s := range scopes {
		if len(s.Paths) == 0 {
			return s.Value
		}
	}
	return ""
}

// Acquire holds what the site needs to answer until release is called. It is
// false before the app has started and after the site is gone.
func (r *LiveSite) Acquire() (release func(), ok bool) {
	if r.index == nil || !r.index.acquire() {
		return nil, false
	}
	return r.index.release, true
}

// Assistant answers for the site: without its model while the site's budget
// is spent. It is nil before the app has started.
func (r *LiveSite) Assistant() *assistant.Assistant {
	if r.budget.spent() {
		return r.quoting
	}
	return r.answering
}

// places are those for replies under way, by site and number. They outlive a
// reload, with the replies that hold them; a configuration's old number stays
// behind as some hundred bytes.
var places sync.Map // of *semaphore.Weighted by placesKey

type placesKey struct {
	site string
	n    int
}

// Enter takes one of n places for replies under way, waiting a moment if all
// are taken; Leave gives it back.
func (r *LiveSite) Enter(ctx context.Context, n int) bool {
	r.placesOnce.Do(func() {
		v, _ := places.LoadOrStore(placesKey{r.Name, n}, semaphore.NewWeighted(int64(n)))
		r.places = v.(*semaphore.Weighted)
	})
	if r.places.TryAcquire(1) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, queueTime)
	defer cancel()
	return r.places.Acquire(ctx, 1) == nil
}

// Leave gives back the place that Enter took.
func (r *LiveSite) Leave() { r.places.Release(1) }

// fixKeys makes the keys of the configuration. Those whose organization is
// not known yet are left out.
func (a *App) fixKeys(sites map[string]*LiveSite) error {
	var fixed []*access.Key
	for i, f := range a.Keys {
		where := fmt.Sprintf("key %d", i+1)
		if f.Name != "" {
			where += " (" + f.Name + ")"
		}
		hash := f.SHA256
		if f.Key != "" {
			secret, err := caddy.NewReplacer().ReplaceOrErr(f.Key, true, true)
			if err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			if err := access.CheckFixed(secret); err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			hash = access.Hash(secret)
		}
		organization, err := organizationOf(f, sites)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if organization == "" {
			continue // no sites yet
		}
		k, err := access.NewFixed(hash, access.Key{Name: f.Name, Organization: organization, Sites: f.Sites, Origins: f.Origins})
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		fixed = append(fixed, k)
	}
	a.keys.SetFixed(fixed)
	return nil
}

// organizationOf is the organization that a fixed key belongs to: the one it
// names, that of its sites, or that of all sites if they have the same.
func organizationOf(f *FixedKey, sites map[string]*LiveSite) (string, error) {
	if f.Organization != "" {
		return f.Organization, nil
	}
	organization := ""
	for _, r := range sorted(sites) {
		if len(f.Sites) > 0 && !slices.Contains(f.Sites, r.Name) {
			continue
		}
		if organization != "" && organization != r.Organization {
			return "", fmt.Errorf("its sites are of several organizations (%s, %s); write organization NAME", organization, r.Organization)
		}
		organization = r.Organization
	}
	return organization, nil
}
