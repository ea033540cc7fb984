package caddyfile

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig"

	"github.com/caddy-docs/caddy-docs/handlers/options"
)

// parseInsights reads `insights { … }` or `insights off`.
func parseInsights(l line) (*options.Insights, error) {
	args, err := l.between(0, 1)
	if err != nil {
		return nil, err
	}
	i := new(options.Insights)
	if len(args) == 1 {
		if args[0] != "off" {
			return nil, l.refuse("%q must be off, or a block", args[0])
		}
		i.Off = true
		return i, nil
	}
	err = parseBlock(l, "insights", insightsWords(i), i.Validate)
	return i, err
}

func insightsWords(i *options.Insights) []word {
	return []word{
		{
			name: "store",
			forms: []form{
				{args: "sqlite [<file>]", example: "sqlite /var/lib/caddy/insights.db"},
				{args: "postgres <dsn>", example: "postgres {env.DOCS_DATABASE}"},
				{args: "<module> ..."},
			},
			parse: set(&i.StoreRaw, parseInsightsStore),
		},
		durationWord("retention", "90d", &i.Retention),
		textWord("texts", "on|off", "off", &i.Texts),
		textWord("clicks", "on|off", "off", &i.Clicks),
		textWord("jsonl", "<file>|stdout", "/var/log/caddy/docs.jsonl", &i.JSONL),
	}
}

func parseInsightsStore(l line) (json.RawMessage, error) {
	if !l.NextArg() {
		return nil, l.refuse("needs an argument")
	}
	var store interface{ Validate() error }
	name := l.Val()
	switch name {
	case "sqlite":
		l = l.as(0)
		args, err := l.between(0, 1)
		if err != nil {
			return nil, err
		}
		store = &options.SQLiteInsights{File: strings.Join(args, "")}
	case "postgres":
		l = l.as(1)
		dsn, err := l.one()
		if err != nil {
			return nil, err
		}
		if hasPassword(dsn) {
			return nil, l.refuse("a password in the configuration would show at GET /config/ and in autosave.json; " +
				"name the source of the whole connection string, {env.NAME} or {file./path/to/file}")
		}
		store = &options.PostgresInsights{DSN: dsn}
	default:
		return l.guest("docs.insights", "backend")
	}
	if err := fieldErrors(store.Validate()); len(err) > 0 {
		return nil, l.refuse("%s", err[0].Problem)
	}
	return caddyconfig.JSONModuleObject(store, "backend", name, nil), nil
}

// hasPassword reports whether a connection string holds a password itself.
func hasPassword(dsn string) bool {
	if u, err := url.Parse(dsn); err == nil && u.User != nil {
		password, set := u.User.Password()
		return set && !secretForm.MatchString(password)
	}
	for field := range strings.FieldsSeq(dsn) {
		if value, ok := strings.CutPrefix(field, "password="); ok && !secretForm.MatchString(value) {
			return true
		}
	}
	return strings.Contains(dsn, "password=") && strings.Contains(dsn, "://") && !strings.Contains(dsn, "password={")
}
