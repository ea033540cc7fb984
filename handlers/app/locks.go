package app

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	// maxLocked is how many sections, and so locked pages, are asked for at most
	// by a search.
	maxLocked = 50
	// lockedAtOnce are asked for at the same time.
	lockedAtOnce = 8
)

// openReach finds out which pages of the site clients can open, from now on
// until the app stops.
func (a *App) openReach(r *LiveSite) error {
	if r.Config.Locks == "off" {
		a.log.Warn("locks are off: every page of the index is public", zap.String("site", r.Name))
		return nil
	}
	o := reach.Options{
		Routes: a.routes, URL: r.Config.URL, Documents: r.index.index.Documents, Log: a.ctx.Slogger().With("site", r.Name),
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

// findPages finds where this Caddy serves the pages of a site: at its URL, if
// a server has that host, else where the site's folder is served, such as
// behind a proxy that sends another host, else where its API is.
func (a *App) findPages(r *LiveSite, o *reach.Options) {
	folder := a.folderPlace(r)
	if at := r.at; at != nil {
		o.Server, o.Prefix = at.server, at.pages
		switch u, err := url.Parse(r.Config.URL); {
		case err != nil || u.Host == "":
			o.Host = at.sample()
		case folder != nil && folder.server == at.server && !at.takesHost(u.Hostname()):
			o.Host = folder.sample()
		}
		return
	}
	routes := a.apiRoutes(r)
	if r.Config.URL == "" && folder != nil {
		routes = nil
	}
	for _, p := range routes {
		around := p.trail
		switch {
		case len(p.hosts) == 0:
		case r.Config.URL == "":
			around = around[1:] // without the other hosts of the server
		default:
			continue
		}
		if slices.ContainsFunc(around, func(s step) bool { return servePages(s.routes) }) {
			o.Other, o.Host, o.Prefix = p.server, p.sample(), p.pages
			return
		}
	}
	if folder != nil {
		o.Other, o.Host, o.Prefix = folder.server, folder.sample(), folder.pages
	}
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
// returns those that were searched. Readers who can open no locked page get
// what a search of the public pages finds. For others, only enough hits are
// looked for.
func (r *LiveSite) search(ctx context.Context, q retrieval.Query, enough int) (hits []retrieval.Hit, pages *retrieval.PageSet, err error) {
	if r.index.queries != nil {
		q = r.index.queries.WithVector(ctx, q)
	}
	index := r.index.index
	if r.reach == nil {
		q.Shown = enough
		hits, err = index.Search(ctx, q)
		return hits, nil, err
	}
	view := r.reach.View()
	if view.Locked {
		all := q
		all.Pages, all.Open, all.Limit = view.Served, view.Public, maxLocked
		candidates, err := index.Search(ctx, all)
		if err != nil {
			return nil, nil, err
		}
		hits, pages = r.opened(ctx, view, candidates, enough), all.Pages
	}
	if hits == nil {
		q.Pages, q.Shown = view.Public, enough
		if hits, err = index.Search(ctx, q); err != nil {
			return nil, nil, err
		}
		pages = q.Pages
	}
	view = r.reach.View() // readers may have found where pages are
	for i := range hits {
		hits[i].Document = view.Document(hits[i].Document)
	}
	return hits, pages, nil
}

// opened returns the first limit candidates that the reader can open, nil if
// none of them is locked.
func (r *LiveSite) opened(ctx context.Context, view *reach.View, candidates []retrieval.Hit, limit int) []retrieval.Hit {
	var open []retrieval.Hit
	listed := map[uint64]bool{} // sections, by their sums: a locked page may be a copy of a public one
	locked := false
	for len(candidates) > 0 && len(open) < limit {
		batch := candidates[:min(lockedAtOnce, len(candidates))]
		candidates = candidates[len(batch):]
		can := make([]bool, len(batch))
		var wait sync.WaitGroup
		for i, h := range batch {
			if view.Public != nil && view.Public.Has(h.Document.Page) {
				can[i] = true
				continue
			}
			wait.Go(func() { can[i] = r.reach.CanOpen(ctx, h.Document) })
		}
		wait.Wait()
		for i, h := range batch {
			sum := h.Document.Sections[h.Section].Sum
			if can[i] && len(open) < limit && !listed[sum] {
				open = append(open, h)
				listed[sum] = sum != 0
				locked = locked || view.Public != nil && !view.Public.Has(h.Document.Page)
			}
		}
	}
	if !locked {
		return nil
	}
	return open
}

// CanOpenAll reports whether the reader of the context can open the pages of
// all URLs. Those that are no pages of the site don't count.
func (r *LiveSite) CanOpenAll(ctx context.Context, urls []string) bool {
	return r.reach == nil || r.reach.CanOpenAll(ctx, urls)
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
