package handlers

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/handlers/app"
)

// MatchAPI is http.matchers.docs_api. It matches the requests of the API and
// no others: exactly the addresses of SPEC.md (and …/message/{chatId}/stream,
// which chat hooks ask for), on the current path or the one the client sent.
// GET and HEAD match only where {domain} is a site of ours, so that real
// pages below /v1/ stay pages.
type MatchAPI struct {
	// Only is search, assistant, or empty for both.
	Only string `json:"only,omitempty"`

	// Sites narrows GET and HEAD to these sites. Default: all sites.
	Sites []string `json:"sites,omitempty"`

	app *app.App
}

// CaddyModule returns the Caddy module information.
func (MatchAPI) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.matchers.docs_api",
		New: func() caddy.Module { return new(MatchAPI) },
	}
}

// Provision finds the app.
func (m *MatchAPI) Provision(ctx caddy.Context) (err error) {
	if m.Only != "" && m.Only != apiSearch && m.Only != apiAssistant {
		return fmt.Errorf("docs_api: only %q is not known; write search or assistant, or leave it out", m.Only)
	}
	m.app, err = docsApp(ctx)
	return err
}

// MatchWithError tells whether the request is one of the API's.
func (m *MatchAPI) MatchWithError(r *http.Request) (bool, error) {
	e, ok := endpointOf(r)
	if !ok || (m.Only != "" && e.api != m.Only) {
		return false, nil
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return m.app.AwaitStart(r.Context()) && m.app.Site(e.site) != nil && (len(m.Sites) == 0 || slices.Contains(m.Sites, e.site)), nil
	}
	return true, nil
}

// docsApp returns the running app "docs".
func docsApp(ctx caddy.Context) (*app.App, error) {
	a, err := ctx.App("docs")
	if err != nil {
		return nil, err
	}
	docs, ok := a.(*app.App)
	if !ok {
		return nil, fmt.Errorf("the app docs is %T, which is not of this module", a)
	}
	return docs, nil
}

// Interface guards
var (
	_ caddy.Provisioner                 = (*MatchAPI)(nil)
	_ caddyhttp.RequestMatcherWithError = (*MatchAPI)(nil)
)
