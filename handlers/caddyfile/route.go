package caddyfile

import (
	"encoding/json"
	"maps"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

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
	match["docs_api"] = caddyconfig.JSON(apiMatcher{Only: api, Sites: s.sites}, nil)

	chain := []json.RawMessage{
		module("docs_api", guard{
			API: api, Sites: s.sites, Errors: s.errors,
			RateLimitPolicy: handlers.PolicyHeader(limits), Define: s.define,
		}),
		module("authentication", authentication{Providers: map[string]struct{}{"docs_key": {}}}),
	}
	chain = append(chain, limiters...)
	answer := answerer{Sites: s.sites, MaxBody: s.maxBody}
	if api == apiAssistant {
		answer.FinishEvent, answer.MaxConcurrentReplies = s.finishEvent, s.maxConcurrentReplies
	}
	chain = append(chain, module("docs_"+api, answer))

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

// The handlers' JSON, of which the handlers' own types are the reference.
type (
	apiMatcher struct {
		Only  string   `json:"only,omitempty"`
		Sites []string `json:"sites,omitempty"`
	}
	guard struct {
		API             string      `json:"api,omitempty"`
		Sites           []string    `json:"sites,omitempty"`
		Errors          string      `json:"errors,omitempty"`
		RateLimitPolicy string      `json:"rate_limit_policy,omitempty"`
		Define          *definition `json:"define,omitempty"`
	}
	authentication struct {
		Providers map[string]struct{} `json:"providers"`
	}
	answerer struct {
		Sites                []string `json:"sites,omitempty"`
		MaxBody              int64    `json:"max_body,omitempty"`
		FinishEvent          string   `json:"finish_event,omitempty"`
		MaxConcurrentReplies int      `json:"max_concurrent_replies,omitempty"`
	}
)
