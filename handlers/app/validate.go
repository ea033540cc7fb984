package app

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"golang.org/x/text/language"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	maxInstructions = 20_000 // characters
	maxName         = 200    // characters of a name or question
	maxQuestions    = 3
	maxTokens       = 1_000_000
	maxDimensions   = 100_000
	day             = 24 * time.Hour
)

// Validate checks the configuration. Sites and guest modules are checked on
// their own.
func (a *App) Validate() error {
	c := new(checker)
	for name, s := range a.Sites {
		if err := access.CheckName("name", name); err != nil {
			c.fail("sites", "%v", err)
		}
		if s == nil {
			continue // Provision reports it
		}
		c.within("site "+name, s.Validate())
		if s.Root == "" && s.Sitemap == "" {
			c.fail("site "+name, "has no pages; set root to a folder, or sitemap to a URL")
		}
	}
	for i, f := range a.SiteFolders {
		c.within(fmt.Sprintf("site_folders %d", i+1), f.Validate())
	}
	for i, k := range a.Keys {
		c.within(fmt.Sprintf("key %d", i+1), k.Validate())
	}
	if a.Threads != nil {
		c.within("threads", a.Threads.Validate())
	}
	if a.Insights != nil {
		c.within("insights", a.Insights.Validate())
	}
	c.duration("stop_timeout", a.StopTimeout, 100*time.Millisecond, day)
	c.replaced("data_dir", a.DataDir)
	return c.err()
}

// Validate checks the folders and what their sites have in common.
func (f *SiteFolders) Validate() error {
	if f == nil {
		return nil // Provision reports it
	}
	c := new(checker)
	c.replaced("folders", f.Folders)
	if elements := strings.Split(filepath.ToSlash(f.Folders), "/"); len(elements) < 2 || strings.Count(f.Folders, "*") != 1 || !slices.Contains(elements[1:], "*") {
		c.fail("folders", "%q must be a path in which one element is *, like /srv/sites/* or /srv/sites/*/public", f.Folders)
	}
	if f.Site.Root != "" {
		c.fail("root", "is made of the folders; leave it out")
	}
	if f.Site.Sitemap != "" {
		c.fail("sitemap", "the sites of folders have files; leave it out")
	}
	if !strings.Contains(f.Site.URL, sitePlaceholder) {
		c.fail("url", "%q must have {site}, the name of the folder, like https://{site}.docs.acme.com", f.Site.URL)
	}
	return errors.Join(c.err(), f.expand("a-site").Validate())
}

// Validate checks the name of the site and its fields.
func (d *Definition) Validate() error {
	if d == nil {
		return nil
	}
	c := new(checker)
	if err := access.CheckName("name", d.Name); err != nil {
		c.fail("site", "%v", err)
	}
	if d.Site != nil {
		c.within("site "+d.Name, d.Site.Validate())
	}
	return c.err()
}

// Validate checks the site's fields. It may have neither root nor sitemap yet.
func (s *Site) Validate() error {
	c := new(checker)
	if strings.Contains(s.Root, "://") {
		c.fail("root", "%q must be a folder; set sitemap instead for a site that this Caddy does not serve from files", s.Root)
	}
	c.replaced("root", s.Root)
	c.url("sitemap", s.Sitemap)
	if s.Sitemap != "" && s.Root != "" {
		c.fail("sitemap", "a site has a root or a sitemap, not both; keep root if this Caddy serves the files")
	}
	if s.AllowPrivate && s.Sitemap == "" {
		c.fail("allow_private", "applies to sites with a sitemap only; leave it out")
	}
	c.baseURL("url", s.URL)
	if s.Organization != "" {
		if err := access.CheckName("name", s.Organization); err != nil {
			c.fail("organization", "%v", err)
		}
	}
	c.text("name", s.Name, maxName)
	c.scopes("versions", s.Versions)
	c.scopes("languages", s.Languages)
	for _, l := range s.Languages {
		if _, err := language.Parse(l.Value); err != nil {
			c.fail("languages", "%q must be a language tag like en, pt-BR or zh-Hans", l.Value)
		}
	}
	c.scopes("kinds", s.Kinds)
	for _, k := range s.Kinds {
		if k.Value != "current" && !slices.Contains(retrieval.Kinds, retrieval.Kind(k.Value)) {
			c.fail("kinds", "%q must be current, blog, changelog, deprecated, old, next, source or moved", k.Value)
		}
	}
	c.globs("include", s.Include)
	c.globs("exclude", s.Exclude)
	c.oneOf("anchors", s.Anchors, "github", "gitlab", "goldmark", "pandoc", "none")
	c.oneOf("watch", s.Watch, "events", "poll", "off")
	c.oneOf("locks", s.Locks, "on", "off")
	least := time.Second
	if s.Sitemap != "" {
		if s.Watch != "" {
			c.fail("watch", "applies to sites with a root only; leave it out")
		}
		least = 10 * time.Second // a site must not be fetched without a pause
	}
	c.duration("poll_interval", s.PollInterval, least, day)
	if instructionsFile(s.Instructions) == "" {
		c.text("instructions", s.Instructions, maxInstructions)
	}
	if u, err := url.Parse(s.SupportURL); err != nil || u.Scheme != "mailto" || !strings.Contains(u.Opaque, "@") {
		c.url("support_url", s.SupportURL)
	}
	for _, h := range s.AllowLinks {
		if u, err := url.Parse("https://" + h); err != nil || u.Host != h || u.Hostname() == "" || strings.ContainsAny(h, "*{}@ ") {
			c.fail("allow_links", "%q must be a host like github.com or status.acme.com:8443", h)
		}
	}
	if n := len(s.StarterQuestions); n > maxQuestions {
		c.fail("starter_questions", "at most %d are possible, these are %d", maxQuestions, n)
	}
	for _, q := range s.StarterQuestions {
		c.required("starter_questions", q)
		c.text("starter_questions", q, maxName)
	}
	for _, group := range s.Synonyms {
		if len(group) < 2 || slices.Contains(group, "") {
			c.fail("synonyms", "%q must be two words or more", group)
		}
	}
	for _, w := range s.StopWords {
		if w == "" || strings.ContainsAny(w, " \t\n") {
			c.fail("stop_words", "%q must be one word", w)
		}
	}
	return c.err()
}

