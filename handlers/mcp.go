package handlers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/agents"
	"github.com/caddy-docs/caddy-docs/contract"
	"github.com/caddy-docs/caddy-docs/handlers/fallback"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// MCP is http.handlers.docs_mcp, a server of the Model Context Protocol for
// each site, at
//
//	POST /v1/mcp/{domain}       behind the handler docs_api
//	POST /v1/mcp/{domain}/full  the same with optional arguments
//	POST /mcp                   on the site's own host, where the site has nothing
//
// Its tools are search and fetch, and its resources are the pages. It is open
// without a key: the chat hosts that most people use can't send one. A key
// that is sent must be valid, and the credentials that open a locked page to
// its reader open it here, too.
//
// On the host of a site it also describes itself to crawlers at
// /.well-known/mcp, and answers the paths below /.well-known/ at which
// clients look for OAuth with 404, unless the site has a file there: a site
// made of one page would answer with HTML, which clients take for a login.
type MCP struct {
	Route

	// Closes the server to requests without a key. Default: false.
	RequireKey bool `json:"require_key,omitempty"`

	// Makes clients sign in as a person. Default: the server is open to strangers,
	// who see the public pages.
	SignIn *SignIn `json:"sign_in,omitempty"`

	// The requests that each client may send. Default: 5,000 an hour.
	ClientLimit *Limit `json:"client_limit,omitempty"`

	// The calls of each tool of a site. Default: 10,000 an hour.
	ToolLimit *Limit `json:"tool_limit,omitempty"`

	// Turns both limits off. Default: false.
	Unlimited bool `json:"unlimited,omitempty"`

	// A site that this route defines, as the directive docs does.
	Define *options.Definition `json:"define,omitempty"`

	log   *zap.Logger
	guard *Guard

	clients, tools *ClientLimit // nil without limits

	mu      sync.Mutex
	servers map[string]mcpServer // by site, URL and whether it is full
}

// mcpServer is the server of a site until the site's description changes.
type mcpServer struct {
	about   agents.About
	live    *site.Site
	handler http.Handler
}

func (*MCP) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_mcp", New: func() caddy.Module { return new(MCP) }}
}

// Provision finds the app and the counts of the limits, which all routes with
// the same limit share.
func (m *MCP) Provision(ctx caddy.Context) error {
	m.log = ctx.Logger()
	if err := m.Route.Provision(ctx); err != nil {
		return err
	}
	m.guard = &Guard{app: m.app, log: m.log}
	m.servers = make(map[string]mcpServer)
	if m.SignIn != nil {
		if err := m.SignIn.provision(); err != nil {
			return err
		}
	}
	if m.Unlimited {
		return m.Define.Provision(ctx)
	}
	var err, err2 error
	m.clients, err = m.limit(ctx, "docs_mcp_ip", m.ClientLimit, 5_000)
	m.tools, err2 = m.limit(ctx, "docs_mcp_tool", m.ToolLimit, 10_000)
	return errors.Join(err, err2, m.Define.Provision(ctx))
}

// limit is a limit with a count that all routes with the same limit share.
func (m *MCP) limit(ctx caddy.Context, zone string, l *Limit, events int) (*ClientLimit, error) {
	c := &ClientLimit{Zone: zone, Limit: *cmp.Or(l, &Limit{events, caddy.Duration(time.Hour)})}
	return c, c.Provision(ctx)
}

func (m *MCP) Cleanup() error {
	return errors.Join(m.clients.Cleanup(), m.tools.Cleanup())
}

// WantsKey reports whether the server is for clients with a key alone.
func (m *MCP) WantsKey() bool { return m.RequireKey }

// PersonHeaders are the headers that locks see of a person who has signed in.
func (m *MCP) PersonHeaders() []string {
	if m.SignIn == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(m.SignIn.Headers))
}

// DefinedSite returns the site that this route defines, nil for none.
func (m *MCP) DefinedSite() *options.Definition { return m.Define }

