package caddyfile

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/caddy-docs/caddy-docs/handlers/app"
)

// The two functions of the service, as configuration names them.
const (
	apiAssistant = "assistant"
	apiSearch    = "search"
)

const maxReplies = 1_000_000

// settings are what the words of a directive say about an API.
type settings struct {
	sites                []string
	limits               limits
	errors               string
	maxBody              int64
	finishEvent          string
	maxConcurrentReplies int
	define               *app.Definition
}

// parseAPI reads the directives assistant and search:
// `assistant [<@matcher>] [<site>...] [{…}]`.
func parseAPI(h httpcaddyfile.Helper, api string) ([]httpcaddyfile.ConfigValue, error) {
	matcher, err := start(h, api+" <site>")
	if err != nil {
		return nil, err
	}
	s := new(settings)
	for h.NextArg() {
		name := h.Val()
		if err := siteArgument(h, api, name); err != nil {
			return nil, err
		}
		if slices.Contains(s.sites, name) {
			return nil, h.Errf("%s: site %s is named twice; keep one", api, name)
		}
		s.sites = append(s.sites, name)
	}
	if err := parseBlock(h.Dispenser, api, s.words(api)); err != nil {
		return nil, err
	}
	return []httpcaddyfile.ConfigValue{s.route(api, matcher)}, nil
}

// parseDocs reads the directive docs: a site and both of its APIs.
func parseDocs(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) {
	matcher, err := start(h, "docs <site> [<root>]")
	if err != nil {
		return nil, err
	}
	first := h.Token()
	site := new(app.Site)
	s := new(settings)
	l := line{h.Dispenser, &word{name: "docs", forms: []form{{args: "<site> [<root>]", example: "acme /srv/docs"}}}}
	args, err := l.between(1, 2)
	if err != nil {
		return nil, err
	}
	name := args[0]
	if err := siteArgument(h, "docs", name); err != nil {
		return nil, err
	}
	if len(args) == 2 {
		if err := setRoot(l, site, args[1]); err != nil {
			return nil, err
		}
	}
	var only string
	if err := parseBlock(h.Dispenser, "docs "+name, docsWords(site, s, &only)); err != nil {
		return nil, err
	}
	if err := checkSource(at(first), name, site); err != nil {
		return nil, err
	}
	if only == apiSearch && (s.finishEvent != "" || s.maxConcurrentReplies != 0) {
		return nil, at(first).Errf("docs %s: finish_event and max_concurrent_replies are about replies, which only search leaves out; take them or it away", name)
	}
	if err := checkDefined(h, at(first), name, site); err != nil {
		return nil, err
	}
	s.sites = []string{name}
	s.define = &app.Definition{Name: name, Site: site}
	apis := []string{apiAssistant, apiSearch}
	if only != "" {
		apis = []string{only}
	}
	var routes []httpcaddyfile.ConfigValue
	for _, api := range apis {
		routes = append(routes, s.route(api, matcher))
		s.define = nil
	}
	return routes, nil
}

func docsWords(site *app.Site, s *settings, only *string) []word {
	words := append([]word{{name: "only", forms: is("search|assistant", "search"), parse: func(l line) (err error) {
		*only, err = l.choice(apiSearch, apiAssistant)
		return err
	}}}, siteWords(site)...)
	for i := range words {
		if words[i].name == "root" {
			parse := words[i].parse
			words[i].parse = func(l line) error {
				if site.Root != "" {
					return l.refuse("is the second word of docs already (%s); keep one", site.Root)
				}
				return parse(l)
			}
		}
	}
	return append(words, s.words(apiAssistant)...)
}

// start reads the directive's name and its matcher. A path as matcher is
// refused: people write it to mean a prefix, but it could only narrow the
// API's addresses down to none.
func start(h httpcaddyfile.Helper, usage string) (caddy.ModuleMap, error) {
	h.Next()
	name := h.Val()
	if h.NextArg() && strings.HasPrefix(h.Val(), "/") {
		return nil, h.Errf("%s: %s is a path, where the name of a site belongs; write: %s; to serve the API under a prefix, use handle_path /api/* and write %s in its block", name, h.Val(), usage, name)
	}
	h.Reset()
	h.Next()
	matcher, err := h.ExtractMatcherSet()
	if err != nil {
		return nil, h.Errf("%s: there is no matcher %s in this site block; define it there, or leave it out", name, h.Val())
	}
	h.Next()
	return matcher, nil
}

func siteArgument(h httpcaddyfile.Helper, directive, name string) error {
	switch {
	case name == "{}":
		return h.Errf("%s: an empty block is left out", directive)
	case strings.HasPrefix(name, "@"):
		return h.Errf("%s: the matcher %s stands behind a site; write: %s %s <site>", directive, name, directive, name)
	case strings.HasPrefix(name, "/") && directive != "docs":
		return h.Errf("%s takes no folder; the directive docs does, and so does root in the global option docs { site <name> { … } }", directive)
	}
	if err := checkSiteName(name); err != nil {
		return h.Errf("%s: %w", directive, err)
	}
	return nil
}

// definedSite is a site of a docs directive.
type definedSite struct {
	site     *app.Site
	position string
}

// checkDefined refuses a site that the global option or another docs
// directive defines, unless that one says the same (the same snippet,
// imported into the blocks of two hosts).
func checkDefined(h httpcaddyfile.Helper, d *caddyfile.Dispenser, name string, site *app.Site) error {
	if global, ok := h.Option("docs").(httpcaddyfile.App); ok {
		a := new(app.App)
		if err := json.Unmarshal(global.Value, a); err != nil {
			return d.Errf("reading the global option docs: %w", err)
		}
		if a.Sites[name] != nil {
			return d.Errf("site %s is defined twice, first in the global option docs; to serve that one here, write: assistant %s, and: search %s", name, name, name)
		}
	}
	const key = "caddy-docs.sites"
	sites, _ := h.State[key].(map[string]definedSite)
	if sites == nil {
		sites = map[string]definedSite{}
		h.State[key] = sites
	}
	if other, ok := sites[name]; ok && !reflect.DeepEqual(other.site, site) {
		return d.Errf("site %s is defined twice and differently, first at %s; a name is one site's: choose another, or write the same in both places", name, other.position)
	}
	sites[name] = definedSite{site, position(d.Token())}
	return nil
}

// words are the words of the directive of an API.
func (s *settings) words(api string) []word {
	words := []word{
		s.limits.word(),
		{name: "errors", forms: is("pass", "pass"), parse: func(l line) (err error) {
			s.errors, err = l.choice("pass")
			return err
		}},
		{name: "max_body", forms: is("<size>", "1MB"), parse: func(l line) error {
			v, err := l.one()
			if err != nil {
				return err
			}
			if s.maxBody, err = parseSize(v); err != nil {
				return l.usage(err.Error())
			}
			return nil
		}},
	}
	if api == apiSearch {
		return words
	}
	return append(words,
		word{name: "finish_event", forms: is("auto|literal|sdk", "auto"), parse: func(l line) (err error) {
			s.finishEvent, err = l.choice("auto", "literal", "sdk")
			return err
		}},
		numberWord("max_concurrent_replies", "5000", 1, maxReplies, &s.maxConcurrentReplies),
	)
}
