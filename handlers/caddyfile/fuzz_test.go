package caddyfile

import (
	"encoding/json"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// FuzzOption feeds the parser of the global option tokens of any shape, also
// such as Caddy's own parser would refuse before.
func FuzzOption(f *testing.F) {
	for _, s := range []string{
		"docs {\n\tsite acme {\n\t\troot /srv\n\t\tversion 2.x /v2/*\n\t}\n}",
		"docs {\n\tllm http://a/v1 b {\n\t\tbudget 5k tokens per day\n\t}\n}",
		"docs {\n\tkey svc_dsc_0123456789abcdef {\n\t\torigins http://localhost:*\n\t}\n}",
		"docs {\n\tembedder meilisearch x\n\tindex meilisearch http://m {\n\t}\n}",
		"docs {\n\tsite { {\n} }",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, input string) {
		tokens, err := caddyfile.Tokenize([]byte(input), "Caddyfile")
		if err != nil {
			return
		}
		v, err := parseOption(caddyfile.NewDispenser(tokens), nil)
		if err != nil {
			return
		}
		app, ok := v.(httpcaddyfile.App)
		if !ok || !json.Valid(app.Value) {
			t.Errorf("neither an app nor an error: %v", v)
		}
		if _, err := parseOption(caddyfile.NewTestDispenser("docs"), app); err != nil {
			t.Errorf("a second option can't read the first: %v", err)
		}
	})
}

// FuzzDocs feeds the parser of the directive docs, which has the words of
// the other two as well.
func FuzzDocs(f *testing.F) {
	for _, s := range []string{
		"docs acme /srv",
		"docs acme {\n\tonly search\n\trate_limit ip 1 1m\n\tmax_body 1MB\n}",
		"docs * acme {\n\trate_limit off\n\tsynonyms a b\n}",
		"docs /x {\n}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, input string) {
		tokens, err := caddyfile.Tokenize([]byte(input), "Caddyfile")
		if err != nil {
			return
		}
		values, err := parseDocs(httpcaddyfile.Helper{Dispenser: caddyfile.NewDispenser(tokens), State: map[string]any{}})
		if err != nil {
			return
		}
		if len(values) == 0 {
			t.Error("neither routes nor an error")
		}
		for _, v := range values {
			route, ok := v.Value.(caddyhttp.Route)
			// What is on the site's own paths lets all other requests pass.
			onSite := len(route.HandlersRaw) == 1 && !route.Terminal
			if !ok || !onSite && (len(route.MatcherSetsRaw) != 1 || route.MatcherSetsRaw[0]["docs_api"] == nil) {
				t.Errorf("a route without the API's matcher: %v", v.Value)
			}
			for _, h := range route.HandlersRaw {
				if !json.Valid(h) {
					t.Errorf("a handler that is no JSON: %s", h)
				}
			}
		}
	})
}
