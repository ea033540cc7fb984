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
)

// part is a part of the API. Each has a route of its own.
type part struct {
	// api names it in MatchAPI and in the names of limits.
	api string
	// only is the word after "only" that serves the part. Parts that need each
	// other share one.
	only string
	// handler returns the handler at the end of the route.
	handler func(s *settings) json.RawMessage
}

// parts are the parts of the API in the order of their routes.
var parts = []part{
	{apiAssistant, apiAssistant, func(s *settings) json.RawMessage {
		a := s.assistant
		a.Sites = s.sites
		return module("docs_assistant", &a)
	}},
	{apiSearch, apiSearch, func(s *settings) json.RawMessage {
		return module("docs_search", &handlers.Search{Sites: s.sites, MaxBody: s.assistant.MaxBody})
	}},
}

// onlyNames are the words that may follow "only".
func onlyNames() (names []string) {
	for _, p := range parts {
		if !slices.Contains(names, p.only) {
			names = append(names, p.only)
		}
	}
	return names
}

// routes expands a directive into the routes of the parts that it serves: the
// named ones, or all.
func (s *settings) routes(matcher caddy.ModuleMap, only ...string) (routes []httpcaddyfile.ConfigValue) {
	for _, p := range parts {
		if len(only) > 0 && !slices.Contains(only, p.only) {
			continue
		}
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
// It is terminal, and its handlers are flat: nothing falls through to the
// site, and errors go to docs_api, the outermost, which renders them.
func (s *settings) route(p part, matcher caddy.ModuleMap) httpcaddyfile.ConfigValue {
	limits := s.limits.of(p.api)

	match := maps.Clone(matcher)
	if match == nil {
		match = caddy.ModuleMap{}
	}
	match["docs_api"] = caddyconfig.JSON(&handlers.MatchAPI{Only: p.api, Sites: s.sites}, nil)

	chain := append([]json.RawMessage{
		module("docs_api", &handlers.Guard{
			Errors: s.guard.Errors, RateLimitPolicy: limits.PolicyHeader(), Define: s.guard.Define,
		}),
		module("authentication", &caddyauth.Authentication{
			ProvidersRaw: caddy.ModuleMap{"docs_key": json.RawMessage("{}")},
		}),
	}, limits.Handlers(p.api)...)

	return httpcaddyfile.ConfigValue{Class: "route", Value: caddyhttp.Route{
		MatcherSetsRaw: caddyhttp.RawMatcherSets{match},
		HandlersRaw:    append(chain, p.handler(s)),
		Terminal:       true,
	}}
}

func module(name string, v any) json.RawMessage {
	return caddyconfig.JSONModuleObject(v, "handler", name, nil)
}
