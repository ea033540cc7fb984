package handlers

import (
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Route is the part of a handler that says which sites it serves.
type Route struct {
	// The sites that this route serves. Default: the sites whose url has the
	// request's host, or all sites if there are none.
	Sites []string `json:"sites,omitempty"`

	app *app.App
}

func (rt *Route) Provision(ctx caddy.Context) (err error) {
	rt.app, err = DocsApp(ctx)
	return err
}

// App returns the app docs.
func (rt *Route) App() *app.App { return rt.app }

// Validate checks the names of the sites.
func (rt *Route) Validate() error {
	c := new(options.Checker)
	c.Sites(rt.Sites)
	return c.Err()
}

// NamedSites returns the sites that the app docs must have when it starts.
func (rt *Route) NamedSites() []string { return rt.Sites }

// serves reports whether a request to a host may ask for a site here.
func (rt *Route) serves(name, host string) bool {
	if len(rt.Sites) > 0 {
		return slices.Contains(rt.Sites, name)
	}
	return rt.app.ServesAt(name, host)
}

// Open returns the site that a request asks for by name. The error is 404 for
// an unknown site, and 503 while the process starts or ends.
func (rt *Route) Open(w http.ResponseWriter, r *http.Request, name string) (*site.Site, error) {
	if !rt.app.AwaitStart(r.Context()) {
		return nil, SearchFailed(w, retrieval.ErrNotReady)
	}
	site := rt.app.Site(name)
	if site == nil || !rt.serves(name, r.Host) {
		return nil, unknownSite()
	}
	if rt.app.Exiting() {
		return nil, stopping(w, name)
	}
	if status := site.Reach.Refuses(AsReader(r)); status != 0 {
		return nil, Fail(status, "refused", "this client may not read the site's pages, so it can't search or ask", nil)
	}
	return site, nil
}

// admit is Open for a request that needs a key, unless it may be anonymous. It
// also returns the key, nil for an anonymous request. The error is 401 without
// an identity, and 403 for a site of another organization or key and for an
// origin that the key (or any key, for an anonymous request) does not allow.
// Handlers call it themselves, so that they stay closed when configured by
// hand without authentication.
func (rt *Route) admit(w http.ResponseWriter, r *http.Request, name string, anonymous bool) (*site.Site, *access.Key, error) {
	key, known := IdentityOf(r)
	if !known && !anonymous {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return nil, nil, Fail(http.StatusUnauthorized, "unauthorized", needsKey, nil)
	}
	site, err := rt.Open(w, r, name)
	if err != nil {
		return nil, nil, err
	}
	if known && !key.Opens(site.Organization, name) {
		return nil, nil, Fail(http.StatusForbidden, "wrong_site", "this key does not open this site; use a key of the site's organization", nil)
	}
	if origin := r.Header.Get("Origin"); origin != "" && !ownPage(r, site, origin) &&
		!(known && key.AllowsOrigin(origin)) && !(!known && site.OriginAllowed(origin)) {
		return nil, nil, Fail(http.StatusForbidden, "origin_not_allowed", originRefusal(origin), nil)
	}
	return site, key, nil
}

// RefuseOthers returns an error for the page of another site, which must not
// spend this one's model.
func RefuseOthers(r *http.Request, live *site.Site) error {
	origin := r.Header.Get("Origin")
	if origin == "" || ownPage(r, live, origin) {
		return nil
	}
	return Fail(http.StatusForbidden, "origin_not_allowed", originRefusal(origin), nil)
}

// ownPage reports whether an origin is the site's own: that of its URL, or the
// request's host. The host must be one that the operator named. Otherwise the
// page of a stranger whose domain name leads to this server would be the site's.
func ownPage(r *http.Request, site *site.Site, origin string) bool {
	return site.OwnOrigin(origin) || sameHost(r, origin) && site.KnownHost(r.Host)
}

// KeyedRoute is a Route for requests with a key.
type KeyedRoute struct {
	Route

	// Opens the endpoint to everyone, without a key. Limits by organization
	// then count all of them together.
	Anonymous bool `json:"anonymous,omitempty"`
}

// keyed gives requests to a part of the API to answer, with their sender, whose
// site is held, and the body, and passes others on.
func (rt *KeyedRoute) keyed(
	w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, api string, maxBody int64, answer func(site.Asker, []byte) error,
) error {
	e, ok := endpointOf(r)
	if !ok || e.api != api {
		return next.ServeHTTP(w, r)
	}
	live, key, err := rt.admit(w, r, e.site, rt.Anonymous)
	if err != nil {
		return err
	}
	body, err := readBody(w, r, maxBody, 0)
	if err != nil {
		return err
	}
	release, ok := live.Acquire()
	if !ok {
		return SearchFailed(w, retrieval.ErrNotReady)
	}
	defer release()
	return answer(askerOf(r, live, key), body)
}

// Interface guards of all handlers. What Caddy provisions and validates by an
// interface, it silently leaves alone without it.
var (
	_ = []caddyhttp.MiddlewareHandler{
		(*Assistant)(nil), (*ClientLimit)(nil), (*Contract)(nil), (*Events)(nil), (*Feedback)(nil), (*Guard)(nil),
		(*LLMs)(nil), (*MCP)(nil), (*Page)(nil), (*Search)(nil), (*Token)(nil),
	}
	_ = []caddy.Provisioner{
		(*Assistant)(nil), (*KeyAuth)(nil), (*ClientLimit)(nil), (*Contract)(nil), (*Events)(nil), (*Feedback)(nil),
		(*Guard)(nil), (*LLMs)(nil), (*MatchAPI)(nil), (*MCP)(nil), (*Page)(nil), (*Search)(nil), (*Token)(nil),
	}
	_ = []caddy.Validator{
		(*Assistant)(nil), (*ClientLimit)(nil), (*Events)(nil), (*Feedback)(nil), (*Guard)(nil), (*LLMs)(nil),
		(*MatchAPI)(nil), (*MCP)(nil), (*Page)(nil), (*Search)(nil), (*Token)(nil),
	}
	_ = []caddy.CleanerUpper{(*ClientLimit)(nil), (*LLMs)(nil), (*MCP)(nil)}
)
