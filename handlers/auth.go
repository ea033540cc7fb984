package handlers

import (
	"context"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
)

// KeyAuth is http.authentication.providers.docs_key. It authenticates requests
// by a key of the app docs, sent as
//
//	Authorization: Bearer svc_dsc_…
//	X-API-Key: svc_dsc_…
//
// the second for sites whose own login needs the Authorization header. It
// answers all unknown, revoked and expired keys alike.
//
// It sets
//
//	{http.auth.user.id}            the key's ID
//	{http.auth.user.organization}  its organization
//	{http.auth.user.sites}         the sites it is narrowed to, with commas
//	{http.auth.user.client}        the client IP, IPv6 as its /64
//	{http.auth.user.share}         whose count of the organization's limit it
//	                               uses: the keys', or the widget's
//
// The client IP is Caddy's {client_ip}, which respects trusted_proxies.
//
// It also takes the browser tokens of the handler docs_token, sent in the same
// way. Their ID is widget, and their organization that of the site in the
// request's path.
type KeyAuth struct {
	app *app.App
}

func (KeyAuth) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.authentication.providers.docs_key", New: func() caddy.Module { return new(KeyAuth) }}
}

// Provision takes the keys from the app docs.
func (ka *KeyAuth) Provision(ctx caddy.Context) (err error) {
	ka.app, err = DocsApp(ctx)
	return err
}

// Authenticate implements caddyauth.Authenticator. It never returns an
// error: Caddy logs errors, so that anyone could fill the log with wrong keys.
func (ka *KeyAuth) Authenticate(w http.ResponseWriter, r *http.Request) (caddyauth.User, bool, error) {
	text := token(r)
	if access.IsToken(text) {
		return ka.authenticateToken(w, r, text)
	}
	key, ok := ka.app.Shared().Keys.Authenticate(text)
	if !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return caddyauth.User{}, false, nil
	}
	return accept(r, identity{key, insights.API})
}

// accept sets the identity of a request.
func accept(r *http.Request, id identity) (caddyauth.User, bool, error) {
	reach.Keep(r, identityKey, id)
	key, share := id.key, id.key.Organization
	if id.source == insights.Widget {
		share += " widget" // organizations have no spaces
	}
	return caddyauth.User{
		ID: key.ID,
		Metadata: map[string]string{
			"organization": key.Organization,
			"sites":        strings.Join(key.Sites, ","),
			"client":       client(r),
			"share":        share,
		},
	}, true, nil
}

// token returns the key of a request. A Bearer token without the prefix of our
// keys belongs to the site's own login and doesn't hide X-API-Key.
func token(r *http.Request) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if value = strings.TrimSpace(value); strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(value, access.Prefix) {
		return value
	}
	return strings.TrimSpace(r.Header.Get("X-API-Key"))
}

// AsReader returns the context of a request for what is shown only to readers
// who can open it themselves.
func AsReader(r *http.Request) context.Context {
	return reach.WithReader(site.WithRequest(r.Context(), r), r, func(value string) bool {
		if scheme, token, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "Bearer") {
			value = token
		}
		return strings.HasPrefix(strings.TrimSpace(value), access.Prefix)
	})
}

// identityKey is what a request keeps its identity under.
const identityKey = "docs_key"

// identity wraps the key, so that a variable of the Caddyfile can't be mistaken for
// one.
type identity struct {
	key    *access.Key
	source string
}

// sourceOf returns where a request comes from: the widget if it was sent with a
// browser token, or else the API.
func sourceOf(r *http.Request) string {
	if id, ok := reach.Kept(r, identityKey).(identity); ok {
		return id.source
	}
	return insights.API
}

// IdentityOf returns the key that KeyAuth accepted, and false if there was
// none.
func IdentityOf(r *http.Request) (*access.Key, bool) {
	id, _ := reach.Kept(r, identityKey).(identity)
	return id.key, id.key != nil
}

// askerOf names the sender of a request that a site has admitted.
func askerOf(r *http.Request, live *site.Site, key *access.Key) site.Asker {
	from := site.Asker{Site: live, Source: sourceOf(r)}
	if key != nil && from.Source != insights.Widget { // a browser token is not a key
		from.Key = key.ID
	}
	return from
}

// client returns the name by which a request's client is counted.
func client(r *http.Request) string { return access.Client(address(r)) }

// address returns the IP of a request's client, respecting trusted_proxies.
func address(r *http.Request) string {
	ip, _ := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string)
	return ip
}

var _ caddyauth.Authenticator = (*KeyAuth)(nil) // interface guard
