package handlers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"golang.org/x/net/http/httpguts"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// SignIn makes clients of the MCP server sign in with the site's own identity
// provider. What the access token says of the person is handed to the site's
// locks as headers, like those that forward_auth copies. This module is the
// resource server of OAuth alone: it has no users and issues no tokens.
type SignIn struct {
	// The URL of an identity provider that speaks OpenID Connect, exactly as its
	// tokens name it. https, except on localhost. Required.
	Issuer string `json:"issuer"`

	// What a token must have in aud. Default: the URL of the MCP server, which
	// clients ask for as the resource (RFC 8707). Set it for providers that don't
	// know resources.
	Audience string `json:"audience,omitempty"`

	// The headers that locks see, with the claims that they are made of. Lists are
	// joined with commas. Dots lead into objects: realm_access.roles.
	Headers map[string]string `json:"headers,omitempty"`

	// The scopes that clients ask the provider for. Default: what they choose.
	Scopes []string `json:"scopes,omitempty"`

	// The client as which the provider is asked about each token (RFC 7662).
	// Placeholders are replaced. Default: tokens are JWTs, checked by the
	// provider's keys.
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`

	issuer *access.Issuer
}

// provision prepares what verifies tokens.
func (s *SignIn) provision() (err error) {
	s.issuer = &access.Issuer{URL: s.Issuer}
	if s.issuer.ClientID, err = options.Replaced("client_id", s.ClientID); err != nil {
		return err
	}
	s.issuer.ClientSecret, err = options.Replaced("client_secret", s.ClientSecret)
	return err
}

func (s *SignIn) Validate() error {
	c := new(options.Checker)
	u, err := url.Parse(s.Issuer)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		c.Fail("issuer", "%q must be the URL of an identity provider, like https://id.acme.com", s.Issuer)
	case u.Scheme == "http" && !access.IsLoopback(u.Hostname()):
		c.Fail("issuer", "%q must begin with https://: an attacker in between could sign in as anyone", s.Issuer)
	}
	if strings.ContainsAny(s.Audience, " {}") {
		c.Fail("audience", "%q must be a URL or a name, without spaces and placeholders", s.Audience)
	}
	for name, claim := range s.Headers {
		switch canonical := http.CanonicalHeaderKey(name); {
		case !httpguts.ValidHeaderFieldName(name) || claim == "":
			c.Fail("headers", "%q must be the name of a header, with a claim", name)
		case slices.Contains([]string{"Authorization", "Cookie", "Host", "X-Api-Key"}, canonical) || reach.Unseen(canonical):
			c.Fail("headers", "%s is a header that requests already have; choose one like Remote-User", name)
		}
	}
	for _, scope := range s.Scopes {
		if scope == "" || strings.ContainsAny(scope, " \"\\") {
			c.Fail("scopes", "%q must be a scope without spaces and quotes", scope)
		}
	}
	if (s.ClientID == "") != (s.ClientSecret == "") {
		c.Fail("client_id", "client_id and client_secret belong together; write both or none")
	}
	return c.Err()
}

// resourceMetadata is where clients read who signs people in (RFC 9728).
const resourceMetadata = "/.well-known/oauth-protected-resource"

// resource is the URL of the MCP server that a request is for, by the site's
// url: a Host header of the client's choice must not decide for whom a token
// has to be. metadata is that of its metadata.
func resource(live *site.Site, r *http.Request) (address, metadata string, err error) {
	u, err := url.Parse(live.Config.URL)
	if err != nil || u.Host == "" {
		return "", "", Fail(http.StatusInternalServerError, "internal",
			"signing in needs the site's URL; please tell the operator to write url in the site's block", nil)
	}
	base := u.Scheme + "://" + u.Host
	original := OriginalURL(r).Path
	path := strings.TrimSuffix(strings.TrimPrefix(original, resourceMetadata), resourceMetadata)
	if path == "" || path == "/" { // where older clients look
		path = live.Prefix + "/mcp"
	}
	path = (&url.URL{Path: path}).EscapedPath()
	if original != r.URL.Path { // below a prefix, where the root isn't this module's
		return base + path, base + path + resourceMetadata, nil
	}
	return base + path, base + resourceMetadata + path, nil
}

// described returns the site whose metadata a request is for, nil for other
// requests.
func (m *MCP) described(r *http.Request) *site.Site {
	for _, path := range []string{r.URL.Path, OriginalURL(r).Path} {
		rest, ok := strings.CutSuffix(path, resourceMetadata)
		if !ok {
			rest, ok = strings.CutPrefix(path, resourceMetadata)
		}
		if m.SignIn == nil || !ok || !m.app.AwaitStart(r.Context()) {
			continue
		}
		if e, ok := parsePath(rest); ok && e.api == apiMCP && m.serves(e.site, r.Host) {
			return m.app.Site(e.site)
		}
		for _, live := range m.app.Served(m.Sites, r.Host) {
			if rest == live.Prefix+"/mcp" || rest == "" || rest == "/" {
				return live
			}
		}
	}
	return nil
}

// metadata serves the RFC 9728 document of an MCP server.
func (s *SignIn) metadata(w http.ResponseWriter, r *http.Request, live *site.Site) error {
	address, _, err := resource(live, r)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Headers", "*")
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age=300")
	return json.NewEncoder(w).Encode(struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{address, []string{s.Issuer}, s.Scopes, []string{"header"}, live.Title()})
}

// person makes a request that of the person whom its access token proves: locks
// see the named headers, and none in which the client says who it is. It takes the
// named headers from all others. The error is 401 without a valid token, unless
// the request has a key.
func (s *SignIn) person(w http.ResponseWriter, r *http.Request, live *site.Site, log *zap.Logger) error {
	for name := range s.Headers {
		r.Header.Del(name)
	}
	scheme, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if bearer = strings.TrimSpace(bearer); !strings.EqualFold(scheme, "Bearer") || strings.HasPrefix(bearer, access.Prefix) {
		bearer = ""
	}
	if _, known := IdentityOf(r); known && bearer == "" {
		return nil
	}
	address, metadata, err := resource(live, r)
	if err != nil {
		return err
	}
	challenge := fmt.Sprintf("Bearer resource_metadata=%q", metadata)
	if len(s.Scopes) > 0 {
		challenge += fmt.Sprintf(", scope=%q", strings.Join(s.Scopes, " "))
	}
	if bearer == "" {
		w.Header().Set("WWW-Authenticate", challenge)
		return Fail(http.StatusUnauthorized, "unauthorized", "sign in to read this documentation: the header WWW-Authenticate tells MCP clients where", nil)
	}
	claims, err := s.issuer.Claims(r.Context(), bearer, cmp.Or(s.Audience, address))
	if errors.Is(err, access.ErrToken) {
		log.Debug("an access token was refused", zap.String("site", live.Name), zap.Error(err))
		w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token"`)
		return Fail(http.StatusUnauthorized, "unauthorized", "this access token is not valid here, or no longer valid; sign in again", nil)
	}
	if err != nil {
		w.Header().Set("Retry-After", "5")
		return Fail(http.StatusServiceUnavailable, "search_unavailable", "the identity provider is not responding; try again in a few seconds", err)
	}
	for name := range r.Header { // forward_auth, which passes a person, deletes those that it copies
		if !reach.Unseen(name) && !ofConnection(r, name) {
			delete(r.Header, name)
		}
	}
	for name, claim := range s.Headers {
		if value := headerValue(claimOf(claims, claim)); value != "" {
			r.Header.Set(name, value)
		}
	}
	reach.SignIn(r)
	return nil
}

