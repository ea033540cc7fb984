package caddyfile

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/dustin/go-humanize"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/ui"
)

// The parts of the API, as the directives and JSON name them.
const (
	apiAssistant = "assistant"
	apiEvents    = "events"
	apiFeedback  = "feedback"
	apiSearch    = "search"
	apiWidget    = "widget"
	partMCP      = "mcp"
	partLLMs     = "llms"
	partNotFound = "not_found"

	directiveMCP  = "docs_mcp"
	directiveLLMs = "docs_llms"
)

// settings are what the words of a directive set.
type settings struct {
	sites     []string
	limits    limits
	only      []string // words of onlyNames; empty: all
	guard     handlers.Guard
	assistant handlers.Assistant // its max_body is that of the search, too
	widget    ui.Widget
	mcpKey    bool // the MCP server wants a key
	signIn    *handlers.SignIn
	llms      handlers.LLMs
	off       []string // parts that are left out, by their word
	ask       bool     // docs_ask is served
}

func (s *settings) validate() error {
	return errors.Join(s.guard.Validate(), s.assistant.Validate(), s.widget.Validate(), s.llms.Validate())
}

// parseAPI reads the directives that serve a part of the API.
//
//	assistant [<@matcher>] [<site>...] {
//		rate_limit organization|ip <n> <window>
//		rate_limit distributed {
//			read_interval <duration>
//			write_interval <duration>
//			purge_age <duration>
//		}
//		rate_limit off
//		errors pass
//		max_body <size>
//		finish_event auto|literal|sdk
//		max_concurrent_replies <n>
//	}
//
//	search [<@matcher>] [<site>...] {
//		[rate_limit, errors and max_body]
//	}
//
//	docs_widget [<@matcher>] [<site>...] {
//		inject [on|off]
//		position bottom-right|bottom-left|none|<selector>
//		replace on|off
//		accent <color>
//		theme auto|light|dark|<attribute>
//		shortcut <keys>|off
//		placeholder <text>
//		title <text>
//		features search|ask|feedback|page_feedback|page_menu...
//		strings <language> <file>
//		conversations session|local|off
//		starters <question>...
//		events plain|text
//	}
//
//	docs_mcp [<@matcher>] [<site>...] {
//		[rate_limit]
//		require_key on|off
//		sign_in <issuer> {
//			header <name> <claim>
//			audience <audience>
//			scopes <scope>...
//			introspect <client_id> <placeholder>
//		}
//	}
//
//	docs_llms [<@matcher>] [<site>...] {
//		[content_signal]
//	}
func parseAPI(h httpcaddyfile.Helper, api string) ([]httpcaddyfile.ConfigValue, error) {
	matcher, err := start(h, api+" <site>")
	if err != nil {
		return nil, err
	}
	s := new(settings)
	if s.sites, err = siteArguments(h, api); err != nil {
		return nil, err
	}
	s.widget.Sites = s.sites
	if err := parseBlock(line{h.Dispenser, &word{name: api}}, api, s.words(api), s.validate); err != nil {
		return nil, err
	}
	return s.routes(matcher, strings.TrimPrefix(api, "docs_")), nil
}

// parseDocs reads the directive docs: a site and the parts of its API. Without
// a site it serves those of the global option, as assistant and search do.
//
//	docs [<@matcher>] [<site> [<root>]] {
//		only assistant|search|widget|mcp|llms|not_found...
//		mcp off|key
//		mcp {
//			[sign_in]
//		}
//		llms off
//		llms {
//			content_signal <signal>...
//		}
//		[the words of site in the global option]
//		[the words of assistant]
//		widget inject|on|off {
//			[the words of docs_widget, without inject]
//		}
//	}
func parseDocs(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) {
	matcher, err := start(h, "docs <site> [<root>]")
	if err != nil {
		return nil, err
	}
	first := h.Token()
	site, s := new(options.Site), new(settings)
	l := line{h.Dispenser, &word{name: "docs", forms: []form{{args: "<site> [<root>]", example: "acme /srv/docs"}}}}
	least := 1
	global, err := globalOption(h)
	if err != nil {
		return nil, err
	}
	if len(global.Sites)+len(global.SiteFolders) > 0 {
		least = 0
	}
	args, err := l.between(least, 2)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		if err := parseBlock(l, "docs", docsWords(nil, s), s.validate); err != nil {
			return nil, err
		}
		return s.routes(matcher, s.only...), nil
	}
	name := args[0]
	if err := siteArgument(h, "docs", name); err != nil {
		return nil, err
	}
	if len(args) == 2 {
		site.Root = args[1]
	}
	s.sites, s.widget.Sites = []string{name}, []string{name}
	validate := func() error { return errors.Join(site.Validate(), s.validate()) }
	if err := parseBlock(l, "docs "+name, docsWords(site, s), validate); err != nil {
		return nil, err
	}
	if len(s.only) > 0 && !slices.Contains(s.only, apiAssistant) && (s.assistant.FinishEvent != "" || s.assistant.MaxConcurrentReplies != 0) {
		return nil, at(first).Errf("docs %s: finish_event and max_concurrent_replies apply to the assistant, which only %s leaves out; remove them, or only", name, strings.Join(s.only, " "))
	}
	if len(s.only) > 0 && !slices.Contains(s.only, apiWidget) && (s.widget.Inject || !reflect.DeepEqual(s.widget, ui.Widget{Route: s.serving()})) {
		return nil, at(first).Errf("docs %s: widget needs the part widget, which only %s leaves out; remove one of them", name, strings.Join(s.only, " "))
	}
	if err := checkDefined(h, global, at(first), name, site); err != nil {
		return nil, err
	}
	s.guard.Define = &options.Definition{Name: name, Site: site}
	return s.routes(matcher, s.only...), nil
}

