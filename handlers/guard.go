package handlers

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/contract"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Guard is http.handlers.docs_api, the outermost handler of the API. It
// answers preflights (before authentication: they carry no key), sets the
// CORS headers that let a browser read replies and errors alike, refuses
// methods that the endpoint does not have, and renders every error of the
// handlers behind it as JSON, {"error", "code", "requestId"}. The requestId is
// Caddy's {http.request.uuid}. The directives assistant, search and docs put
// this handler in front; handwritten JSON should too. The handlers behind it
// must not return an error once they have begun to respond.
type Guard struct {
	// Set to "pass" to hand errors to the site's own handle_errors (the error
	// routes of the server). Default: errors are rendered as JSON, as they also
	// are where the server has no error routes.
	Errors string `json:"errors,omitempty"`

	// The value of the RateLimit-Policy header. Default: no header.
	RateLimitPolicy string `json:"rate_limit_policy,omitempty"`

	// A site that this route defines, as the directive docs does.
	Define *options.Definition `json:"define,omitempty"`

	app *app.App
	log *zap.Logger
	// limit is the organization's, as the policy says; zero for none.
	limit Limit
}

func (Guard) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_api", New: func() caddy.Module { return new(Guard) }}
}

// Provision finds the app and checks the site that this route defines.
func (g *Guard) Provision(ctx caddy.Context) (err error) {
	g.log = ctx.Logger()
	if g.app, err = DocsApp(ctx); err != nil {
		return err
	}
	g.limit = organizationLimit(g.RateLimitPolicy)
	return g.Define.Provision(ctx)
}

// DefinedSite returns the site that this route defines, nil for none. The app
// docs asks for it when it starts.
func (g *Guard) DefinedSite() *options.Definition { return g.Define }

func (g *Guard) Validate() error {
	c := new(options.Checker)
	c.OneOf("errors", g.Errors, "pass")
	c.Add(g.Define.Validate())
	return c.Err()
}

func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	e, ok := endpointOf(r)
	if !ok { // configured without the docs_api matcher
		return next.ServeHTTP(w, r)
	}
	reach.AtAPI(r)
	g.app.AwaitStart(r.Context())
	err := g.serve(w, r, e, next)
	var he caddyhttp.HandlerError
	if err != nil && !errors.As(err, &he) {
		he = caddyhttp.HandlerError{StatusCode: http.StatusInternalServerError, Err: err}
	}
	g.countLimited(r, e, he.StatusCode)
	if err == nil {
		return nil
	}
	h := w.Header()
	if he.StatusCode == http.StatusUnauthorized {
		if h.Get("WWW-Authenticate") == "" {
			h.Set("WWW-Authenticate", "Bearer")
		}
		if p, ok := reach.Kept(r, refusedKey).(*problem); ok {
			err = p
		}
	}
	if he.StatusCode == http.StatusTooManyRequests && exceeded(r) == site.OverOrganizationLimit {
		if seconds, err := strconv.Atoi(h.Get("Retry-After")); err == nil { // caddy-ratelimit doesn't say what is left
			h.Add("RateLimit", rateLimit("organization", 0, time.Duration(seconds)*time.Second))
		}
	}
	// Pages of every origin can read errors. They say nothing that depends on
	// whether the site exists, unless the request has a key.
	allow(h, r.Header.Get("Origin"))
	id := RequestID(r)
	if he.StatusCode >= 500 { // errors handled here never reach Caddy's error log
		level := zap.ErrorLevel
		switch {
		case errors.Is(err, retrieval.ErrNotReady): // as during each start
			level = zap.InfoLevel
		case errors.Is(err, retrieval.ErrUnavailable), errors.Is(err, retrieval.ErrRefused): // the index logs and counts it
			level = zap.DebugLevel
		}
		g.log.Log(level, "request failed", zap.Int("status", he.StatusCode), zap.String("request_id", id),
			zap.String("site", e.site), zap.String("api", e.api), zap.Error(he.Err))
	}
	if g.Errors == "pass" && pass(w, r, he) {
		return nil
	}
	writeError(w, r, he.StatusCode, id, err)
	return nil
}

// exceeded returns the limit that refused a request, "" if none of this module's did.
func exceeded(r *http.Request) string {
	zone, _ := reach.Kept(r, "http.rate_limit.exceeded.name").(string)
	for _, by := range []string{site.OverClientLimit, site.OverOrganizationLimit} {
		if strings.HasPrefix(zone, "docs_") && strings.Contains(zone, "_"+by+"_") {
			return by
		}
	}
	return ""
}

