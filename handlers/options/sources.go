package options

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/openapi"
	"github.com/caddy-docs/caddy-docs/retrieval/source"
)

// SourceOptions are the options of a source of one site.
type SourceOptions struct {
	// URL is the site's, "" if it is not known. It may have a path.
	URL string
	// Wants reports whether a page is one of the site, by retrieval.File.Path.
	Wants func(path string) bool
	// Page returns the HTML of the page at a path, without slashes around it, from
	// the site's folders, nil if none has it.
	Page func(path string) []byte
	// Watcher is shared by all folders.
	Watcher *source.Watcher
	Log     *slog.Logger
}

// SourceOpener is a module of the namespace docs.source: what a site's pages
// are read from. It is a guest module like an IndexOpener.
type SourceOpener interface {
	// OpenSource returns the source. It reads and connects to nothing yet.
	OpenSource(o SourceOptions) (retrieval.Source, error)
	// Describe says what is read: a folder or a URL, without secrets. It differs
	// from that of the site's other sources of the same module.
	Describe() string
}

// FolderSource is docs.source.folder: a folder of .html, .htm, .md and .mdx
// files.
type FolderSource struct {
	// The folder.
	Root string `json:"root"`

	// The path of the site that the folder is served at. Default: /, the site's
	// own.
	Below string `json:"below,omitempty"`

	// How changes are noticed: "events" from the file system, "poll" or "off".
	// Poll where a file system sends no events, as many network file systems
	// don't. Default: events.
	Watch string `json:"watch,omitempty"`

	// The interval between checks when polling, from 1s to 24h. Default: 10s.
	PollInterval caddy.Duration `json:"poll_interval,omitempty"`
}

// SitemapSource is docs.source.sitemap: a site whose pages are fetched.
type SitemapSource struct {
	// The URL of the sitemap.
	URL string `json:"url"`

	// Allows fetching from private addresses and from this machine. Default:
	// false.
	AllowPrivate bool `json:"allow_private,omitempty"`

	// The interval between checks, from 10s to 24h. Default: 1h.
	PollInterval caddy.Duration `json:"poll_interval,omitempty"`
}

// OpenAPISource is docs.source.openapi: the operations of an API description,
// OpenAPI 3.0 or 3.1 or AsyncAPI 3.
type OpenAPISource struct {
	// The file of the description, JSON or YAML, or its URL.
	File string `json:"file"`

	// The path of the page that shows it, like /reference.
	Below string `json:"below,omitempty"`

	// What shows it, so that links open the operation: swagger-ui, redoc, scalar,
	// elements, docusaurus or plain. Default: what the page is recognized as.
	Renderer string `json:"renderer,omitempty"`

	// Allows fetching it from private addresses and from this machine. Default:
	// false.
	AllowPrivate bool `json:"allow_private,omitempty"`

	// The interval between two fetches of a URL, from 10s to 24h. Default: 1h.
	PollInterval caddy.Duration `json:"poll_interval,omitempty"`
}

// NamedSource is one of a site's sources.
type NamedSource struct {
	// Name is the module's name and what it reads: "folder /srv/docs".
	Name string
	SourceOpener
}

// AllSources returns what the pages are read from, the first in the place of
// others at the same address: root or sitemap, then Sources.
func (s *Site) AllSources() (all []NamedSource) {
	add := func(o SourceOpener) {
		name := o.(caddy.Module).CaddyModule().ID.Name()
		all = append(all, NamedSource{name + " " + o.Describe(), o})
	}
	if s.Sitemap != "" {
		add(&SitemapSource{URL: s.Sitemap, AllowPrivate: s.AllowPrivate, PollInterval: s.PollInterval})
	} else if s.Root != "" {
		add(&FolderSource{Root: s.Root, Watch: s.Watch, PollInterval: s.PollInterval})
	}
	for _, o := range s.sources {
		add(o)
	}
	return all
}

// Roots returns the folders that are served at the site's own path.
func (s *Site) Roots() (roots []string) {
	for _, o := range s.AllSources() {
		if f, ok := o.SourceOpener.(*FolderSource); ok && f.prefix() == "" {
			roots = append(roots, f.Root)
		}
	}
	return roots
}

// HasPages reports whether a source has separate pages, and does not add to
// those of others.
func (s *Site) HasPages() bool {
	return slices.ContainsFunc(s.AllSources(), func(o NamedSource) bool {
		switch o.SourceOpener.(type) {
		case *FolderSource, *SitemapSource:
			return true
		}
		return false
	})
}

