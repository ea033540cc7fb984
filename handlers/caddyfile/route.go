package caddyfile

import (
	"encoding/json"
	"maps"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"

	"github.com/caddy-docs/caddy-docs/handlers"
)

// route expands a directive into one route of handlers, all of them visible
// in `caddy adapt`:
//
//	match docs_api (and the operator's matcher)
//	→ docs_api → authentication {docs_key} → docs_client_limit
//	→ rate_limit → docs_assistant or docs_search
//
// It is terminal, and its handlers are flat: nothing falls through to the
// site, and errors go to docs_api, the outermost, which renders them.
func (s *settings) route(api string, matcher caddy.ModuleMap) httpcaddyfile.ConfigValue {
	limits := s.limits.of(api)

	match := maps.Clone(matcher)
	if match == nil {
		match = caddy.ModuleMap{}
	}
	match["docs_api"] = caddyconfig.JSON(&handlers.MatchAPI{Only: api, Sites: s.sites}, nil)

	chain := append([]json.RawMessage{
		module("docs_api", &handlers.Guard{
			Errors: s.guard.Errors, RateLimitPolicy: limits.PolicyHeader(), Define: s.guard.Define,
		}),
		module("authentication", &caddyauth.Authentication{
			ProvidersRaw: caddy.ModuleMap{"docs_key": json.RawMessage("{}")},
		}),
	}, limits.Handlers(api)...)
	if api == apiAssistant {
		a := s.assistant
		a.Sites = s.sites
		chain = append(chain, module("docs_assistant", &a))
	} else {
		chain = append(chain, module("docs_search", &handlers.Search{Sites: s.sites, MaxBody: s.assistant.MaxBody}))
	}

	return httpcaddyfile.ConfigValue{Class: "route", Value: caddyhttp.Route{
		MatcherSetsRaw: caddyhttp.RawMatcherSets{match},
		HandlersRaw:    chain,
		Terminal:       true,
	}}
}

func module(name string, v any) json.RawMessage {
	return caddyconfig.JSONModuleObject(v, "handler", name, nil)
}
