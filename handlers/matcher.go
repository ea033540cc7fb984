package handlers

import (
	"maps"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/hosting"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
)

// MatchAPI is http.matchers.docs_api. It matches requests to the API and no
// others: exactly the paths of the API (and …/message/{chatId}/stream, which
// chat hooks ask for), on the current path or the one that the client sent.
//
// Real pages below /v1/ stay pages: GET and HEAD match only where {domain} is
// the name of a site, and for an endpoint that takes POST only with a valid
// key.
type MatchAPI struct {
	// The part of the API to match: "ask", "assistant", "events", "feedback",
	// "mcp", "page", "search", "token" or "widget". Default: all.
	Only string `json:"only,omitempty"`

	// Narrows GET and HEAD to these sites, and all methods where another route of
	// the host serves the site that is asked for. Other requests match, so that
	// the API can say what is wrong with them. Default: all sites.
	Sites []string `json:"sites,omitempty"`

	app *app.App
}

func (MatchAPI) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.matchers.docs_api", New: func() caddy.Module { return new(MatchAPI) }}
}

func (m *MatchAPI) Provision(ctx caddy.Context) (err error) {
	m.app, err = DocsApp(ctx)
	return err
}

func (m *MatchAPI) Validate() error {
	c := new(options.Checker)
	c.OneOf("only", m.Only, slices.Sorted(maps.Keys(apis))...)
	c.Sites(m.Sites)
	return c.Err()
}

// MatchWithError reports whether the request is for the API.
func (m *MatchAPI) MatchWithError(r *http.Request) (bool, error) {
	e, ok := parseRequest(r)
	if !ok || reach.IsInside(r) || m.Only != "" && e.api != m.Only {
		return false, nil
	}
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && !m.reads(r, e) {
		return false, nil
	}
	if len(m.Sites) > 0 && !slices.Contains(m.Sites, e.site) && m.elsewhere(r, e) {
		return false, nil
	}
	reach.Keep(r, endpointKey, e)
	return true, nil
}

// elsewhere reports whether another route of this host serves the site: a
// second docs directive in the block.
func (m *MatchAPI) elsewhere(r *http.Request, e endpoint) bool {
	server, _ := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	return m.app.AwaitStart(r.Context()) && m.app.ServesAPI(server, hosting.Hostname(r.Host), e.site)
}

// reads reports whether a GET or HEAD is for the API and not for a page of that
// path. For endpoints that need a key it must not depend on which sites there
// are: strangers would learn it.
func (m *MatchAPI) reads(r *http.Request, e endpoint) bool {
	if e.resume || e.chunk != "" {
		return true // no page has such a path
	}
	if !slices.Contains(e.methods(), r.Method) { // a mistake, which 405 explains
		if _, ok := m.app.Shared().Keys.Authenticate(token(r)); !ok {
			return false
		}
	}
	return m.app.AwaitStart(r.Context()) && m.app.Site(e.site) != nil && (len(m.Sites) == 0 || slices.Contains(m.Sites, e.site))
}

// DocsApp returns the app "docs".
func DocsApp(ctx caddy.Context) (*app.App, error) {
	a, err := ctx.App("docs")
	if err != nil {
		return nil, err
	}
	return a.(*app.App), nil // two modules of this name end the process
}

var _ caddyhttp.RequestMatcherWithError = (*MatchAPI)(nil) // interface guard
