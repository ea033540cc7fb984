package handlers

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/handlers/app"
)

// Guard is http.handlers.docs_api, the outermost handler of the API. It
// answers preflights (before authentication: they carry no key), sets the
// CORS headers that let a browser read replies and errors alike, refuses
// methods that the endpoint does not have, and renders every error of the
// handlers behind it as JSON, {"error", "code", "requestId"}. The directives
// assistant, search and docs put it in front; a configuration by hand should
// too.
type Guard struct {
	// API is search or assistant, for those who read the configuration;
	// nothing depends on it.
	API string `json:"api,omitempty"`

	// Sites are those that this route serves. Default: the sites whose url
	// has the request's host, and where there is none, all sites.
	Sites []string `json:"sites,omitempty"`

	// Errors is "pass" to hand errors to the site's own handle_errors. Default:
	// they are rendered here as JSON.
	Errors string `json:"errors,omitempty"`

	// RateLimitPolicy is the value of the RateLimit-Policy header.
	RateLimitPolicy string `json:"rate_limit_policy,omitempty"`

	// Define is a site that this route brings along, as the directive docs
	// does.
	Define *app.Definition `json:"define,omitempty"`

	app *app.App
	log *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (Guard) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.docs_api",
		New: func() caddy.Module { return new(Guard) },
	}
}

// Provision finds the app and checks the site that Define brings.
func (g *Guard) Provision(ctx caddy.Context) (err error) {
	g.log = ctx.Logger()
	if g.Errors != "" && g.Errors != "pass" {
		return fmt.Errorf("docs_api: errors %q is not known; write pass, or leave it out", g.Errors)
	}
	if g.app, err = docsApp(ctx); err != nil {
		return err
	}
	if g.Define != nil {
		return g.Define.Provision()
	}
	return nil
}

// DefinedSite returns the site that this route brings along, nil for none. The
// app docs asks for it when it starts.
func (g *Guard) DefinedSite() *app.Definition { return g.Define }

func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	sw, err := g.open(w, r, next)
	if err == nil && sw != nil {
		if err = next.ServeHTTP(sw, r); err != nil {
			err = refused(sw, r, err)
		}
	}
	if err != nil && sw != nil {
		return g.failed(sw, r, err)
	}
	return err
}

// open makes the writer that the handlers behind get, nil if the request was
// answered: one that is not ours, or needs no key.
func (g *Guard) open(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) (*startWriter, error) {
	e, ok := endpointOf(r)
	if !ok { // configured without the docs_api matcher
		return nil, next.ServeHTTP(w, r)
	}
	g.app.AwaitStart(r.Context())
	sw := &startWriter{ResponseWriterWrapper: caddyhttp.ResponseWriterWrapper{ResponseWriter: w}}
	if answered, err := g.answer(sw, r, e); err != nil || !answered {
		return sw, err
	}
	return nil, nil
}

// failed renders an error, as far as the response has not begun.
func (g *Guard) failed(w *startWriter, r *http.Request, err error) error {
	e, _ := endpointOf(r)
	var he caddyhttp.HandlerError
	if !errors.As(err, &he) {
		errors.As(caddyhttp.Error(http.StatusInternalServerError, err), &he)
	}
	if w.started {
		// An error route would append its page to the stream (Caddy renders
		// errors whether or not a response has begun). What the client has to
		// know, the handler told in the stream.
		g.log.Error("reply broke off", zap.String("request_id", he.ID), zap.Error(err))
		return nil
	}
	if g.Errors == "pass" {
		return err
	}
	if he.StatusCode >= 500 {
		// Errors that we answer ourselves never reach Caddy's error log.
		g.log.Error("request failed", zap.Int("status", he.StatusCode), zap.String("request_id", he.ID),
			zap.String("site", e.site), zap.String("api", e.api), zap.String("error", errorText(err)))
	}
	writeError(w.Unwrap(), r, he.StatusCode, he.ID, err)
	return nil
}

// errorText is an error for the log, without the stack trace that Caddy's
// HandlerError prints.
func errorText(err error) string {
	var he caddyhttp.HandlerError
	if errors.As(err, &he) && he.Err != nil {
		return he.Err.Error()
	}
	return err.Error()
}

// answer sets the header that every answer has, and answers what needs no
// key.
func (g *Guard) answer(w http.ResponseWriter, r *http.Request, e endpoint) (answered bool, err error) {
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	allowed := origin != "" && g.originAllowed(r, e.site, origin)
	if allowed {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "X-Thread-Id, Retry-After, RateLimit-Policy")
	}

	if r.Method == http.MethodOptions {
		return true, preflight(w, r, e, origin, allowed)
	}
	if !e.allows(r.Method) {
		h.Set("Allow", e.methods())
		return false, fail(http.StatusMethodNotAllowed, "method_not_allowed",
			fmt.Sprintf("this endpoint takes %s, not %s", strings.Split(e.methods(), ",")[0], r.Method), nil)
	}
	if g.RateLimitPolicy != "" {
		h.Set("RateLimit-Policy", g.RateLimitPolicy)
	}
	return false, nil
}

// refused completes the header of an error.
func refused(w http.ResponseWriter, r *http.Request, err error) error {
	var he caddyhttp.HandlerError
	if errors.As(err, &he) && he.StatusCode == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	return err
}

// preflight answers OPTIONS. Clients of the 5.0 and 6.0 releases set a
// User-Agent header in fetch, which some browsers then ask for: the requested
// headers are allowed as they are asked for.
func preflight(w http.ResponseWriter, r *http.Request, e endpoint, origin string, allowed bool) error {
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Method")
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Allow", e.methods())
	if origin != "" && !allowed {
		return fail(http.StatusForbidden, "origin_not_allowed", originRefusal(origin), nil)
	}
	if allowed {
		h.Set("Access-Control-Allow-Methods", e.methods())
		headers := r.Header.Get("Access-Control-Request-Headers")
		if headers == "" || len(headers) > 1000 {
			headers = "authorization, content-type, x-api-key, user-agent"
		}
		h.Set("Access-Control-Allow-Headers", headers)
		h.Set("Access-Control-Max-Age", "7200")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func originRefusal(origin string) string {
	if len(origin) > 200 {
		origin = origin[:200]
	}
	return fmt.Sprintf("the origin %q may not use this site's API; add it to the key's origins", origin)
}

// originAllowed tells whether a browser page of an origin may read what we
// answer: the request's own host, the site's address, and the origins of any
// key of the site. Whether the origin may use the one key that was sent is
// checked once the key is known (admit).
func (g *Guard) originAllowed(r *http.Request, site, origin string) bool {
	return sameHost(r, origin) || g.app.OriginAllowed(site, origin)
}

// sameHost tells whether an origin is the host that the request came to.
func sameHost(r *http.Request, origin string) bool {
	_, host, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(host, r.Host)
}

// startWriter knows whether a response has begun.
type startWriter struct {
	caddyhttp.ResponseWriterWrapper
	started bool
}

func (w *startWriter) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.started = true
	}
	w.ResponseWriterWrapper.WriteHeader(status)
}

func (w *startWriter) Write(p []byte) (int, error) {
	w.started = true
	return w.ResponseWriterWrapper.Write(p)
}

// FlushError marks the response as begun: a flush sends the header.
func (w *startWriter) FlushError() error {
	w.started = true
	return http.NewResponseController(w.ResponseWriterWrapper.ResponseWriter).Flush()
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Guard)(nil)
	_ caddyhttp.MiddlewareHandler = (*Guard)(nil)
)