// Validate checks the key's fields.
func (k *FixedKey) Validate() error {
	c := new(checker)
	switch {
	case k.SHA256 == "" && k.Key == "":
		c.fail("key", "is missing; set key to a placeholder like {env.DOCS_KEY}, or sha256 to the key's hash")
	case k.SHA256 != "" && k.Key != "":
		c.fail("key", "a key is given by key or by sha256, not both")
	case k.SHA256 != "" && !sha256Form.MatchString(k.SHA256):
		c.fail("sha256", "%q must be 64 hexadecimal digits", k.SHA256)
	case k.Key != "" && !c.replaced("key", k.Key):
		if err := access.CheckFixed(k.Key); err != nil {
			c.fail("key", "%v", err)
		}
	}
	c.text("name", k.Name, 100)
	if k.Organization != "" {
		if err := access.CheckName("name", k.Organization); err != nil {
			c.fail("organization", "%v", err)
		}
	}
	for i, name := range k.Sites {
		if err := access.CheckName("name", name); err != nil {
			c.fail("sites", "%v", err)
		} else if slices.Contains(k.Sites[:i], name) {
			c.fail("sites", "%s is named twice", name)
		}
	}
	for _, o := range k.Origins {
		if _, err := access.ParseOrigin(o); err != nil {
			c.fail("origins", "%v", err)
		}
	}
	return c.err()
}

var sha256Form = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// Validate checks how long conversations are kept.
func (t *Threads) Validate() error {
	c := new(checker)
	c.duration("ttl", t.TTL, time.Minute, 3650*day)
	if t.Off && t.TTL != 0 {
		c.fail("ttl", "conversations are kept for a time, or threads are off, not both")
	}
	return c.err()
}

var indexPrefix = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// Validate checks the servers and how they are used.
func (m *MeilisearchIndex) Validate() error {
	c := new(checker)
	if len(m.URLs) == 0 {
		c.fail("urls", "is missing; set it to servers like http://127.0.0.1:7700")
	}
	for i, u := range m.URLs {
		c.required("urls", u)
		c.baseURL("urls", u)
		if slices.Contains(m.URLs[:i], u) {
			c.fail("urls", "%s is named twice", u)
		}
	}
	c.semanticRatio(m.SemanticRatio)
	c.oneOf("fallback", m.Fallback, "embedded")
	if m.Prefix != "" && !indexPrefix.MatchString(m.Prefix) {
		c.fail("prefix", "%q must be lower-case letters, digits and dashes, beginning with a letter, at most 40, like docs-staging", m.Prefix)
	}
	c.literal("embedder", m.Embedder)
	if strings.Contains(m.Embedder, "://") {
		c.fail("embedder", "%q must be a name in the servers' settings, not a URL", m.Embedder)
	}
	return c.err()
}

// Validate checks the endpoint and the dimensions.
func (e *OpenAIEmbedder) Validate() error {
	c := new(checker)
	c.endpoint(e.URL, e.Model)
	c.number("dimensions", e.Dimensions, maxDimensions)
	c.semanticRatio(e.SemanticRatio)
	return c.err()
}

// Validate checks the endpoints, the time limits and the budget.
func (m *OpenAIModel) Validate() error {
	c := new(checker)
	c.endpoint(m.URL, m.Model)
	for _, f := range m.Fallback {
		inner := new(checker)
		inner.endpoint(f.URL, f.Model)
		c.within("fallback", inner.err())
	}
	c.duration("first_token_timeout", m.FirstTokenTimeout, 100*time.Millisecond, 10*time.Minute)
	c.duration("idle_timeout", m.IdleTimeout, 100*time.Millisecond, 10*time.Minute)
	c.duration("max_duration", m.MaxDuration, time.Second, time.Hour)
	c.number("max_tokens", m.MaxTokens, maxTokens)
	if b := m.Budget; b != nil {
		if b.Tokens < 0 || b.Requests < 0 || b.Tokens == 0 && b.Requests == 0 {
			c.fail("budget", "%d tokens, %d requests: one of them must be above 0, and none below", b.Tokens, b.Requests)
		}
		if p := time.Duration(b.Per); p != time.Hour && p != day {
			c.fail("budget", "per %s: must be 1h or 24h", p)
		}
	}
	return c.err()
}

// Interface guards
var (
	_ caddy.Validator = (*App)(nil)
	_ caddy.Validator = (*MeilisearchIndex)(nil)
	_ caddy.Validator = (*OpenAIEmbedder)(nil)
	_ caddy.Validator = (*OpenAIModel)(nil)
)
