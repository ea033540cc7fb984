package caddyfile

import (
	"strings"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/options"
)

// parseSite reads `site <name> {…}` of the global option docs.
func (o *option) parseSite(l line) error {
	start := l.Token()
	name, err := l.one()
	if err != nil {
		return err
	}
	if err := access.CheckName("name", name); err != nil {
		return l.refuse("%v", err)
	}
	if o.app.Groups[name] != nil {
		return l.refuse("%s is the name of a group; choose another one", name)
	}
	if o.app.Sites[name] != nil {
		first := "in the docs option before this one"
		if p := o.sitesAt[name]; p != "" {
			first = "at " + p
		}
		return l.Errf("site %s is defined twice, first %s; choose another name, or write both in one block", name, first)
	}
	s := new(options.Site)
	if err := parseBlock(l, "site "+name, siteWords(s), s.Validate); err != nil {
		return err
	}
	if s.Root == "" && s.Sitemap == "" && s.SourcesRaw == nil {
		return at(start).Errf("site %s has no pages: write root <folder> in its block, like: root /srv/docs, or for a site that this Caddy proxies: sitemap https://%s.example.com/sitemap.xml", name, name)
	}
	o.app.Sites[name] = s
	o.sitesAt[name] = position(start)
	return nil
}

// parseSites reads `sites <folders> {…}` of the global option docs.
func (o *option) parseSites(l line) error {
	start := l.Token()
	folders, err := l.one()
	if err != nil {
		return err
	}
	f := &options.SiteFolders{Folders: folders}
	// The URL is checked at the end: it may come after other words.
	validate := func() error {
		try := options.SiteFolders{Folders: folders, Site: f.Site}
		if try.Site.URL == "" {
			try.Site.URL = "https://{site}.docs.acme.com"
		}
		return try.Validate()
	}
	if err := parseBlock(l, "sites", folderWords(&f.Site), validate); err != nil {
		return err
	}
	if f.Site.URL == "" {
		return at(start).Errf("sites %s: the sites need a url with their name, {site}; write in the block: url https://{site}.docs.acme.com", folders)
	}
	o.app.SiteFolders = append(o.app.SiteFolders, f)
	return nil
}

// parseGroup reads `group <name> {…}` of the global option docs.
func (o *option) parseGroup(l line) error {
	name, err := l.one()
	if err != nil {
		return err
	}
	if err := access.CheckName("name", name); err != nil {
		return l.refuse("%v", err)
	}
	if o.app.Groups[name] != nil || o.app.Sites[name] != nil {
		return l.refuse("%s is the name of a site or group already; choose another one", name)
	}
	g, start := new(options.Group), l.Token()
	// What its sites are is checked at the end: it may come after other words.
	validate := func() error {
		try := *g
		if try.Sites == nil && try.Site.Organization == "" {
			try.Sites = []string{"*"}
		}
		return try.Validate()
	}
	if err := parseBlock(l, "group "+name, groupWords(g), validate); err != nil {
		return err
	}
	if err := g.Validate(); err != nil {
		return at(start).Errf("group %s has no sites: write sites <site>... in its block, like: sites docs blog, or organization <name> for all of its sites", name)
	}
	o.app.Groups[name] = g
	return nil
}

// groupWords are the words of a group: its sites, and those words of a site that
// say nothing of pages.
func groupWords(g *options.Group) []word {
	words := []word{listWord("sites", "<site>...", "docs blog acme-*", &g.Sites)}
	for _, w := range siteWords(&g.Site) {
		switch w.name {
		case "url", "organization", "name", "instructions", "support_url", "allow_links", "starter_questions", "synonyms", "stop_words", "suggestions":
			words = append(words, w)
		}
	}
	return words
}

// folderWords are the words of the sites of folders: those of a site, without
// where its pages are.
func folderWords(s *options.Site) []word {
	words := []word{textWord("url", "<url>", "https://{site}.docs.acme.com", &s.URL)}
	for _, w := range siteWords(s) {
		switch w.name {
		case "root", "sitemap", "source", "allow_private", "url":
		default:
			words = append(words, w)
		}
	}
	return words
}

