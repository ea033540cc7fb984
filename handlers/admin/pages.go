package admin

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/dashboard"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/links"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// Pages returns a site's pages by URL. Pages that are new are asked for
// first.
func (a API) Pages(ctx context.Context, name string) ([]dashboard.Page, error) {
	site, err := a.site(name)
	if err != nil {
		return nil, err
	}
	if !site.Index.Refresher.Status().Ready {
		return nil, retrieval.ErrNotReady
	}
	site.Reach.Update(ctx)
	pages := []dashboard.Page{}
	for _, p := range site.Reach.Pages() {
		page := dashboard.Page{
			Name: p.Page, URL: p.URL, File: p.File, Title: p.Title, Sections: len(p.Sections), Language: p.Language, Version: p.Version, Kind: string(p.Kind),
			State: string(p.State), Why: p.Why,
		}
		for i := range p.Sections {
			if a := p.Sections[i].Anchor; a != "" {
				page.Anchors = append(page.Anchors, a)
			}
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// links returns what a check of a site's links finds, of the pages and what is
// served now.
func (a API) links(ctx context.Context, name string) (*links.Report, error) {
	site, err := a.site(name)
	if err != nil {
		return nil, err
	}
	if !site.Index.Refresher.Status().Ready {
		return nil, retrieval.ErrNotReady
	}
	site.Reach.Update(ctx)
	return site.CheckLinks(ctx, true)
}

// Moved returns the pages of a site that are gone, and where they are now.
func (a API) Moved(name string) ([]moved.Former, error) {
	r, err := a.site(name)
	if err != nil {
		return nil, err
	}
	return r.Pages().FormerPages(), nil
}

// Refresh looks for changes of a site's pages and waits until they are indexed.
func (a API) Refresh(ctx context.Context, name string) (retrieval.Report, error) {
	return a.refresh(ctx, name, func(r *site.Site) (retrieval.Report, error) { return r.Index.Refresher.Refresh(ctx) })
}

// Reindex is Refresh for an operator: it also compares each section with an
// index in servers, and restores what differs. With full, all pages are read
// and written again.
func (a API) Reindex(ctx context.Context, name string, full bool) (retrieval.Report, error) {
	return a.refresh(ctx, name, func(r *site.Site) (report retrieval.Report, err error) {
		if full {
			report, err = r.Index.Refresher.Rebuild(ctx)
		} else {
			report, err = r.Index.Refresher.Refresh(ctx)
		}
		if x, ok := r.Index.Index.(*meilisearch.Index); ok && err == nil && report.Held == "" {
			report.Restored, err = x.Restore(ctx, full)
		}
		return report, err
	})
}

// reindexSoon is Reindex in the background. It returns the status of now.
func (a API) reindexSoon(name string, full bool) (st retrieval.Status, err error) {
	s, err := a.site(name)
	if err != nil {
		return st, err
	}
	a.Go(func(ctx context.Context) {
		if _, err := a.Reindex(ctx, s.Name, full); err != nil && ctx.Err() == nil {
			a.Shared().Log.Error("the index could not be refreshed", zap.String("site", s.Name), zap.Error(err))
		}
	})
	return s.Index.Refresher.Status(), nil
}

func (a API) refresh(ctx context.Context, name string, run func(*site.Site) (retrieval.Report, error)) (report retrieval.Report, err error) {
	r, err := a.site(name)
	if err != nil {
		return report, err
	}
	if report, err = run(r); err != nil {
		err = fmt.Errorf("refreshing %s: %w", r.Name, err)
	}
	return report, err
}

// RefreshSoon looks for changes of a site's pages in the background.
func (a API) RefreshSoon(name string) error {
	r, err := a.site(name)
	if err == nil {
		a.Go(func(ctx context.Context) { _, _ = r.Index.Refresher.Refresh(ctx) }) // it logs errors
	}
	return err
}