// countLimited counts what a request used of the limit of its organization, or
// which limit refused it.
func (g *Guard) countLimited(r *http.Request, e endpoint, status int) {
	if status == http.StatusTooManyRequests {
		if by, live := exceeded(r), g.app.Site(e.site); by != "" && live != nil {
			g.app.Shared().Limits.Refused(live, e.api, by)
		}
		return
	}
	if key, ok := IdentityOf(r); ok && g.limit.MaxEvents > 0 {
		api := e.api
		if sourceOf(r) == insights.Widget {
			api += " (widget)"
		}
		g.app.Shared().Limits.Allowed(key.Organization, site.RateLimit{API: api, Events: g.limit.MaxEvents, Window: time.Duration(g.limit.Window)})
	}
}

// pass hands an error to the error routes of the server, and reports whether
// there are any. Caddy does the same with an error that is returned to it,
// but it then logs the request, and of its header X-API-Key, which it does not
// redact.
func pass(w http.ResponseWriter, r *http.Request, failed caddyhttp.HandlerError) bool {
	server, ok := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok || server.Errors == nil || len(server.Errors.Routes) == 0 {
		return false
	}
	r = server.Errors.WithError(r, failed)
	if original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok {
		r.Method, r.RequestURI = original.Method, original.RequestURI
		*r.URL = *original.URL // in place: placeholders read it, too
	}
	unhandled := caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(failed.StatusCode)
		return nil
	})
	if err := server.Errors.Routes.Compile(unhandled).ServeHTTP(w, r); err != nil {
		w.WriteHeader(failed.StatusCode)
	}
	return true
}

// serve sets the headers that every response has, and answers requests that
// need no key.
func (g *Guard) serve(w http.ResponseWriter, r *http.Request, e endpoint, next caddyhttp.Handler) error {
	h := w.Header()
	h.Add("Vary", "Origin")
	h.Set(releaseHeader, contract.Release())
	origin := r.Header.Get("Origin")
	// Whether the origin may use the key that was sent is checked once that
	// key is known (admit).
	live := g.app.Site(e.site)
	if origin != "" && (sameHost(r, origin) || live != nil && live.OriginAllowed(origin)) {
		allow(h, origin)
	}
	if r.Method == http.MethodOptions {
		preflight(w, r, e.allow(), origin)
		return nil
	}
	if !slices.Contains(e.methods(), r.Method) {
		h.Set("Allow", e.allow())
		return Fail(http.StatusMethodNotAllowed, "method_not_allowed",
			fmt.Sprintf("this endpoint takes %s, not %s", e.methods()[0], r.Method), nil)
	}
	if g.RateLimitPolicy != "" {
		h.Set("RateLimit-Policy", g.RateLimitPolicy)
	}
	return next.ServeHTTP(w, r)
}

// releaseHeader has the version of this module.
const releaseHeader = "X-Docs-Release"

// ignoredHeader names fields of the body that other servers read.
const ignoredHeader = "X-Ignored-Fields"

// exposed are the headers that scripts of other origins may read.
const exposed = "X-Thread-Id, X-Thread-Key, X-Total-Count, X-Results-Incomplete, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, " + ignoredHeader + ", " + releaseHeader

// allow lets pages of an origin read the response.
func allow(h http.Header, origin string) {
	if origin != "" {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", exposed)
	}
}

// preflight answers OPTIONS, alike for all sites and origins: strangers must
// not learn which sites there are, and a page can read why the request that
// follows is refused. It allows the headers that are asked for: the AI SDK's
// 5.0 and 6.0 releases set User-Agent in fetch, which some browsers then ask
// for.
func preflight(w http.ResponseWriter, r *http.Request, methods, origin string) {
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Method")
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Allow", methods)
	if origin != "" {
		allow(h, origin)
		h.Set("Access-Control-Allow-Methods", methods)
		headers := r.Header.Get("Access-Control-Request-Headers")
		if headers == "" || len(headers) > 1000 {
			headers = "authorization, content-type, x-api-key, user-agent"
		}
		h.Set("Access-Control-Allow-Headers", headers)
		h.Set("Access-Control-Max-Age", "7200")
	}
	w.WriteHeader(http.StatusNoContent)
}

func originRefusal(origin string) string {
	if len(origin) > 200 {
		origin = origin[:200]
	}
	return fmt.Sprintf("the origin %q may not use this site's API; add it to the key's origins", origin)
}

// sameHost reports whether an origin is the host of the request.
func sameHost(r *http.Request, origin string) bool {
	_, host, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(host, r.Host)
}
