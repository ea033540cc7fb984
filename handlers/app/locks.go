package app

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/assistant/thread"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// openReach finds out which pages of the site clients can open, from now on
// until the app stops.
func (a *App) openReach(r *LiveSite) error {
	if r.Config.Locks == "off" {
		a.log.Warn("locks are off: every page of the index is public", zap.String("site", r.Name))
		return nil
	}
	o := reach.Options{
		Routes: a.routes, URL: r.Config.URL, Documents: r.index.index.Documents, Whole: r.index.index.Page,
		Log: a.ctx.Slogger().With("site", r.Name),
	}
	if r.index.written.folder != nil {
		o.File = r.index.written.folder.ReadPage
	}
	loaded, err := a.ctx.AppIfConfigured("http")
	if err != nil && !errors.Is(err, caddy.ErrNotConfigured) {
		return err
	}
	o.HTTP, _ = loaded.(*caddyhttp.App)
	a.findPages(r, &o)
	if r.reach, err = reach.New(o); err != nil {
		return err
	}
	r.goBackground(r.reach.Run)
	return nil
}

// findPages finds where this Caddy serves the pages of a site, by its
// configuration alone: at its URL, if a server has that host, else where the
// site's folder is served, such as behind a proxy that sends another host, else
// in a block for any host that has the site's API. None: the site is served
// elsewhere.
func (a *App) findPages(r *LiveSite, o *reach.Options) {
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
	if p := a.folderPlace(r); p != nil {
		o.Server, o.Host, o.Prefix = p.server, p.sample(), p.pages
		return
	}
	if serve(r.at) {
		return
	}
	for _, p := range a.apiRoutes(r) {
		if serve(&p.place) {
			return
		}
	}
	o.Named = !known || r.at != nil && r.at.takesHost(u.Hostname()) && len(r.at.hosts) > 0
}

// folderPlace returns a place where a file server has the folder of a site:
// one at the hosts of its routes, if there is one; nil for none.
func (a *App) folderPlace(r *LiveSite) (found *place) {
	if a.found == nil || r.Config.Root == "" {
		return nil
	}
	for i := range a.found.folders {
		p := &a.found.folders[i]
		if !slices.ContainsFunc(p.roots, func(root string) bool { return filepath.Clean(root) == filepath.Clean(r.Config.Root) }) {
			continue
		}
		if found == nil || slices.ContainsFunc(p.hosts, func(host string) bool { return slices.Contains(r.hosts, host) }) && !slices.ContainsFunc(found.hosts, func(host string) bool { return slices.Contains(r.hosts, host) }) {
			found = p
		}
	}
	return found
}

// tickReach lets the sites look for pages to ask for, until ctx ends.
func (a *App) tickReach(ctx context.Context) {
	reach.Ticks(ctx, func() {
		for _, r := range a.all() {
			if r.reach != nil {
				r.reach.Tick()
			}
		}
	})
}

// search searches the pages that the reader of the context can open, and
// returns those that were searched. Readers who have opened nothing behind a
// lock get what a search of the public pages finds. For others, only enough
// hits are looked for.
func (r *LiveSite) search(ctx context.Context, q retrieval.Query, enough int) (hits []retrieval.Hit, pages *retrieval.PageSet, err error) {
	if r.index.queries != nil {
		q = r.index.queries.WithVector(ctx, q)
	}
	if r.reach == nil {
		q.Shown = enough
		hits, err = r.index.index.Search(ctx, q)
		return hits, nil, err
	}
	may := r.reach.Searched(ctx)
	wanted := q.Limit
	if q.Pages = may.Pages; may.Locked {
		q.Open, q.Limit, wanted = may.Public, retrieval.MaxHits, enough
	} else {
		q.Shown = enough
	}
	if hits, err = r.index.index.Search(ctx, q); err != nil {
		return nil, nil, err
	}
	hits = may.Open(ctx, hits, wanted, len(hits) < q.Limit)
	view := r.reach.View() // readers may have found where pages are
	for i := range hits {
		hits[i].Document = view.Document(hits[i].Document)
	}
	return hits, q.Pages, nil
}

// Sealed reports whether a stored turn is not for the reader of the context:
// it quotes a page that they can't open, that is no longer known, or that was
// behind a lock then and is not now, when its text may be another.
func (r *LiveSite) Sealed(ctx context.Context, t *thread.Turn) bool {
	if r.reach == nil {
		return false
	}
	if t.Locked && !r.reach.AnyLocked(t.Sources) {
		return true
	}
	return !r.reach.CanOpenAll(ctx, t.Sources)
}

// Refuses returns the status with which the site refuses the reader of the
// context its front page, although strangers get it, else 0.
func (r *LiveSite) Refuses(ctx context.Context) (status int) {
	if r.reach == nil {
		return 0
	}
	return r.reach.Refuses(ctx)
}

// Saw notes that the site just served a page to the reader of the context.
func (r *LiveSite) Saw(ctx context.Context, d *retrieval.Document) {
	if r.reach != nil {
		r.reach.Saw(ctx, d)
	}
}

// pageCounts returns how many pages clients get in which way.
func (r *LiveSite) pageCounts() reach.Counts {
	if r.reach != nil {
		return r.reach.Counts()
	}
	return reach.Counts{Public: len(r.index.index.Documents())}
}

// Pages returns the pages of the index by URL, with what clients get there.
// It is empty before the index is open.
func (r *LiveSite) Pages() []reach.Page {
	if r.reach != nil {
		return r.reach.Pages()
	}
	if r.index == nil {
		return nil
	}
	var all []reach.Page
	for _, d := range r.index.index.Documents() {
		all = append(all, reach.Page{Document: d, State: reach.Public, URL: d.URL})
	}
	slices.SortFunc(all, func(a, b reach.Page) int { return strings.Compare(a.URL, b.URL) })
	return all
}
