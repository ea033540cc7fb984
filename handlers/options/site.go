// Package options has what the configuration of the app docs says: its options
// and their checks, and the modules that it may name.
package options

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"golang.org/x/text/language"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	maxInstructions = 20_000 // characters
	maxName         = 200    // characters of a name or question
	maxQuestions    = 3
)

// Site is one documentation site. Root, Sitemap, URL, SupportURL and
// Instructions may have placeholders like {env.NAME}, which are replaced when
// Caddy starts or reloads.
type Site struct {
	// The folder of the site's pages: .html, .htm, .md and .mdx files. Set
	// either this or sitemap. Default for a site that a route defines: the root
	// around the route.
	Root string `json:"root,omitempty"`

	// The URL of the sitemap of a site whose files this Caddy doesn't have, for
	// example one that it proxies.
	Sitemap string `json:"sitemap,omitempty"`

	// Further sources of pages, or the only ones without root and sitemap:
	// docs.source.folder, docs.source.sitemap, docs.source.openapi. Of pages with
	// one address, that of the first source is indexed. A site that a route
	// defines also has the root around the route, unless one of these is a folder
	// or sitemap.
	SourcesRaw []json.RawMessage `json:"sources,omitempty" caddy:"namespace=docs.source inline_key=source"`

	// Allows fetching the sitemap's pages from private addresses and from this
	// machine. Default: false.
	AllowPrivate bool `json:"allow_private,omitempty"`

	// The site's URL, which may have a path; results link below it. Default for
	// a site that a route defines: the first host of the route; otherwise
	// results link by path alone.
	URL string `json:"url,omitempty"`

	// The organization, whose sites share keys and limits: a DNS label. Default:
	// the site's name.
	Organization string `json:"organization,omitempty"`

	// The name that readers know the site by, used by the assistant; at most
	// 200 characters. Default: the site's name in the configuration.
	Name string `json:"name,omitempty"`

	// The versions of pages by path; the first match applies. One without paths
	// is the default of the other pages.
	Versions []Scope `json:"versions,omitempty"`

	// The languages of pages by path, as language tags like en or pt-BR. They
	// match as versions do.
	Languages []Scope `json:"languages,omitempty"`

	// What pages are, by path: current, blog, changelog, deprecated, old, next,
	// source or moved. Current ones rank higher, unless a query asks for others.
	// Default: what their paths, titles and front matter say.
	Kinds []Scope `json:"kinds,omitempty"`

	// Path globs of the pages to index, like "/guide/*"; "**", and "*" at the
	// end, match slashes too. Default: all pages.
	Include []string `json:"include,omitempty"`

	// Path globs of pages to leave out, even if they are included.
	Exclude []string `json:"exclude,omitempty"`

	// Set if HTML pages are served without .html. Default: false.
	CleanURLs bool `json:"clean_urls,omitempty"`

	// How the generator that renders Markdown makes the ids of headings: github,
	// gitlab, goldmark (Caddy's templates), pandoc or none. Default: github.
	Anchors string `json:"anchors,omitempty"`

	// How changes of the root are noticed: "events" from the file system,
	// "poll" or "off". Poll where a file system sends no events, as many network
	// file systems don't. Default: events.
	Watch string `json:"watch,omitempty"`

	// The interval between checks of the pages, from 1s (10s for a sitemap) to
	// 24h. Default: 10s, or 1h for a sitemap.
	PollInterval caddy.Duration `json:"poll_interval,omitempty"`

	// Instructions for the model, at most 20,000 characters, or the name of a
	// file with them, up to 64 kB: a value without white space that ends in .md
	// or .txt. Don't put secrets here: readers can make a model recite them.
	Instructions string `json:"instructions,omitempty"`

	// The URL or mailto: address for readers whose question has no answer.
	SupportURL string `json:"support_url,omitempty"`

	// Where a page is edited, for the dashboard: a URL with {source}, the page's
	// file below the root, or {page}, its path without .html ("index" for the
	// front page), like https://github.com/acme/docs/edit/main/{source}.
	// Default: none.
	EditURL string `json:"edit_url,omitempty"`

	// Further hosts that answers may link to. Links elsewhere are removed.
	AllowLinks []string `json:"allow_links,omitempty"`

	// Up to three questions for the end of a reply that has no answer, and for
	// those without a follow-up question while suggestions are on.
	StarterQuestions []string `json:"starter_questions,omitempty"`

	// Groups of words that mean the same to the site's readers.
	Synonyms [][]string `json:"synonyms,omitempty"`

	// Words that mean nothing on this site, like its product's name. Queries
	// that have other words are searched without them.
	StopWords []string `json:"stop_words,omitempty"`

	// Adds up to three follow-up questions to each answer. Default: false.
	Suggestions bool `json:"suggestions,omitempty"`

	// Writes follow-up questions into the text of answers, as a code block of
	// the language suggestions with a line (text)[url] for each, as Mintlify's
	// assistant does. Needs suggestions. Default: false.
	SuggestionsFence bool `json:"suggestions_fence,omitempty"`

	// Whether pages are shown only to readers whose own requests for them
	// succeed: "on", or "off" to treat every page of the index as public.
	// Default: on.
	Locks string `json:"locks,omitempty"`

	// What a request for a page gets that is gone: "redirect" sends it to where the
	// page is proved to be; "suggest" names the pages that the reader may want; "off"
	// leaves it to the site. Default: suggest.
	Moved string `json:"moved,omitempty"`

	instructions string // the text
	sources      []SourceOpener
}