// ofConnection reports whether a header describes the client's program or its way
// to the server, not the person. Without those that client_ip reads, a client
// would have the address of the proxy in front of Caddy.
func ofConnection(r *http.Request, name string) bool {
	switch name {
	case "User-Agent", "Accept-Language", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host":
		return true
	}
	srv, ok := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	return ok && slices.ContainsFunc(srv.ClientIPHeaders, func(of string) bool { return strings.EqualFold(of, name) })
}

// claimOf returns a claim by its name, or by the names that lead to it.
func claimOf(claims map[string]any, name string) any {
	if v, ok := claims[name]; ok { // some names are URLs
		return v
	}
	outer, inner, ok := strings.Cut(name, ".")
	if object, isObject := claims[outer].(map[string]any); ok && isObject {
		return claimOf(object, inner)
	}
	return nil
}

// headerValue is a claim as the value of a header, "" for what can't be one. An
// element with a comma would be two.
func headerValue(claim any) string {
	var out string
	switch v := claim.(type) {
	case string:
		out = v
	case bool:
		out = strconv.FormatBool(v)
	case float64:
		out = strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		var all []string
		for _, e := range v {
			if s, ok := e.(string); ok && s != "" && !strings.Contains(s, ",") {
				all = append(all, s)
			}
		}
		out = strings.Join(all, ",")
	}
	if !httpguts.ValidHeaderFieldValue(out) {
		return ""
	}
	return strings.TrimSpace(out)
}

// MatchSignedIn is http.matchers.docs_signed_in. It matches the requests for
// pages that this module makes for a person who has signed in to the MCP
// server, and no others: no client can send one. Locks let them pass their
// login, which they have no cookie for, and decide by the headers of sign_in.
type MatchSignedIn struct{}

func (MatchSignedIn) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.matchers.docs_signed_in", New: func() caddy.Module { return new(MatchSignedIn) }}
}

// UnmarshalCaddyfile reads docs_signed_in, which takes no arguments.
func (*MatchSignedIn) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	for d.Next() {
		if d.NextArg() {
			return d.Errf("docs_signed_in takes no arguments; unexpected argument %q", d.Val())
		}
	}
	return nil
}

// MatchWithError reports whether the request is on behalf of a person.
func (MatchSignedIn) MatchWithError(r *http.Request) (bool, error) { return reach.SignedIn(r), nil }

var _ caddyhttp.RequestMatcherWithError = MatchSignedIn{} // interface guard
