package caddyfile

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"golang.org/x/text/language"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/app"
)

const (
	maxText      = 20_000 // characters of instructions
	maxName      = 200    // characters of a name or question
	maxQuestions = 3
	minPoll      = time.Second
	maxPoll      = 24 * time.Hour
	// minRefetch keeps a sitemap's site from being fetched without a pause.
	minRefetch = 10 * time.Second
)

// parseSite reads `site <name> {…}` of the global option docs.
func (o *option) parseSite(l line) error {
	name, err := l.one()
	if err != nil {
		return err
	}
	start := l.Token()
	if err := checkSiteName(name); err != nil {
		return l.usage(err.Error())
	}
	if o.app.Sites[name] != nil {
		return l.Errf("site %s is defined twice, first %s; a name is one site's: choose another, or write both in one block", name, cmp.Or(o.sitesAt[name], "in another global option docs"))
	}
	o.sitesAt[name] = "at " + position(start)
	s := new(app.Site)
	if err := parseBlock(l.Dispenser, "site "+name, siteWords(s)); err != nil {
		return err
	}
	if err := checkSource(at(start), name, s); err != nil {
		return err
	}
	if s.Root == "" && s.Sitemap == "" {
		return at(start).Errf("site %s has no pages: write root <folder> in its block, like: root /srv/docs, or for a site that this Caddy proxies: sitemap https://%s.example.com/sitemap.xml", name, name)
	}
	if o.app.Sites == nil {
		o.app.Sites = map[string]*app.Site{}
	}
	o.app.Sites[name] = s
	return nil
}

// checkSource refuses words of a site that contradict each other.
func checkSource(d *caddyfile.Dispenser, name string, s *app.Site) error {
	if s.Root != "" && s.Sitemap != "" {
		return d.Errf("site %s has a root and a sitemap, but its pages come from one of them: keep root if this Caddy serves the files, else sitemap", name)
	}
	if s.AllowPrivate && s.Sitemap == "" {
		return d.Errf("site %s: allow_private is for the addresses of a sitemap; a site with a root fetches none, so leave it out", name)
	}
	if s.Sitemap != "" && s.Watch != "" {
		return d.Errf("site %s: watch is for the files of a root; a site with a sitemap has none, so leave watch out", name)
	}
	return nil
}

func checkSiteName(name string) error {
	if strings.Contains(name, "://") || strings.ContainsAny(name, "./") {
		return fmt.Errorf("%q is not a name but an address or a path; a name is the {domain} of /v1/search/{domain}, a word like acme", name)
	}
	return access.CheckName("name", name)
}

// position is where a token stands, as it is shown to people.
func position(t caddyfile.Token) string { return fmt.Sprintf("%s:%d", t.File, t.Line) }