// Scope gives the pages below some paths a version or language.
type Scope struct {
	// The version, language or kind.
	Value string `json:"value"`

	// Path globs of its pages. Default: all pages that match no other scope.
	Paths []string `json:"paths,omitempty"`
}

// Definition is a site that a handler in a route defines (directive docs).
// Start finds it there.
type Definition struct {
	Name string `json:"name"`
	Site *Site  `json:"site"`
}

// Provision resolves the site's placeholders and loads its sources. The root may
// be missing: Start takes it from the routes around the handler.
func (d *Definition) Provision(ctx caddy.Context) error {
	if d == nil {
		return nil
	}
	if d.Site == nil {
		d.Site = new(Site)
	}
	return d.Site.Provision(ctx, d.Name)
}

// Provision resolves the site's placeholders and loads its sources.
func (s *Site) Provision(ctx caddy.Context, name string) error {
	if err := s.resolve(name); err != nil {
		return err
	}
	return s.load(ctx, name)
}

// resolve resolves the site's placeholders and checks its configuration.
func (s *Site) resolve(name string) error {
	where := "site " + name
	if err := replaceAll(map[string]*string{
		"root": &s.Root, "sitemap": &s.Sitemap, "url": &s.URL, "support_url": &s.SupportURL, "instructions": &s.Instructions,
	}); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	s.URL, s.instructions = strings.TrimRight(s.URL, "/"), s.Instructions
	file := instructionsFile(s.Instructions)
	if file == "" {
		return nil
	}
	const most = 64 << 10
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s: reading instructions: %w", where, err)
	}
	if len(data) > most {
		return fmt.Errorf("%s: instructions %s are longer than %d bytes; a model reads them with every question", where, file, most)
	}
	s.instructions = string(data)
	return nil
}

// InstructionText returns the instructions themselves, where the option may name
// a file.
func (s *Site) InstructionText() string { return s.instructions }

// instructionsFile returns the name of the file that instructions name, "" if
// they are the text itself.
func instructionsFile(instructions string) string {
	name := strings.TrimSpace(instructions)
	if ext := filepath.Ext(name); strings.ContainsAny(name, " \t\n") || ext != ".md" && ext != ".txt" {
		return ""
	}
	return name
}

// Validate checks the name of the site and its fields.
func (d *Definition) Validate() error {
	if d == nil {
		return nil
	}
	c := new(Checker)
	c.Name("site", d.Name)
	c.Within("site "+d.Name, d.Site.Validate())
	return c.Err()
}

