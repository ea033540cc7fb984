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
//	→ docs_api → authentication {docs_key} → rate_limit (address)
//	→ rate_limit (organization) → docs_assistant or docs_search
//
// It is terminal, and its handlers are flat: nothing falls through to the
// site, and errors go to docs_api, the outermost, which renders them.
func (s *settings) route(api string, matcher caddy.ModuleMap) (httpcaddyfile.ConfigValue, error) {
	limits := s.limitsOf(api)
	limiters, err := handlers.LimitHandlers(api, limits)
	if err != nil {
		return httpcaddyfile.ConfigValue{}, err
	}

	match := maps.Clone(matcher)
	if match == nil {
		match = caddy.ModuleMap{}
	}
	match["docs_api"] = caddyconfig.JSON(&handlers.MatchAPI{Only: api, Sites: s.sites}, nil)

	chain := append([]json.RawMessage{
		module("docs_api", &handlers.Guard{
			API: api, Sites: s.sites, Errors: s.errors,
			RateLimitPolicy: handlers.PolicyHeader(limits), Define: s.define,
		}),
		module("authentication", &caddyauth.Authentication{
			ProvidersRaw: caddy.ModuleMap{"docs_key": json.RawMessage("{}")},
		}),
	}, limiters...)
	if api == apiAssistant {
		chain = append(chain, module("docs_assistant", &handlers.Assistant{
			Sites: s.sites, MaxBody: s.maxBody,
			FinishEvent: s.finishEvent, MaxConcurrentReplies: s.maxConcurrentReplies,
		}))
	} else {
		chain = append(chain, module("docs_search", &handlers.Search{Sites: s.sites, MaxBody: s.maxBody}))
	}

	return httpcaddyfile.ConfigValue{Class: "route", Value: caddyhttp.Route{
		MatcherSetsRaw: caddyhttp.RawMatcherSets{match},
		HandlersRaw:    chain,
		Terminal:       true,
	}}, nil
}

// limitsOf are SPEC.md's limits of an API, but for those that the operator
// wrote.
func (s *settings) limitsOf(api string) handlers.Limits {
	if s.unlimited {
		return handlers.Limits{}
	}
	limits := handlers.DefaultLimits(api)
	if l, ok := s.limits["ip"]; ok {
		limits.IP = &l
	}
	if l, ok := s.limits["organization"]; ok {
		limits.Organization = &l
	}
	return limits
}

func module(name string, v any) json.RawMessage {
	return caddyconfig.JSONModuleObject(v, "handler", name, nil)
}