// siteWords are the words of a site. The global option docs has them in
// `site`, the directive docs in its own block.
func siteWords(s *app.Site) []word {
	return []word{
		{name: "root", forms: is("<folder>", "/srv/docs"), parse: func(l line) error {
			args, err := l.some(1)
			if err != nil {
				return err
			}
			if len(args) == 2 && args[0] == "*" {
				return l.refuse("takes no matcher here: leave out the *")
			}
			if len(args) > 1 {
				return l.refuse("%q is too many", args[1])
			}
			return setRoot(l, s, args[0])
		}},
		{name: "sitemap", forms: is("<url> [<interval>]", "https://docs.acme.com/sitemap.xml 1h"), parse: func(l line) error {
			args, err := l.between(1, 2)
			if err != nil {
				return err
			}
			s.Sitemap = args[0]
			if _, err := parseAddress(s.Sitemap); err != nil {
				return l.usage(err.Error())
			}
			if len(args) > 1 {
				if s.PollInterval, err = parseDuration(args[1], minRefetch, maxPoll); err != nil {
					return l.usage(err.Error())
				}
			}
			return nil
		}},
		{name: "allow_private", forms: is("on|off", "on"), parse: func(l line) (err error) {
			s.AllowPrivate, err = l.onOff()
			return err
		}},
		{name: "url", forms: is("<url>", "https://docs.acme.com"), parse: func(l line) (err error) {
			if s.URL, err = l.one(); err != nil {
				return err
			}
			if _, err := parseBase(s.URL); err != nil {
				return l.usage(err.Error())
			}
			return nil
		}},
		{name: "organization", forms: is("<name>", "acme-inc"), parse: func(l line) (err error) {
			s.Organization, err = organization(l)
			return err
		}},
		{name: "name", forms: is("<text>", `"Acme Docs"`), parse: func(l line) (err error) {
			s.Name, err = text(l, maxName)
			return err
		}},
		{name: "version", forms: is("<version> [<glob>...]", "2.x /v2/*"), repeat: true, parse: func(l line) (err error) {
			s.Versions, err = scope(l, s.Versions)
			return err
		}},
		{name: "language", forms: is("<language> [<glob>...]", "fr /fr/*"), repeat: true, parse: func(l line) (err error) {
			if s.Languages, err = scope(l, s.Languages); err != nil {
				return err
			}
			v := s.Languages[len(s.Languages)-1].Value
			if _, err := language.Parse(v); err != nil {
				return l.refuse("%q is not a language tag; tags are like en, pt-BR or zh-Hans", v)
			}
			return nil
		}},
		{name: "include", forms: is("<glob>...", "/guide/* /api/*"), repeat: true, parse: func(l line) (err error) {
			s.Include, err = globs(l, s.Include)
			return err
		}},
		{name: "exclude", forms: is("<glob>...", "/blog/* /changelog/*"), repeat: true, parse: func(l line) (err error) {
			s.Exclude, err = globs(l, s.Exclude)
			return err
		}},
		{name: "clean_urls", forms: is("on|off", "on"), parse: func(l line) (err error) {
			s.CleanURLs, err = l.onOff()
			return err
		}},
		{name: "anchors", forms: is("github|gitlab|goldmark|pandoc|none", "gitlab"), parse: func(l line) (err error) {
			s.Anchors, err = l.choice("github", "gitlab", "goldmark", "pandoc", "none")
			return err
		}},
		{name: "watch", forms: is("events|off|poll [<interval>]", "poll 10s"), parse: func(l line) error {
			return parseWatch(l, s)
		}},
		{name: "instructions", forms: is("<text>|<file>", "./assistant.md"), parse: func(l line) (err error) {
			s.Instructions, err = text(l, maxText)
			return err
		}},
		{name: "support_url", forms: is("<url>", "https://acme.com/help"), parse: func(l line) (err error) {
			if s.SupportURL, err = l.one(); err != nil {
				return err
			}
			if u, err := url.Parse(s.SupportURL); err == nil && u.Scheme == "mailto" && strings.Contains(u.Opaque, "@") {
				return nil
			}
			if _, err := parseAddress(s.SupportURL); err != nil {
				return l.refuse("%v (or with mailto:)", err)
			}
			return nil
		}},
		{name: "allow_links", forms: is("<host>...", "github.com status.acme.com"), repeat: true, parse: func(l line) error {
			hosts, err := l.some(1)
			if err != nil {
				return err
			}
			for _, h := range hosts {
				if u, err := url.Parse("https://" + h); err != nil || u.Host != h || u.Hostname() == "" || strings.ContainsAny(h, "*{}@ ") {
					return l.refuse("%q is not a host, without scheme, path and *", h)
				}
				if h = strings.ToLower(h); !slices.Contains(s.AllowLinks, h) {
					s.AllowLinks = append(s.AllowLinks, h)
				}
			}
			return nil
		}},
		{name: "starter_questions", forms: is("<question>...", `"How do I install it?" "What does it cost?"`), repeat: true, parse: func(l line) error {
			questions, err := l.some(1)
			if err != nil {
				return err
			}
			s.StarterQuestions = append(s.StarterQuestions, questions...)
			if len(s.StarterQuestions) > maxQuestions {
				return l.refuse("there are at most %d, each in quotes; this makes %d", maxQuestions, len(s.StarterQuestions))
			}
			for _, q := range questions {
				if utf8.RuneCountInString(q) > maxName {
					return l.refuse("a question has at most %d characters", maxName)
				}
			}
			return nil
		}},
		{name: "synonyms", forms: is("<word> <word>...", "k8s kubernetes"), repeat: true, parse: func(l line) error {
			group, err := l.some(2)
			if err != nil {
				return err
			}
			s.Synonyms = append(s.Synonyms, group)
			return nil
		}},
		{name: "stop_words", forms: is("<word>...", "acme app"), repeat: true, parse: func(l line) error {
			words, err := l.some(1)
			if err != nil {
				return err
			}
			for _, w := range words {
				if strings.ContainsAny(w, " \t\n") {
					return l.refuse("%q is several words; name each by itself", w)
				}
			}
			s.StopWords = append(s.StopWords, words...)
			return nil
		}},
		{name: "suggestions", forms: is("on|off", "on"), parse: func(l line) (err error) {
			s.Suggestions, err = l.onOff()
			return err
		}},
	}
}

