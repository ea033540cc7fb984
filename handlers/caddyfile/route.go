package caddyfile

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"

	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/ui"
)

// part is a part of the API. Each has its own route.
type part struct {
	// api names it in MatchAPI and in the names of limits.
	api string
	// only is the word after "only" that serves the part. Parts that need each
	// other share one. Empty: the part comes with the assistant and the search.
	only string
	// new makes the handler at the end of the route, docs_ and api.
	new func(s *settings) any
	// open parts need no key. Their limits are their own.
	open bool
	// site is set for parts on the site's own paths. Their routes match every
	// request and let those of others pass.
	site bool
}

// parts are the parts of the API in the order of their routes.
var parts = []part{
	{api: apiAssistant, only: apiAssistant, new: func(s *settings) any {
		a := s.assistant
		a.Sites = s.sites
		return &a
	}},
	{api: apiSearch, only: apiSearch, new: func(s *settings) any {
		return &handlers.Search{KeyedRoute: s.keyed(), MaxBody: s.assistant.MaxBody}
	}},
	{api: apiFeedback, only: apiAssistant, new: func(s *settings) any { return &handlers.Feedback{KeyedRoute: s.keyed()} }},
	{api: apiEvents, only: apiSearch, new: func(s *settings) any { return &handlers.Events{KeyedRoute: s.keyed()} }},
	{api: "token", only: apiWidget, open: true, new: func(s *settings) any { return &handlers.Token{Route: s.serving()} }},
	{api: "ask", only: apiWidget, open: true, new: func(s *settings) any {
		return &ui.Ask{Route: s.serving(), MaxConcurrentReplies: s.assistant.MaxConcurrentReplies}
	}},
	{api: apiWidget, only: apiWidget, open: true, new: func(s *settings) any {
		w := s.widget
		w.Inject = false
		return &w
	}},
	{api: "page", only: apiSearch, new: func(s *settings) any { return &handlers.Page{KeyedRoute: s.keyed()} }},
	{api: partMCP, only: partMCP, open: true, new: (*settings).mcp},
	{api: partMCP, only: partMCP, site: true, new: (*settings).mcp},
	{api: partLLMs, only: partLLMs, site: true, new: func(s *settings) any {
		return &handlers.LLMs{Route: s.serving(), Define: s.guard.Define, ContentSignal: s.llms.ContentSignal}
	}},
	{api: "contract", site: true, new: func(*settings) any { return new(handlers.Contract) }},
	{api: partNotFound, only: partNotFound, site: true, new: func(s *settings) any {
		return &ui.NotFound{Route: s.serving(), Define: s.guard.Define, List: s.widget.Inject, Ask: s.ask}
	}},
}

// serving names the sites of a directive in a handler.
func (s *settings) serving() handlers.Route { return handlers.Route{Sites: s.sites} }

// keyed is serving for a handler that wants a key.
func (s *settings) keyed() handlers.KeyedRoute { return handlers.KeyedRoute{Route: s.serving()} }

// among reports whether the words after "only" serve the part.
func (p *part) among(only []string) bool {
	if p.only == "" {
		return slices.Contains(only, apiAssistant) || slices.Contains(only, apiSearch)
	}
	return slices.Contains(only, p.only)
}

// mcp is the handler of the MCP server.
func (s *settings) mcp() any {
	return &handlers.MCP{
		Route: s.serving(), RequireKey: s.mcpKey, SignIn: s.signIn, Unlimited: s.limits.off, ClientLimit: s.limits.IP, ToolLimit: s.limits.Organization,
	}
}

func onlyNames() (names []string) {
	for _, p := range parts {
		if p.only != "" && !slices.Contains(names, p.only) {
			names = append(names, p.only)
		}
	}
	return names
}

// routes expands a directive into the routes of the parts that it serves: the
// named ones, or all.
func (s *settings) routes(matcher caddy.ModuleMap, only ...string) (routes []httpcaddyfile.ConfigValue) {
	for _, p := range parts {
		if p.api == partNotFound && s.widget.Inject { // its pages get the tag, too
			routes = append(routes, s.inject(matcher))
		}
		if len(only) > 0 && !p.among(only) || slices.Contains(s.off, p.only) {
			continue
		}
		s.ask = s.ask || p.api == "ask"
		routes = append(routes, s.route(p, matcher))
		s.guard.Define = nil // the first route defines the site
	}
	return routes
}

// route expands a part of the API into one route of handlers, all of them
// visible in `caddy adapt`:
//
//	match docs_api (and the operator's matcher)
//	→ docs_api → authentication {docs_key} → docs_client_limit
//	→ rate_limit → docs_assistant, docs_search …
//
// Open parts have no authentication.
//
// It is terminal, and its handlers are flat: nothing falls through to the
// site, and errors go to docs_api, the outermost, which renders them. Parts on
// the site's own paths are a route with their handler alone, which lets all
// other requests pass.
func (s *settings) route(p part, matcher caddy.ModuleMap) httpcaddyfile.ConfigValue {
	handler := module("docs_"+p.api, p.new(s))
	if p.site {
		return configRoute(matcher, caddyhttp.Route{HandlersRaw: []json.RawMessage{handler}})
	}
	limits := s.limits.of(p.api, p.open)

	match := maps.Clone(matcher)
	if match == nil {
		match = caddy.ModuleMap{}
	}
	match["docs_api"] = caddyconfig.JSON(&handlers.MatchAPI{Only: p.api, Sites: s.sites}, nil)

	chain := []json.RawMessage{module("docs_api", &handlers.Guard{
		Errors: s.guard.Errors, RateLimitPolicy: limits.PolicyHeader(), Define: s.guard.Define,
	})}
	if !p.open {
		chain = append(chain, module("authentication", &caddyauth.Authentication{
			ProvidersRaw: caddy.ModuleMap{"docs_key": json.RawMessage("{}")},
		}))
	}
	chain = append(chain, limits.Handlers(p.api)...)

	return configRoute(match, caddyhttp.Route{HandlersRaw: append(chain, handler), Terminal: true})
}

// inject is the route that puts the widget's tag into pages. It is not
// terminal: it wraps the handlers of the rest of the block.
func (s *settings) inject(matcher caddy.ModuleMap) httpcaddyfile.ConfigValue {
	w := module("docs_widget", &ui.Widget{Route: s.serving(), Inject: true})
	return configRoute(matcher, caddyhttp.Route{HandlersRaw: []json.RawMessage{w}})
}

// configRoute is a route of the site block with a matcher, if there is one.
func configRoute(matcher caddy.ModuleMap, r caddyhttp.Route) httpcaddyfile.ConfigValue {
	if len(matcher) > 0 {
		r.MatcherSetsRaw = caddyhttp.RawMatcherSets{matcher}
	}
	return httpcaddyfile.ConfigValue{Class: "route", Value: r}
}

func module(name string, v any) json.RawMessage {
	return caddyconfig.JSONModuleObject(v, "handler", name, nil)
}