// load loads the modules of Sources.
func (s *Site) load(ctx caddy.Context, name string) error {
	if s.SourcesRaw == nil {
		return nil
	}
	loaded, err := ctx.LoadModule(s, "SourcesRaw")
	if err != nil {
		return fmt.Errorf("site %s: %w", name, err)
	}
	for _, m := range loaded.([]any) {
		o, ok := m.(SourceOpener)
		if !ok {
			return fmt.Errorf("site %s: %T can't be used as a source: it does not implement SourceOpener", name, m)
		}
		s.sources = append(s.sources, o)
	}
	known := map[string]bool{}
	for _, o := range s.AllSources() {
		if known[o.Name] {
			return fmt.Errorf("site %s: source %s is listed twice; keep one", name, o.Name)
		}
		known[o.Name] = true
	}
	return nil
}

func (*FolderSource) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.source.folder", New: func() caddy.Module { return new(FolderSource) }}
}

func (f *FolderSource) Provision(caddy.Context) error {
	return replaceAll(map[string]*string{"root": &f.Root})
}

func (f *FolderSource) Validate() error {
	c := new(Checker)
	if f.Root == "" || strings.Contains(f.Root, "://") {
		c.Fail("root", "%q must be a folder", f.Root)
	}
	c.replaced("root", f.Root)
	c.path("below", f.Below)
	c.OneOf("watch", f.Watch, "events", "poll", "off")
	c.Duration("poll_interval", f.PollInterval, time.Second, day)
	return c.Err()
}

// OpenSource returns the folder.
func (f *FolderSource) OpenSource(o SourceOptions) (retrieval.Source, error) {
	prefix := f.prefix()
	return &source.Folder{
		Root: f.Root, Below: prefix, Wants: func(file string) bool { return o.Wants(prefix + file) },
		Mode: f.Watch, Interval: time.Duration(f.PollInterval), Watcher: o.Watcher, Log: o.Log,
	}, nil
}

// Describe names the folder.
func (f *FolderSource) Describe() string { return f.Root }

// prefix is what the paths of the files begin with.
func (f *FolderSource) prefix() string {
	return strings.TrimPrefix(strings.Trim(f.Below, "/")+"/", "/")
}

func (*SitemapSource) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.source.sitemap", New: func() caddy.Module { return new(SitemapSource) }}
}

func (s *SitemapSource) Provision(caddy.Context) error {
	return replaceAll(map[string]*string{"url": &s.URL})
}

func (s *SitemapSource) Validate() error {
	c := new(Checker)
	if s.URL == "" {
		c.Fail("url", "must be the URL of a sitemap")
	}
	c.url("url", s.URL)
	c.Duration("poll_interval", s.PollInterval, 10*time.Second, day) // a site must not be fetched without a pause
	return c.Err()
}

// OpenSource returns the site.
func (s *SitemapSource) OpenSource(o SourceOptions) (retrieval.Source, error) {
	return &source.Sitemap{URL: s.URL, Site: o.URL, Wants: o.Wants, AllowPrivate: s.AllowPrivate, Interval: time.Duration(s.PollInterval)}, nil
}

// Describe names the sitemap.
func (s *SitemapSource) Describe() string { return s.URL }

func (*OpenAPISource) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.source.openapi", New: func() caddy.Module { return new(OpenAPISource) }}
}

func (s *OpenAPISource) Provision(caddy.Context) error {
	return replaceAll(map[string]*string{"file": &s.File})
}

func (s *OpenAPISource) Validate() error {
	c := new(Checker)
	if s.File == "" {
		c.Fail("file", "must be the file of an API description, or its URL")
	}
	if strings.Contains(s.File, "://") {
		c.url("file", s.File)
	} else if s.AllowPrivate {
		c.Fail("allow_private", "applies to URLs only; leave it out")
	}
	c.path("below", s.Below)
	c.OneOf("renderer", s.Renderer, openapi.Renderers...)
	c.Duration("poll_interval", s.PollInterval, 10*time.Second, day)
	return c.Err()
}

// OpenSource returns the description.
func (s *OpenAPISource) OpenSource(o SourceOptions) (retrieval.Source, error) {
	return &openapi.Source{
		File: s.File, Below: strings.TrimSuffix(strings.Trim(s.Below, "/"), ".html"), Renderer: s.Renderer, AllowPrivate: s.AllowPrivate,
		Interval: time.Duration(s.PollInterval), Wants: o.Wants, Page: o.Page, Watcher: o.Watcher,
	}, nil
}

// Describe names the description.
func (s *OpenAPISource) Describe() string { return s.File }

// path checks a path of the site.
func (c *Checker) path(field, value string) {
	if value != "" && (!strings.HasPrefix(value, "/") || strings.ContainsAny(value, "?#{}* ")) {
		c.Fail(field, "%q must be a path of the site, like /reference", value)
	}
}