func setRoot(l line, s *app.Site, root string) error {
	if err := checkPath(root); err != nil {
		return l.usage(err.Error())
	}
	if strings.Contains(root, "://") {
		return l.refuse("%q is an address; a site that this Caddy does not serve from files has a sitemap instead", root)
	}
	s.Root = root
	return nil
}

func organization(l line) (string, error) {
	name, err := l.one()
	if err != nil {
		return "", err
	}
	if err := access.CheckName("name", name); err != nil {
		return "", l.usage(err.Error())
	}
	return name, nil
}

// text reads one argument of up to most characters.
func text(l line, most int) (string, error) {
	s, err := l.one()
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(s) == "" {
		return "", l.usage("needs more than spaces")
	}
	if n := utf8.RuneCountInString(s); n > most {
		return "", l.refuse("has at most %d characters, this has %d", most, n)
	}
	return s, nil
}

// scope reads a version or language and the paths of its pages.
func scope(l line, scopes []app.Scope) ([]app.Scope, error) {
	args, err := l.some(1)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(args[0], "/") {
		return nil, l.refuse("the %s comes before its globs", l.word.name)
	}
	if err := checkLiteral(args[0]); err != nil {
		return nil, l.usage(err.Error())
	}
	sc := app.Scope{Value: args[0]}
	if len(args) > 1 {
		sc.Paths = args[1:]
	}
	if err := checkGlobs(sc.Paths); err != nil {
		return nil, l.usage(err.Error())
	}
	for _, other := range scopes {
		if len(sc.Paths) == 0 && len(other.Paths) == 0 {
			return nil, l.refuse("%s and %s are both without globs, but only one can be the default of the other pages", other.Value, sc.Value)
		}
	}
	return append(scopes, sc), nil
}

func globs(l line, to []string) ([]string, error) {
	args, err := l.some(1)
	if err != nil {
		return nil, err
	}
	if err := checkGlobs(args); err != nil {
		return nil, l.usage(err.Error())
	}
	return append(to, args...), nil
}

func parseWatch(l line, s *app.Site) error {
	args, err := l.between(1, 2)
	if err != nil {
		return err
	}
	s.Watch = args[0]
	switch args[0] {
	case "events", "off":
		if len(args) > 1 {
			return l.refuse("%q is too many: only poll takes an interval", args[1])
		}
	case "poll":
		if len(args) > 1 {
			if s.PollInterval, err = parseDuration(args[1], minPoll, maxPoll); err != nil {
				return l.usage(err.Error())
			}
		}
	default:
		return l.refuse("%q is not known%s", args[0], nearest(args[0], []string{"events", "off", "poll"}))
	}
	return nil
}
