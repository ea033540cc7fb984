package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"golang.org/x/sync/semaphore"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Definition is a site that an HTTP route brings along (directive docs).
type Definition struct {
	Name string `json:"name"`
	Site *Site  `json:"site"`
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

	defined bool       // by a route
	given   Site       // as the route gave it
	origin  string     // of Config.URL
	host    string     // of Config.URL, without port
	index   *siteIndex // nil until the app has started

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

// located puts the place in a Caddyfile, where it is known, before what stands
// there.
func located(origin, what string) string {
	if origin == "" {
		return what
	}
	return origin + ": " + what
}

// provision checks a site's configuration; rootLater allows a site without
// root, which the routes will tell.
func (s *Site) provision(name string, rootLater bool) error {
	where := located(s.Origin, "site "+name)
	if err := access.CheckName("site", name); err != nil {
		return fmt.Errorf("%s: the name is the {domain} of the API: %w", where, err)
	}
	if s.Organization != "" {
		if err := access.CheckName("organization", s.Organization); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	repl := caddy.NewReplacer()
	for _, field := range []*string{&s.Root, &s.Sitemap, &s.URL, &s.SupportURL, &s.Instructions} {
		v, err := repl.ReplaceOrErr(*field, true, true)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		*field = v
	}
	switch {
	case s.Root != "" && s.Sitemap != "":
		return fmt.Errorf("%s: has both a root and a sitemap; keep the one that its pages come from", where)
	case s.Root == "" && s.Sitemap == "" && !rootLater:
		return fmt.Errorf("%s: has no pages; write root /path/to/docs, or sitemap https://…/sitemap.xml", where)
	}
	for _, address := range []string{s.URL, s.Sitemap, s.SupportURL} {
		if address == "" {
			continue
		}
		u, err := url.Parse(address)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto") || (u.Host == "" && u.Scheme != "mailto") {
			return fmt.Errorf("%s: %q is not an address; write it whole, like https://docs.example.com", where, address)
		}
	}
	s.URL = strings.TrimRight(s.URL, "/")
	return s.loadInstructions(where)
}

// loadInstructions reads the instructions' file, if that is what they name.
func (s *Site) loadInstructions(where string) error {
	s.instructions = s.Instructions
	name := strings.TrimSpace(s.Instructions)
	if ext := filepath.Ext(name); strings.ContainsAny(name, " \t\n") || (ext != ".md" && ext != ".txt") {
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

// Same tells whether two sites are configured alike, wherever that stands.
func (s Site) Same(other Site) bool {
	s.Origin, other.Origin = "", ""
	return fingerprint(s) == fingerprint(other)
}

// Define adds a site that a route brings along. Several routes may bring the
// same one.
func (a *App) Define(d *Definition) error {
	if d.Site == nil {
		d.Site = new(Site)
	}
	given := *d.Site
	if err := d.Site.provision(d.Name, true); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if old, ok := a.sites[d.Name]; ok && old.defined && old.given.Same(given) {
		return nil // a snippet with it was imported into two blocks
	} else if ok {
		return fmt.Errorf("two sites are called %s (%s and %s); give one of them another name, or write the directives assistant and search for a site that the global option docs has",
			d.Name, cmp.Or(old.Config.Origin, "global option docs"), cmp.Or(d.Site.Origin, "directive docs"))
	}
	r := newLiveSite(d.Name, d.Site)
	r.defined, r.given = true, given
	a.sites[d.Name] = r
	return a.fixKeysLocked()
}

// Expect notes the sites that a handler names: Start refuses names that
// neither the configuration nor a route knows. origin is where the handler
// stands in a Caddyfile, "" for none.
func (a *App) Expect(handler, origin string, sites []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range sites {
		a.expected = append(a.expected, expectation{who: handler, origin: origin, site: name})
	}
}

type expectation struct{ who, origin, site string }

// checkExpected returns an error for names of sites that are not there.
func (a *App) checkExpected() error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	names := make([]string, 0, len(a.sites))
	for _, r := range a.allLocked() {
		names = append(names, r.Name)
	}
	expected := slices.Clone(a.expected)
	for i, k := range a.Keys {
		for _, site := range k.Sites {
			expected = append(expected, expectation{who: fmt.Sprintf("key %d", i+1), site: site})
		}
	}
	var errs []error
	for _, e := range expected {
		if a.sites[e.site] == nil {
			errs = append(errs, fmt.Errorf("%s names the site %s, which is not there; there are: %s", located(e.origin, e.who), e.site, cmp.Or(strings.Join(names, ", "), "none")))
		}
	}
	return errors.Join(errs...)
}

// resolve returns the sites anew, with what those defined by routes left out:
// root and url. It does not touch the ones that requests may already see: the
// HTTP app can have started before this one.
func (a *App) resolve() ([]*LiveSite, error) {
	var places map[string]*place
	var http *caddyhttp.App
	var errs []error
	sites := a.all()
	for i, old := range sites {
		config := *old.Config
		r := newLiveSite(old.Name, &config)
		r.defined = old.defined
		sites[i] = r
		if !r.defined || (r.Config.Root != "" || r.Config.Sitemap != "") && r.Config.URL != "" {
			continue
		}
		if places == nil {
			app, err := a.ctx.AppIfConfigured("http")
			if err != nil {
				return nil, err
			}
			http = app.(*caddyhttp.App)
			places = findPlaces(http)
		}
		if r.Config.Root == "" && r.Config.Sitemap == "" {
			root, err := places[r.Name].root(r.Name)
			if err != nil {
				if r.Config.Origin != "" {
					err = fmt.Errorf("%s: %w", r.Config.Origin, err)
				}
				errs = append(errs, err)
				continue
			}
			r.Config.Root = root
		}
		if r.Config.URL == "" {
			r.setURL(places[r.Name].url(http))
		}
	}
	return sites, errors.Join(errs...)
}

// publish makes the sites those that requests see.
func (a *App) publish(sites []*LiveSite) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range sites {
		a.sites[r.Name] = r
	}
}

func (a *App) all() []*LiveSite {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.allLocked()
}

// allLocked returns the sites in the order of their names.
func (a *App) allLocked() []*LiveSite {
	sites := make([]*LiveSite, 0, len(a.sites))
	for _, r := range a.sites {
		sites = append(sites, r)
	}
	slices.SortFunc(sites, func(x, y *LiveSite) int { return strings.Compare(x.Name, y.Name) })
	return sites
}

// Site returns a site, nil if there is none of that name.
func (a *App) Site(name string) *LiveSite {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.sites[name]
}

// Knows tells whether there is a site of that name.
func (a *App) Knows(name string) bool { return a.Site(name) != nil }

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

// fixKeys makes the keys of the configuration, as far as their organization
// is known.
func (a *App) fixKeys() error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.fixKeysLocked()
}

func (a *App) fixKeysLocked() error {
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
		organization, err := a.organizationOf(f)
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
func (a *App) organizationOf(f *FixedKey) (string, error) {
	if f.Organization != "" {
		return f.Organization, nil
	}
	organization := ""
	for _, r := range a.allLocked() {
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
