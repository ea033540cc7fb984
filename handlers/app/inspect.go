package app

import (
	"context"
	"fmt"

	"github.com/caddy-docs/caddy-docs/dashboard"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// Shared returns what the sites have in common.
func (a *App) Shared() *site.Shared { return &a.shared }

// Logins returns the codes and sessions of the dashboards.
func (a *App) Logins() *dashboard.Logins { return a.logins }

// Recorded returns where what readers do is recorded.
func (a *App) Recorded() *Insights { return &a.recorded }

// Storage returns Caddy's storage.
func (a *App) Storage() *Store { return a.store }

// Indexes returns the module that opens indexes.
func (a *App) Indexes() options.IndexOpener { return a.indexes }

// API returns the URL that a site's API is below: its path alone if the host is
// not known, "" if no route serves it; and what keeps requests from it.
func (a *App) API(name string) (base, problem string) {
	r := a.get(name)
	if r == nil {
		return "", ""
	}
	base, _ = a.found.api(r)
	if hidden := r.hidden.Load(); hidden != nil {
		problem = *hidden
	}
	return base, problem
}

// CheckAPI asks for a site's API, in the process and without a key, and returns
// the URL that it is below.
func (a *App) CheckAPI(ctx context.Context, name string) (base string, err error) {
	r := a.get(name)
	if r == nil {
		return "", fmt.Errorf("the site %s is gone", name)
	}
	return a.found.checkAPI(ctx, a.routes, r)
}

// FolderStatuses returns the statuses of the folders of sites.
func (a *App) FolderStatuses() (all []FolderStatus) {
	sites := a.all()
	for _, f := range a.folders {
		all = append(all, f.status(sites))
	}
	return all
}

// Dashboards returns the URLs of the dashboards, "" for those whose host is not
// known.
func (a *App) Dashboards() (urls []string) {
	for _, at := range a.found.dashboards {
		urls = append(urls, at.below(a.found.http))
	}
	return urls
}

// Embedder names what makes vectors, "" where nothing does.
func (a *App) Embedder() string {
	if a.embedders != nil {
		return a.embedders.Describe()
	}
	if m, ok := a.indexes.(*options.MeilisearchIndex); ok && m.Embedder != "" {
		return m.Embedder + " of the Meilisearch servers"
	}
	return ""
}
