package handlers

import (
	"errors"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/insights"
)

// Token is http.handlers.docs_token: POST /v1/token/{domain}, which gives the
// widget a browser token. It needs no key, so that none is part of a page. The
// token works for 15 minutes, for this site, on pages of the origin that asked,
// and from the client's network (the /24 of an IPv4 address, the /48 of an IPv6
// address). The origin must be the request's own host, that of the site's URL,
// or one that a key of the site names.
type Token struct {
	Route
}

func (Token) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_token", New: func() caddy.Module { return new(Token) }}
}

func (t *Token) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	e, ok := endpointOf(r)
	if !ok || e.api != apiToken {
		return next.ServeHTTP(w, r)
	}
	site, err := t.Open(w, r, e.site)
	if err != nil {
		return err
	}
	origin := r.Header.Get("Origin")
	switch {
	case origin == "" || origin == "null":
		return Fail(http.StatusForbidden, "origin_missing", "tokens are for pages in browsers, which send an Origin header; programs use an API key", nil)
	case !ownPage(r, site, origin) && !site.Keys.ListsOrigin(site.Organization, site.Name, origin):
		if sameHost(r, origin) {
			return unknownHost()
		}
		return Fail(http.StatusForbidden, "origin_not_allowed", originRefusal(origin), nil)
	}
	writeJSON(w, http.StatusOK, struct {
		Token     string `json:"token"`
		ExpiresIn int    `json:"expiresIn"`
	}{
		t.app.Shared().Tokens.Issue(r.Context(), access.Token{Site: site.Name, Origin: origin, Address: address(r)}, time.Now()),
		int(access.TokenLife.Seconds()),
	})
	return nil
}

// authenticateToken is Authenticate for a browser token.
func (ka *KeyAuth) authenticateToken(w http.ResponseWriter, r *http.Request, text string) (caddyauth.User, bool, error) {
	refuse := func(code, message string) (caddyauth.User, bool, error) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		reach.Keep(r, refusedKey, &problem{message: message, code: code})
		return caddyauth.User{}, false, nil
	}
	e, ok := endpointOf(r)
	if !ok || !ka.app.AwaitStart(r.Context()) {
		return refuse("token_invalid", "this token is not valid here")
	}
	err := ka.app.Shared().Tokens.Check(r.Context(), text, access.Token{Site: e.site, Origin: r.Header.Get("Origin"), Address: address(r)}, time.Now())
	switch {
	case errors.Is(err, access.ErrTokenExpired):
		return refuse("token_expired", "this token has expired; get another one at /v1/token/{domain}")
	case errors.Is(err, access.ErrTokenSite):
		return refuse("token_site", "this token is for another site")
	case errors.Is(err, access.ErrTokenOrigin):
		return refuse("token_origin", "this token is for pages of another origin")
	case errors.Is(err, access.ErrTokenNetwork):
		return refuse("token_network", "this token is for a client on another network; get another one at /v1/token/{domain}")
	}
	site := ka.app.Site(e.site)
	if err != nil || site == nil {
		return refuse("token_invalid", "this token is not valid here; get another one at /v1/token/{domain}")
	}
	return accept(r, identity{&access.Key{ID: string(insights.Widget), Organization: site.Organization, Sites: []string{site.Name}}, insights.Widget})
}