// Validate checks the site, which may have neither root nor sitemap yet.
func (s *Site) Validate() error {
	c := new(Checker)
	if strings.Contains(s.Root, "://") {
		c.Fail("root", "%q must be a folder; set sitemap instead for a site that this Caddy does not serve from files", s.Root)
	}
	c.replaced("root", s.Root)
	c.url("sitemap", s.Sitemap)
	if s.Sitemap != "" && s.Root != "" {
		c.Fail("sitemap", "set either root or sitemap, not both; keep root if this Caddy serves the files")
	}
	if s.AllowPrivate && s.Sitemap == "" {
		c.Fail("allow_private", "applies to sites with a sitemap only; leave it out")
	}
	c.baseURL("url", s.URL)
	if s.Organization != "" {
		c.Name("organization", s.Organization)
	}
	c.Text("name", s.Name, maxName)
	c.scopes("versions", s.Versions)
	c.scopes("languages", s.Languages)
	for _, l := range s.Languages {
		if _, err := language.Parse(l.Value); err != nil {
			c.Fail("languages", "%q must be a language tag like en, pt-BR or zh-Hans", l.Value)
		}
	}
	c.scopes("kinds", s.Kinds)
	for _, k := range s.Kinds {
		if k.Value != "current" && !slices.Contains(retrieval.Kinds, retrieval.Kind(k.Value)) {
			c.Fail("kinds", "%q must be current, blog, changelog, deprecated, old, next, source or moved", k.Value)
		}
	}
	c.globs("include", s.Include)
	c.globs("exclude", s.Exclude)
	c.OneOf("anchors", s.Anchors, "github", "gitlab", "goldmark", "pandoc", "none")
	c.OneOf("watch", s.Watch, "events", "poll", "off")
	c.OneOf("locks", s.Locks, "on", "off")
	c.OneOf("moved", s.Moved, "redirect", "suggest", "off")
	least := time.Second
	if s.Sitemap != "" {
		if s.Watch != "" {
			c.Fail("watch", "applies to sites with a root only; leave it out")
		}
		least = 10 * time.Second // a site must not be fetched without a pause
	}
	c.Duration("poll_interval", s.PollInterval, least, day)
	if instructionsFile(s.Instructions) == "" {
		c.Text("instructions", s.Instructions, maxInstructions)
	}
	if u, err := url.Parse(s.SupportURL); err != nil || u.Scheme != "mailto" || !strings.Contains(u.Opaque, "@") {
		if strings.Contains(s.SupportURL, "@") && !strings.Contains(s.SupportURL, ":") {
			c.Fail("support_url", "%q is an email address, which is written mailto:%[1]s", s.SupportURL)
		} else {
			c.urlOf("support_url", s.SupportURL, "https:// or http://, or mailto: and an email address")
		}
	}
	if s.EditURL != "" {
		rest := strings.NewReplacer("{source}", "", "{page}", "").Replace(s.EditURL)
		c.literal("edit_url", rest)
		if c.url("edit_url", rest) != nil && rest == s.EditURL {
			c.Fail("edit_url", "%q must have {source} or {page}, like https://github.com/acme/docs/edit/main/{source}", s.EditURL)
		}
	}
	for _, h := range s.AllowLinks {
		if u, err := url.Parse("https://" + h); err != nil || u.Host != h || u.Hostname() == "" || strings.ContainsAny(h, "*{}@ ") {
			c.Fail("allow_links", "%q must be a host like github.com or status.acme.com:8443", h)
		}
	}
	c.Questions("starter_questions", s.StarterQuestions, maxQuestions)
	for _, group := range s.Synonyms {
		if len(group) < 2 || slices.Contains(group, "") {
			c.Fail("synonyms", "%q must be two words or more", group)
		}
	}
	for _, w := range s.StopWords {
		if w == "" || strings.ContainsAny(w, " \t\n") {
			c.Fail("stop_words", "%q must be one word", w)
		}
	}
	return c.Err()
}