func (m *MCP) Validate() error {
	c := new(options.Checker)
	c.Sites(m.Sites)
	c.Add(m.Define.Validate())
	for field, l := range map[string]*Limit{"client_limit": m.ClientLimit, "tool_limit": m.ToolLimit} {
		if l != nil {
			c.Within(field, l.Validate())
		}
	}
	if m.SignIn != nil {
		c.Within("sign_in", m.SignIn.Validate())
		if m.RequireKey {
			c.Fail("require_key", "can't be combined with sign_in, which also accepts keys; keep one of them")
		}
	}
	if m.Unlimited && (m.ClientLimit != nil || m.ToolLimit != nil) {
		c.Fail("unlimited", "can't be combined with client_limit or tool_limit; keep one of them")
	}
	return c.Err()
}

func (m *MCP) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if reach.IsInside(r) {
		return next.ServeHTTP(w, r)
	}
	if live := m.described(r); live != nil {
		return m.SignIn.metadata(w, r, live)
	}
	if e, ok := reach.Kept(r, endpointKey).(endpoint); ok { // behind docs_api
		if e.api != apiMCP {
			return next.ServeHTTP(w, r)
		}
		return m.serve(w, r, e)
	}
	if e, ok := parseRequest(r); ok {
		// A GET without a key: the matcher docs_api leaves it to the site's pages,
		// but clients expect 405 where there is no stream.
		if e.api == apiMCP && !m.RequireKey && m.app.AwaitStart(r.Context()) && m.app.Site(e.site) != nil && m.serves(e.site, r.Host) {
			return m.guarded(w, r, e)
		}
		return next.ServeHTTP(w, r)
	}
	path := OriginalURL(r).Path
	if !strings.HasSuffix(path, "/mcp") && !isDiscovery(path) && !slices.Contains(cardPaths, path) || !m.app.AwaitStart(r.Context()) {
		return next.ServeHTTP(w, r)
	}
	live, path, release := Hold(m.app, m.Sites, r)
	if live == nil {
		return next.ServeHTTP(w, r)
	}
	defer release()
	switch {
	case slices.Contains(cardPaths, path) && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return fallback.UnlessFile(w, r, next, func() bool { return live.HasFile(path) }, func() error { return m.card(w, r, live) })
	case isDiscovery(path) && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return fallback.UnlessFile(w, r, next, func() bool { return live.HasFile(path) }, func() error {
			http.Error(w, "404 page not found", http.StatusNotFound)
			return nil
		})
	case path != live.Prefix+"/mcp" || !live.Free(r.Context(), path):
		return next.ServeHTTP(w, r)
	}
	return m.guarded(w, r, endpoint{api: apiMCP, version: 1, site: live.Name})
}

// guarded answers like the API: with CORS, errors as JSON, and 405 for other
// methods.
func (m *MCP) guarded(w http.ResponseWriter, r *http.Request, e endpoint) error {
	reach.Keep(r, endpointKey, e)
	return m.guard.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error { return m.serve(w, r, e) }))
}

// cardPaths are where crawlers look for an MCP server. No standard names one yet.
var cardPaths = []string{"/.well-known/mcp", "/.well-known/mcp.json", "/.well-known/mcp/server-card.json"}

