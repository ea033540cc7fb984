package caddyfile

import (
	"encoding/json"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/handlers/ui"
)

const dashboardDirective = "docs_dashboard"

// parseDashboard reads the directive docs_dashboard.
//
//	docs_dashboard [<@matcher>] [<site>...] {
//		user <placeholder>
//		groups <placeholder>
//		admin <user>|<@group>...
//		member <organization> <user>|<@group>...
//		viewer <organization> <user>|<@group>...
//	}
func parseDashboard(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) {
	matcher, err := start(h, dashboardDirective+" <site>")
	if err != nil {
		return nil, err
	}
	d := &ui.Dashboard{Members: map[string][]string{}, Viewers: map[string][]string{}}
	if d.Sites, err = siteArguments(h, dashboardDirective); err != nil {
		return nil, err
	}
	if err := parseBlock(line{h.Dispenser, &word{name: dashboardDirective}}, dashboardDirective, dashboardWords(d), d.Validate); err != nil {
		return nil, err
	}
	route := caddyhttp.Route{HandlersRaw: []json.RawMessage{module(dashboardDirective, d)}, Terminal: true}
	return []httpcaddyfile.ConfigValue{configRoute(matcher, route)}, nil
}

func dashboardWords(d *ui.Dashboard) []word {
	admin := listWord("admin", "<user>|<@group>...", "dana", &d.Admins)
	admin.field = "admins"
	return []word{
		textWord("user", "<placeholder>", "{http.auth.user.id}", &d.User),
		textWord("groups", "<placeholder>", "{header.Remote-Groups}", &d.Groups),
		admin,
		rulesWord("member", "members", d.Members),
		rulesWord("viewer", "viewers", d.Viewers),
	}
}

// rulesWord is a word with an organization and its users.
func rulesWord(name, field string, to map[string][]string) word {
	return word{name: name, field: field, forms: is("<organization> <user>|<@group>...", "acme-inc dana"), repeat: true, parse: func(l line) error {
		args, err := l.some(2)
		if err != nil {
			return err
		}
		to[args[0]] = append(to[args[0]], args[1:]...)
		return nil
	}}
}
