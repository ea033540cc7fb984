package handlers

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/contract"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/fallback"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// Contract is http.handlers.docs_contract. It describes the API to programs:
//
//	GET /v1/openapi.json  an OpenAPI 3.1 document with this server's address and
//	                      a site
//	GET /v1/types.d.ts    the types of requests, responses and events
//
// Both are public and the same for all sites. The site's own files win: each is
// served only where the site would answer 404, or with an HTML page for a path
// at which no file is.
//
// A path below /v1/ or /v2/ at which neither the API nor the site has anything
// gets 404 as JSON that pages of every origin can read, unless a browser asks for
// a page there: what is a typing error in a path would otherwise be "Failed to
// fetch". All other requests pass.
type Contract struct {
	app *app.App
}

func (Contract) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_contract", New: func() caddy.Module { return new(Contract) }}
}

func (c *Contract) Provision(ctx caddy.Context) (err error) {
	c.app, err = DocsApp(ctx)
	return err
}

const (
	openAPIPath = "/v1/openapi.json"
	typesPath   = "/v1/types.d.ts"
)

func (c *Contract) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if reach.IsInside(r) {
		return next.ServeHTTP(w, r)
	}
	name := contractPath(r)
	if name == "" && likeAPI(r) {
		return unlessServed(w, r, next)
	}
	if name == "" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return next.ServeHTTP(w, r)
	}
	c.app.AwaitStart(r.Context())
	site, path := siteAt(c.app, nil, r)
	hasFile := func() bool { return site != nil && site.HasFile(path) }
	return fallback.UnlessFile(w, r, next, hasFile, func() error {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set(releaseHeader, contract.Release())
		if name == typesPath {
			serveText(w, r, "text/plain; charset=utf-8", contract.Types())
			return nil
		}
		example := "acme"
		if site != nil {
			example = site.Name
		}
		serveText(w, r, "application/json", contract.OpenAPI(apiURL(r, site, name), example))
		return nil
	})
}

// likeAPI reports whether a request is for a path like those of the API, and not
// for a page.
func likeAPI(r *http.Request) bool {
	below := func(path string) bool { return strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/v2/") }
	page := (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
	return !page && (below(r.URL.Path) || below(OriginalURL(r).Path))
}

// unlessServed gives the request to the site, and answers 404 if nothing there
// does. A response of the site stays, whatever it is.
func unlessServed(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	answered, err := fallback.Answered(w, r, next)
	var he caddyhttp.HandlerError
	switch {
	case answered:
		return err
	case err != nil && !(errors.As(err, &he) && (he.StatusCode == http.StatusNotFound || he.StatusCode == http.StatusMethodNotAllowed)):
		return err
	}
	origin := r.Header.Get("Origin")
	if r.Method == http.MethodOptions {
		preflight(w, r, r.Header.Get("Access-Control-Request-Method"), origin)
		return nil
	}
	allow(w.Header(), origin)
	w.Header().Add("Vary", "Origin")
	writeError(w, r, http.StatusNotFound, RequestID(r), Fail(http.StatusNotFound, "unknown_path",
		"the API has no such path; POST /v1/search/{domain} searches and POST /v2/assistant/{domain}/message asks; "+openAPIPath+" lists all", nil))
	return nil
}

// contractPath returns which of the documents a request is for, "" for none.
// handle_path may have stripped a prefix, try_files may have rewritten the
// path.
func contractPath(r *http.Request) string {
	for _, path := range []string{r.URL.Path, OriginalURL(r).Path} {
		if path == openAPIPath || path == typesPath {
			return path
		}
	}
	return ""
}

// apiURL returns the URL below which the API is: that of the document itself.
// A proxy in front of this server may have ended TLS, which the site's URL
// then says.
func apiURL(r *http.Request, site *site.Site, name string) string {
	u := url.URL{Scheme: "http", Host: r.Host, Path: strings.TrimSuffix(OriginalURL(r).Path, name)}
	if r.TLS != nil || site != nil && strings.HasPrefix(site.Config.URL+"/", "https://"+r.Host+"/") {
		u.Scheme = "https"
	}
	return u.String()
}
