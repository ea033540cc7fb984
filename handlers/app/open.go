package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/handlers/hosting"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// openSite gives a site its index, reply slots, budget and assistants.
func (a *App) openSite(r *live, m *Model) (err error) {
	r.ctx, r.cancel = context.WithCancel(a.background)
	if r.Index, err = a.openIndex(r); err != nil {
		return err
	}
	if r.Reach, err = a.openReach(r, r.Index); err != nil {
		return err
	}
	r.Slots = shareNew(&r.holds, "slots "+r.Name, func() *sync.Map { return new(sync.Map) })
	if m == nil {
		r.SetModel(nil, options.Answers{})
	} else {
		if budget := a.models.Answers().Budget; budget != nil {
			r.Budget = shareNew(&r.holds, fmt.Sprint("budget ", r.Name, budget.Limit()), func() *site.Budget {
				return site.NewBudget(r.Name, budget.Limit(), a.store, a.lasting)
			})
		}
		r.SetModel(m, a.models.Answers())
	}
	r.goBackground(r.Reach.Run)
	r.goBackground(func(ctx context.Context) { a.announce(ctx, r, m) })
	return nil
}

// openIndex finds or makes a site's index.
func (a *App) openIndex(r *live) (*site.Index, error) {
	shape := *r.Config // without what does not shape the index
	shape.Organization, shape.Name, shape.Instructions, shape.SupportURL = "", "", "", ""
	shape.AllowLinks, shape.StarterQuestions, shape.Suggestions, shape.SuggestionsFence, shape.Locks, shape.Moved = nil, nil, false, false, "", ""
	hash, err := hashOf(a.DataDir, r.Name, shape, r.Config.AllSources(), a.indexHash, a.embedderHash, r.folder != nil, r.group != nil)
	if err != nil {
		return nil, err
	}
	settings := site.IndexSettings{
		IndexOptions: options.IndexOptions{
			Site: r.Name, Dir: filepath.Join(a.DataDir, r.Name), SemanticRatio: a.semanticRatio(), Locker: a.store, Owner: a.store.indexOwner, Log: a.lasting,
		},
		Config: r.Config, Indexes: a.indexes, Embedders: a.embedders, Watcher: a.watcher, Started: a.served.Done(),
	}
	_, settings.Reload = shared.References("slots " + r.Name) // which each live site has
	if settings.Reload {
		shared.Range(func(_, v any) bool {
			if x, ok := v.(held[*site.Index]); ok && x.value.Dir == settings.Dir {
				settings.Running = x.value.Index
			}
			return true
		})
	}
	if r.folder != nil {
		settings.Limit = a.refreshing
	}
	if r.group != nil {
		r.group.shared = shareNew(&r.holds, "group "+r.Name, func() *site.Newest[func() []*site.Site] { return new(site.Newest[func() []*site.Site]) })
		// Its pages are known once its sites are open.
		settings.Members, settings.Indexes, settings.Reload = r.group.shared, new(options.EmbeddedIndex), false
	}
	return share(&r.holds, "index "+hash, func() (*site.Index, error) { return site.NewIndex(settings) })
}

// openReach finds out which pages of the site clients can open.
func (a *App) openReach(r *live, index *site.Index) (*reach.Gate, error) {
	if r.group != nil {
		return reach.New(reach.Options{Routes: a.routes, Documents: index.Documents, Members: func() []reach.Member { return r.group.members().gates }, Log: a.ctx.Slogger().With("site", r.Name)})
	}
	o := reach.Options{
		Routes: a.routes, URL: r.Config.URL, Documents: index.Documents, Whole: index.Page, File: index.ReadPage, Loads: index.Loads,
		Open: r.Config.Locks == "off", Log: a.ctx.Slogger().With("site", r.Name),
	}
	loaded, err := a.ctx.AppIfConfigured("http")
	if err != nil && !errors.Is(err, caddy.ErrNotConfigured) {
		return nil, err
	}
	o.HTTP, _ = loaded.(*caddyhttp.App)
	o.OnView = func(v *reach.View) {
		index.Moved.View(index.Documents(), v.IsPublic)
		if x, ok := index.Index.(*meilisearch.Index); ok {
			x.SetPublic(v.IsPublic)
		}
		if r.folder == nil { // of a thousand sites, those that somebody looks at are checked
			r.goBackground(r.LinksSoon)
		}
	}
	a.found.findPages(r, &o)
	for _, p := range r.also {
		o.Also = append(o.Also, reach.Place{Server: p.server, Host: cmp.Or(p.sample(), "localhost"), Prefix: p.pages})
	}
	return reach.New(o)
}

// announce logs that the site is ready, once its index is known. For the sites
// of folders, which may be a thousand, it logs only what is wrong.
func (a *App) announce(ctx context.Context, r *live, model *Model) {
	log := a.log.With(zap.String("site", r.Name))
	if r.folder == nil && !r.Keys.Opened(r.Organization, r.Name) {
		log.Warn("the site has no key", zap.String("run", "caddy docs key create --site "+r.Name))
	}
	select {
	case <-ctx.Done():
		return
	case <-r.Index.Looked:
	}
	a.AwaitStart(ctx)
	r.Reach.Tick() // not a second later
	if _, err := a.found.checkAPI(ctx, a.routes, r); err != nil && ctx.Err() == nil {
		found := err.Error()
		r.hidden.Store(&found)
		warn := func() {
			log.Warn("the site's API can't be reached", zap.String("found", found), zap.String("do", WhatToDo(err)))
		}
		if r.folder == nil {
			warn()
		} else {
			r.folder.hidden.Do(warn) // the others have the same routes
		}
	}
	answers := "none: replies are extractive"
	if model != nil {
		answers = model.Name()
	}
	threads := "off"
	if ttl := r.Threads.TTL; ttl > 0 {
		threads = "kept for " + options.Days(ttl)
	}
	st := r.Index.Refresher.Status()
	log = log.With(
		zap.String("model", answers), zap.String("embedder", cmp.Or(a.Embedder(), "none: keyword search")),
		zap.String("threads", threads), zap.String("url", r.Config.URL), zap.Int("pages", st.Pages), zap.Int("sections", st.Sections), zap.Duration("took", st.Last.Took),
	)
	switch {
	case !st.Ready:
		log.Warn("the site has no index yet", zap.String("reason", cmp.Or(st.Error, st.Held)), zap.String("do", r.Remedy(st)))
	case st.Pages == 0:
		log.Warn("the site has no pages", zap.String("do", r.Remedy(st)))
	case r.folder != nil:
		log.Debug("the site is ready")
	default:
		log.Info("the site is ready")
	}
}

// findPages finds where this Caddy serves the pages of a site, by its
// configuration alone: at its URL, if a server has that host, else where the
// site's folder is served, such as behind a proxy that sends another host, else
// in a block for any host that has the site's API. None: the site is served
// elsewhere.
func (f *routeSites) findPages(r *live, o *reach.Options) {
	u, err := url.Parse(r.Config.URL)
	known := err == nil && u.Host != ""
	if known && hosting.ServerFor(o.HTTP, u) != nil {
		return // New finds it
	}
	serve := func(p *place) bool {
		if p == nil || p.server == nil || known && len(p.hosts) > 0 || !p.servesPages() {
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
	o.Named = !known || r.at != nil && r.at.takesHost(hosting.Hostname(u.Host)) && len(r.at.hosts) > 0
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