// card serves what registries read about the server.
func (m *MCP) card(w http.ResponseWriter, r *http.Request, live *site.Site) error {
	if status := live.Reach.Refuses(AsReader(r)); status != 0 {
		return caddyhttp.Error(status, nil)
	}
	about := live.Pages().About(BaseURL(live, r))
	about.Release = contract.Release()
	text, err := agents.Card(about, about.URL+"/mcp")
	if err != nil {
		return err
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	serveText(w, r, "application/json", text)
	return nil
}

// isDiscovery reports whether clients look for OAuth at a path.
func isDiscovery(path string) bool {
	name, ok := strings.CutPrefix(path, "/.well-known/")
	return ok && (strings.HasPrefix(name, "oauth-") || strings.HasPrefix(name, "openid-configuration")) || strings.HasSuffix(path, "/mcp/.well-known/openid-configuration")
}

// serve answers a request of the protocol.
func (m *MCP) serve(w http.ResponseWriter, r *http.Request, e endpoint) error {
	if token(r) != "" {
		if _, ok, _ := (&KeyAuth{m.app}).Authenticate(w, r); !ok {
			return Fail(http.StatusUnauthorized, "unauthorized", "this key is not valid; leave it out to read the public pages, or send another", nil)
		}
	}
	if m.SignIn != nil {
		if err := m.signIn(w, r, e.site); err != nil {
			return err
		}
	}
	live, key, err := m.admit(w, r, e.site, !m.RequireKey)
	if err != nil {
		return err
	}
	if !live.KnownHost(r.Host) {
		return unknownHost()
	}
	if origin := r.Header.Get("Origin"); origin != "" && !sameHost(r, origin) && !live.OriginAllowed(origin) {
		return Fail(http.StatusForbidden, "origin_not_allowed", originRefusal(origin), nil)
	}
	body, err := readBody(w, r, 0, 0)
	if err != nil {
		return err
	}
	if agents.Malformed(w, body) {
		return nil
	}
	tools := agents.Tools(body)
	if len(tools) > agents.MaxBatch {
		return Fail(http.StatusBadRequest, "bad_request", fmt.Sprintf("a batch may have at most %d messages", agents.MaxBatch), nil)
	}
	if err := m.count(w, r, live, tools); err != nil {
		return err
	}
	release, ok := live.Acquire()
	if !ok {
		return SearchFailed(w, retrieval.ErrNotReady)
	}
	defer release()
	for _, tool := range tools {
		if tool != "" {
			observe.Metrics.Tools.WithLabelValues(live.Name, tool).Inc()
		}
	}
	r = r.WithContext(site.WithKeyID(AsReader(r), askerOf(r, live, key).Key))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	// There are no sessions and no streams to resume.
	r.Header.Del("Mcp-Session-Id")
	r.Header.Del("Last-Event-ID")
	// The SDK wants clients to take both.
	r.Header.Set("Accept", "application/json, text/event-stream")
	m.server(live, r, e.full).ServeHTTP(agents.Refusals(w, body), r)
	return nil
}

// signIn makes the request that of its person.
func (m *MCP) signIn(w http.ResponseWriter, r *http.Request, name string) error {
	if !m.app.AwaitStart(r.Context()) {
		return SearchFailed(w, retrieval.ErrNotReady)
	}
	live := m.app.Site(name)
	if live == nil || !m.serves(name, r.Host) {
		return unknownSite()
	}
	if m.clients != nil { // before anything is asked of the provider
		if left, wait := m.clients.limiter.Take(client(r)); left < 0 {
			return overLimit(w, wait)
		}
	}
	return m.SignIn.person(w, r, live, m.log)
}

// count counts the messages of a request by their tools, or returns the error 429.
func (m *MCP) count(w http.ResponseWriter, r *http.Request, live *site.Site, tools []string) error {
	if m.clients == nil {
		return nil
	}
	for i, tool := range tools {
		left, wait := 0, time.Duration(0)
		if i > 0 || m.SignIn == nil { // signIn has counted the first
			left, wait = m.clients.limiter.Take(client(r))
		}
		if left >= 0 && tool != "" {
			left, wait = m.tools.limiter.Take(live.Name + " " + tool)
		}
		if left < 0 {
			return overLimit(w, wait)
		}
	}
	return nil
}

// maxServers bounds the servers of a route: the URL of a site without one in
// its configuration is that of the request.
const maxServers = 100

// server returns the MCP server of a site, a new one if the site's description
// has changed.
func (m *MCP) server(live *site.Site, r *http.Request, full bool) http.Handler {
	base := BaseURL(live, r)
	about := live.Pages().About(base)
	about.Full, about.Release = full, contract.Release()
	key := fmt.Sprint(live.Name, " ", base, " ", full)
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.servers[key]; ok && s.live == live && reflect.DeepEqual(s.about, about) {
		return s.handler
	}
	if len(m.servers) >= maxServers {
		clear(m.servers)
	}
	handler := agents.NewHandler(about, live.AgentDocs(base))
	m.servers[key] = mcpServer{about, live, handler}
	return handler
}