// globalOption returns the global option docs as it was read; without one it is
// empty.
func globalOption(h httpcaddyfile.Helper) (*options.App, error) {
	a := new(options.App)
	if global, ok := h.Option("docs").(httpcaddyfile.App); ok {
		if err := json.Unmarshal(global.Value, a); err != nil {
			return nil, h.Errf("reading the global option docs: %w", err)
		}
	}
	return a, nil
}

// docsWords are the words of docs. Without a site, those of a site are left out.
func docsWords(site *options.Site, s *settings) []word {
	words := s.partWords()
	if site != nil {
		words = append(words, siteWords(site)...)
	}
	return append(append(words, s.words(apiAssistant)...), s.widgetWord())
}

func (s *settings) partWords() []word {
	return []word{s.onlyWord(), s.partWord(partMCP, "off|key", s.signInWord()), s.partWord(partLLMs, "off", s.contentSignalWord())}
}

// partWord is the word for a part that docs serves: off leaves it out, key
// closes the MCP server to requests without one, and a block has its settings.
func (s *settings) partWord(name, args string, block ...word) word {
	return word{name: name, forms: append(is(args, "off"), form{block: block}), parse: func(l line) error {
		values, err := l.between(0, 1)
		switch {
		case err != nil:
			return err
		case len(values) == 0:
			l = l.as(1)
			if !l.opens() {
				return l.refuse("needs an argument or a block")
			}
			return parseBlock(l, name, block, s.validate)
		case values[0] == "off":
			s.off = append(s.off, name)
			if slices.Contains(s.only, name) {
				return l.refuse("can't be both off and in only; keep one of them")
			}
		case values[0] == "key" && name == partMCP:
			s.mcpKey = true
		case values[0] == "on":
			return l.refuse("on is the default: remove the line")
		default:
			return l.refuse("%q is not known", values[0])
		}
		return nil
	}}
}

// contentSignalWord is the word content_signal: what others may do with pages.
func (s *settings) contentSignalWord() word {
	return listWord("content_signal", "<signal>...", "search=yes ai-train=no", &s.llms.ContentSignal)
}

// signInWord is the word sign_in: the identity provider of the MCP server.
func (s *settings) signInWord() word {
	in := new(handlers.SignIn)
	words := []word{
		pairWord("header", "headers", "<name> <claim>", "Remote-User preferred_username", &in.Headers),
		textWord("audience", "<audience>", "https://docs.acme.com", &in.Audience),
		listWord("scopes", "<scope>...", "openid profile", &in.Scopes),
		{name: "introspect", field: "client_id", forms: is("<client_id> <placeholder>", "docs {env.DOCS_CLIENT_SECRET}"), parse: func(l line) error {
			args, err := l.between(2, 2)
			if err != nil {
				return err
			}
			in.ClientID = args[0]
			in.ClientSecret, err = l.secret(args[1])
			return err
		}},
	}
	return word{
		name: "sign_in", field: "issuer",
		forms: []form{{args: "<issuer>", example: "https://id.acme.com", block: words}},
		parse: func(l line) (err error) {
			if in.Issuer, err = l.one(); err != nil {
				return err
			}
			s.signIn = in
			return parseBlock(l, "sign_in", words, in.Validate)
		},
	}
}

