package handlers

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// admit returns the site that a request asks for and the key that it was sent
// with, nil for an anonymous request. The error is 401 without an identity,
// 404 for an unknown site, 403 for a site of another organization or key, 403
// for an origin that the key (or any key, for an anonymous request) does not
// allow, and 503 while the process ends. Both handlers call it first, so that they stay
// closed when configured by hand without authentication.
func admit(w http.ResponseWriter, r *http.Request, a *app.App, sites []string, anonymous bool, name string) (*app.LiveSite, *access.Key, error) {
	key, known := IdentityFrom(r)
	if !known && !anonymous {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return nil, nil, fail(http.StatusUnauthorized, "unauthorized", needsKey, nil)
	}
	if !a.AwaitStart(r.Context()) {
		return nil, nil, searchFailed(w, retrieval.ErrNotReady)
	}
	site := a.Site(name)
	if site == nil || !served(a, sites, name, r.Host) {
		return nil, nil, fail(http.StatusNotFound, "unknown_site",
			"there is no documentation site of this name here; the name is the last element of /v1/search/{domain}", nil)
	}
	if a.Exiting() {
		return nil, nil, stopping(w, a, name)
	}
	if known && !key.Opens(site.Organization, name) {
		return nil, nil, fail(http.StatusForbidden, "wrong_site", "this key does not open this site; use a key of the site's organization", nil)
	}
	if origin := r.Header.Get("Origin"); origin != "" && !sameHost(r, origin) && !site.OwnOrigin(origin) &&
		!(known && key.AllowsOrigin(origin)) && !(!known && a.OriginAllowed(name, origin)) {
		return nil, nil, fail(http.StatusForbidden, "origin_not_allowed", originRefusal(origin), nil)
	}
	return site, key, nil
}

// askerOf names the sender of a request that was admitted.
func askerOf(r *http.Request, key *access.Key) app.Asker {
	from := app.Asker{Source: insights.Source(SourceOf(r))}
	if key != nil && from.Source != insights.Widget { // a browser token is no key
		from.Key = key.ID
	}
	return from
}

// validSites checks the names of the sites that a route serves.
func validSites(sites []string) error {
	for _, name := range sites {
		if err := access.CheckName("name", name); err != nil {
			return &app.FieldError{Field: "sites", Problem: err.Error()}
		}
	}
	return nil
}

// validMaxBody checks the longest body that a route reads.
func validMaxBody(n int64) error {
	if n != 0 && (n < minMaxBody || n > maxMaxBody) {
		return &app.FieldError{Field: "max_body", Problem: fmt.Sprintf("%d must be from %d to %d bytes", n, minMaxBody, maxMaxBody)}
	}
	return nil
}

// served reports whether a route that names sites, or none, serves one.
func served(a *app.App, sites []string, name, host string) bool {
	if len(sites) > 0 {
		return slices.Contains(sites, name)
	}
	return a.ServesAt(name, host)
}
