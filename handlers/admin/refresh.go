package admin

import (
	"context"
	"fmt"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// Refresh looks for changes of a site's pages and waits until they are indexed.
func (a API) Refresh(ctx context.Context, name string) (retrieval.Report, error) {
	r, err := a.site(name)
	if err != nil {
		return retrieval.Report{}, err
	}
	report, err := r.Index.Refresher.Refresh(ctx)
	if err != nil {
		return report, fmt.Errorf("refreshing %s: %w", r.Name, err)
	}
	return report, nil
}

// Reindex is Refresh for an operator: it also compares each section with an
// index in servers, and restores what differs. With full, all pages are read
// and written again.
func (a API) Reindex(ctx context.Context, name string, full bool) (retrieval.Report, error) {
	r, err := a.site(name)
	if err != nil {
		return retrieval.Report{}, err
	}
	refresh := r.Index.Refresher.Refresh
	if full {
		refresh = r.Index.Refresher.Rebuild
	}
	report, err := refresh(ctx)
	if x, ok := r.Index.Index.(*meilisearch.Index); ok && err == nil && report.Held == "" {
		report.Restored, err = x.Restore(ctx, full)
	}
	if err != nil {
		return report, fmt.Errorf("refreshing %s: %w", r.Name, err)
	}
	return report, nil
}

// RefreshSoon looks for changes of a site's pages in the background.
func (a API) RefreshSoon(name string) error {
	r, err := a.site(name)
	if err == nil {
		a.Go(func(ctx context.Context) { _, _ = r.Index.Refresher.Refresh(ctx) }) // it logs errors
	}
	return err
}