// siteWords are the words of a site. The global option docs has them in
// `site`, the directive docs in its own block.
func siteWords(s *options.Site) []word {
	return []word{
		{name: "root", forms: is("<folder>", "/srv/docs"), parse: func(l line) error {
			args, err := l.between(1, 2)
			switch {
			case err != nil:
				return err
			case s.Root != "":
				return l.refuse("is already the second argument of docs (%s); keep one", s.Root)
			case len(args) == 2 && args[0] == "*":
				return l.refuse("takes no matcher here: leave out the *")
			case len(args) == 2:
				return l.refuse("unexpected argument %q", args[1])
			}
			s.Root = args[0]
			return nil
		}},
		{name: "sitemap", field: "poll_interval", forms: is("<url> [<interval>]", "https://docs.acme.com/sitemap.xml 1h"), parse: func(l line) error {
			args, err := l.between(1, 2)
			if err != nil {
				return err
			}
			if s.Sitemap = args[0]; len(args) > 1 {
				s.PollInterval, err = l.duration(args[1])
			}
			return err
		}},
		{name: "source", field: "sources", forms: sourceForms, repeat: true, parse: func(l line) error {
			m, err := parseSource(l)
			s.SourcesRaw = append(s.SourcesRaw, m)
			return err
		}},
		switchWord("allow_private", &s.AllowPrivate),
		textWord("url", "<url>", "https://docs.acme.com", &s.URL),
		textWord("organization", "<name>", "acme-inc", &s.Organization),
		textWord("name", "<text>", `"Acme Docs"`, &s.Name),
		scopeWord("version", "versions", "2.x /v2/*", &s.Versions),
		scopeWord("language", "languages", "fr /fr/*", &s.Languages),
		{name: "kind", field: "kinds", forms: is("<glob>... <kind>", "/blog/* blog"), repeat: true, parse: func(l line) error {
			args, err := l.some(2)
			if err != nil {
				return err
			}
			last := len(args) - 1
			if strings.HasPrefix(args[last], "/") {
				return l.refuse("the kind comes last")
			}
			s.Kinds = append(s.Kinds, options.Scope{Value: args[last], Paths: args[:last]})
			return nil
		}},
		listWord("include", "<glob>...", "/guide/* /api/*", &s.Include),
		listWord("exclude", "<glob>...", "/blog/* /changelog/*", &s.Exclude),
		switchWord("clean_urls", &s.CleanURLs),
		textWord("anchors", "github|gitlab|goldmark|pandoc|none", "gitlab", &s.Anchors),
		{name: "watch", field: "poll_interval", forms: is("events|off|poll [<interval>]", "poll 10s"), parse: func(l line) error {
			args, err := l.between(1, 2)
			if err != nil {
				return err
			}
			if s.Watch = args[0]; len(args) > 1 {
				if s.Watch != "poll" {
					return l.refuse("unexpected argument %q: only poll takes an interval", args[1])
				}
				s.PollInterval, err = l.duration(args[1])
			}
			return err
		}},
		textWord("instructions", "<text>|<file>", "./assistant.md", &s.Instructions),
		textWord("support_url", "<url>", "https://acme.com/help", &s.SupportURL),
		textWord("edit_url", "<url>", "https://github.com/acme/docs/edit/main/{source}", &s.EditURL),
		listWord("allow_links", "<host>...", "github.com status.acme.com", &s.AllowLinks),
		listWord("starter_questions", "<question>...", `"How do I install it?" "What does it cost?"`, &s.StarterQuestions),
		{name: "synonyms", forms: is("<word> <word>...", "k8s kubernetes"), repeat: true, parse: func(l line) error {
			group, err := l.some(2)
			s.Synonyms = append(s.Synonyms, group)
			return err
		}},
		listWord("stop_words", "<word>...", "acme app", &s.StopWords),
		{name: "suggestions", forms: is("on|off|fence", "on"), parse: func(l line) error {
			v, err := l.one()
			if err == nil && v != "on" && v != "off" && v != "fence" {
				err = l.refuse("%q must be on, off or fence", v)
			}
			s.Suggestions, s.SuggestionsFence = v == "on" || v == "fence", v == "fence"
			return err
		}},
		textWord("locks", "on|off", "off", &s.Locks),
		textWord("moved", "redirect|suggest|off", "redirect", &s.Moved),
	}
}

// scopeWord is a version or language and the paths of its pages.
func scopeWord(name, field, example string, to *[]options.Scope) word {
	return word{name: name, field: field, forms: is("<"+name+"> [<glob>...]", example), repeat: true, parse: func(l line) error {
		args, err := l.some(1)
		if err != nil {
			return err
		}
		sc := options.Scope{Value: args[0]}
		if len(args) > 1 {
			sc.Paths = args[1:]
		}
		*to = append(*to, sc)
		return nil
	}}
}

// parseKey reads `key <key> [{…}]`. The adapted configuration has the key's
// hash, or the placeholder that names its source.
func (o *option) parseKey(l line) error {
	secret, err := l.one()
	if err != nil {
		return err
	}
	k := new(options.FixedKey)
	if strings.HasPrefix(secret, "{") {
		k.Key = secret
	} else {
		if err := access.CheckFixed(secret); err != nil {
			return l.refuse("%v", err)
		}
		k.SHA256 = access.Hash(secret)
	}
	for _, other := range o.app.Keys {
		if other.SHA256 == k.SHA256 && other.Key == k.Key {
			return l.refuse("this key is defined twice; keep one")
		}
	}
	o.app.Keys = append(o.app.Keys, k)
	return parseBlock(l, "key", keyWords(k), k.Validate)
}

func keyWords(k *options.FixedKey) []word {
	return []word{
		textWord("organization", "<name>", "acme-inc", &k.Organization),
		listWord("sites", "<site>...", "acme", &k.Sites),
		listWord("origins", "<origin>...", "https://acme.com", &k.Origins),
		textWord("name", "<text>", `"Acme front end"`, &k.Name),
	}
}
