package hosting

import (
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func TestHostsAreComparedAsCaddyDoes(t *testing.T) {
	for pattern, c := range map[string]struct{ takes, not string }{
		"docs.acme.com":               {"DOCS.acme.com.:8080", "acme.com"},
		"*.acme.com":                  {"docs.acme.com", "a.docs.acme.com"},
		"*.*.acme.com":                {"docs.eu.acme.com", "docs.acme.com"},
		"docs.*.com":                  {"docs.acme.com", "docs.com"},
		"docs.xn--mller-kva.com":      {"docs.Müller.com", "docs.muller.com"},
		"*.xn--mller-kva.com":         {"docs.mu\u0308ller.com:443", "müller.com"},
		"::1":                         {"[0:0:0:0:0:0:0:1]:80", "[::2]"},
		"my_docs.acme.com":            {"My_docs.acme.com", "docs.acme.com"},
		"{http.vars.tenant}.acme.com": {"docs.acme.com", ""},
	} {
		if !MatchesHost([]string{"other.com", pattern}, Hostname(c.takes)) {
			t.Errorf("%s does not take %s", pattern, c.takes)
		}
		if c.not != "" && MatchesHost([]string{"other.com", pattern}, Hostname(c.not)) {
			t.Errorf("%s takes %s", pattern, c.not)
		}
	}
}

func TestARouteIsForTheHostsOfAllItsMatchers(t *testing.T) {
	host, path := &caddyhttp.MatchHost{"intern.acme.com"}, &caddyhttp.MatchPath{"/docs*"}
	for name, c := range map[string]struct {
		sets caddyhttp.MatcherSets
		want int
	}{
		"none":         {nil, 0},
		"both":         {caddyhttp.MatcherSets{{host, path}}, 1},
		"either":       {caddyhttp.MatcherSets{{host}, {path}}, 0},
		"two hosts":    {caddyhttp.MatcherSets{{host}, {path, host}}, 2},
		"an empty set": {caddyhttp.MatcherSets{{host}, {}}, 0},
	} {
		if got := HostsOf(caddyhttp.Route{MatcherSets: c.sets}); len(got) != c.want || c.want == 0 && got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}