// onlyWord is the word only: the parts to serve.
func (s *settings) onlyWord() word {
	names := onlyNames()
	return word{name: "only", forms: is(strings.Join(names, "|")+"...", "search"), parse: func(l line) error {
		args, err := l.between(1, len(names))
		if err != nil {
			return err
		}
		for _, name := range args {
			if !slices.Contains(names, name) {
				return l.refuse("%q is not a part", name)
			}
			if slices.Contains(s.only, name) {
				return l.refuse("%s is named twice; keep one", name)
			}
			if slices.Contains(s.off, name) {
				return l.refuse("%s is off; keep one of them", name)
			}
			s.only = append(s.only, name)
		}
		return nil
	}}
}

// start reads the directive's name and its matcher. A path as matcher is
// refused: people mean a prefix by it, but no path below it is the API's.
func start(h httpcaddyfile.Helper, usage string) (caddy.ModuleMap, error) {
	h.Next()
	name := h.Val()
	if h.NextArg() && strings.HasPrefix(h.Val(), "/") {
		return nil, h.Errf("%s: %s is a path, but the name of a site is expected; write: %s; "+
			"to serve it below a path, use handle_path %s/* and write %s in its block", name, h.Val(), usage, strings.TrimRight(h.Val(), "/*"), name)
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

// siteArguments reads the names of the sites that a directive serves.
func siteArguments(h httpcaddyfile.Helper, directive string) (sites []string, err error) {
	for h.NextArg() {
		name := h.Val()
		if err := siteArgument(h, directive, name); err != nil {
			return nil, err
		}
		if slices.Contains(sites, name) {
			return nil, h.Errf("%s: site %s is named twice; keep one", directive, name)
		}
		sites = append(sites, name)
	}
	return sites, nil
}

func siteArgument(h httpcaddyfile.Helper, directive, name string) error {
	switch {
	case name == "{}":
		return h.Errf("%s: remove the empty block", directive)
	case strings.HasPrefix(name, "@"):
		return h.Errf("%s: the matcher %s must come before the sites; write: %s %s <site>", directive, name, directive, name)
	case strings.HasPrefix(name, "/") && directive != "docs":
		return h.Errf("%s takes no folder; the directive docs does, and so does root in the global option docs { site <name> { … } }", directive)
	}
	if err := access.CheckName("name", name); err != nil {
		return h.Errf("%s: %w", directive, err)
	}
	return nil
}

// checkDefined refuses a site that the global option or another docs
// directive defines, unless that one says the same (the same snippet,
// imported into the blocks of two hosts).
func checkDefined(h httpcaddyfile.Helper, global *options.App, d *caddyfile.Dispenser, name string, site *options.Site) error {
	if global.Sites[name] != nil {
		return d.Errf("site %s is defined twice, first in the global option docs; "+
			"to serve that one here, write: assistant %s, and: search %s", name, name, name)
	}
	type definedSite struct {
		site     *options.Site
		position string
	}
	const key = "caddy-docs.sites"
	sites, _ := h.State[key].(map[string]definedSite)
	if sites == nil {
		sites = map[string]definedSite{}
		h.State[key] = sites
	}
	if other, ok := sites[name]; ok && !reflect.DeepEqual(other.site, site) {
		return d.Errf("site %s is defined twice and differently, first at %s; choose another name, or write the same in both places", name, other.position)
	}
	sites[name] = definedSite{site, position(d.Token())}
	return nil
}

// words are the words of the directive of an API.
func (s *settings) words(api string) []word {
	a := &s.assistant
	switch api {
	case directiveMCP:
		return []word{s.limits.word(), switchWord("require_key", &s.mcpKey), s.signInWord()}
	case directiveLLMs:
		return []word{s.contentSignalWord()}
	case directiveWidget:
		return append([]word{s.injectWord()}, s.widgetWords()...)
	}
	words := []word{
		s.limits.word(),
		textWord("errors", "pass", "pass", &s.guard.Errors),
		valueWord("max_body", "<size>", "1MB", &a.MaxBody, func(l line, s string) (int64, error) {
			n, err := humanize.ParseBytes(s) // 1MB is 1,000,000 bytes, 1MiB 1,048,576
			if err != nil || n == 0 || n > math.MaxInt64 {
				return 0, l.refuse("%q is not a size", s)
			}
			return int64(n), nil
		}),
	}
	if api == apiSearch {
		return words
	}
	return append(words,
		textWord("finish_event", "auto|literal|sdk", "auto", &a.FinishEvent),
		numberWord("max_concurrent_replies", "5000", &a.MaxConcurrentReplies),
	)
}
