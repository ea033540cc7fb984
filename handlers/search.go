package handlers

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Search is http.handlers.docs_search: POST /v1/search/{domain}. It stays
// closed (401) unless an identity was set before it, by the authentication
// handler with the docs_key provider.
type Search struct {
	// Sites are those that this route serves. Default: the sites whose url
	// has the request's host, and where there is none, all sites.
	Sites []string `json:"sites,omitempty"`

	// MaxBody is the longest body read, in bytes. Default: 1 MB.
	MaxBody int64 `json:"max_body,omitempty"`

	// Anonymous opens the endpoint to everyone, without a key. Limits by
	// organization then count all of them together.
	Anonymous bool `json:"anonymous,omitempty"`

	app *app.App
}

// CaddyModule returns the Caddy module information.
func (Search) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.docs_search",
		New: func() caddy.Module { return new(Search) },
	}
}

// Provision finds the app.
func (s *Search) Provision(ctx caddy.Context) (err error) {
	s.app, err = docsApp(ctx)
	return err
}

// NamedSites returns the sites that the app docs must have when it starts.
func (s *Search) NamedSites() []string { return s.Sites }

// responses are the buffers that answers are made in; some 20 kB each.
var responses = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (s *Search) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	e, ok := endpointOf(r)
	if !ok || e.api != apiSearch {
		return next.ServeHTTP(w, r)
	}
	site, _, err := admit(w, r, s.app, s.Sites, s.Anonymous, e.site)
	if err != nil {
		return err
	}
	body, err := readBody(w, r, s.MaxBody)
	if err != nil {
		return err
	}
	q, err := encoding.DecodeSearch(body)
	if err != nil {
		return badRequest(err)
	}

	release, ok := site.Acquire()
	if !ok {
		return searchFailed(w, retrieval.ErrNotReady)
	}
	defer release()
	results, err := site.Results(r.Context(), q)
	if err != nil {
		if r.Context().Err() != nil {
			return nil // nobody is there to read it
		}
		return searchFailed(w, err)
	}

	buf := responses.Get().(*bytes.Buffer)
	defer responses.Put(buf)
	buf.Reset()
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(results); err != nil {
		return caddyhttp.Error(http.StatusInternalServerError, err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(buf.Bytes())
	return nil
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Search)(nil)
	_ caddyhttp.MiddlewareHandler = (*Search)(nil)
)
