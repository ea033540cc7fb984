package site

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/caddy-docs/caddy-docs/agents"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
)

// Prefix is the path of the site's URL, without a slash at its end.
func (r *Site) Prefix() string {
	u, err := url.Parse(r.Config.URL)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.Path, "/")
}

// Title is the site's name for readers.
func (r *Site) Title() string { return cmp.Or(r.Config.Name, r.Name) }

// served is the site's pages as they are served at one moment.
type served struct {
	documents []*retrieval.Document // of the index, for comparison
	view      *reach.View

	byPath map[string]*retrieval.Document // by pagePath, the public and locked pages
	public []*retrieval.Document          // in the order of llms.txt
	etag   string                         // changes with the public pages

	// Of the public pages: the front page's description, the values that occur,
	// and the version that most readers want.
	description         string
	languages, versions []string
	newest              string

	llms atomic.Pointer[llms] // nil until it is asked for
}

// llms is llms.txt and its parts, for one URL of the site.
type llms struct {
	base  string
	files map[string]string
}

// pages returns the site's pages now.
func (r *Site) pages() *served {
	var view *reach.View
	if r.Reach != nil {
		view = r.Reach.View()
	}
	documents := r.Index.Documents()
	s := r.served.Load()
	if s != nil && s.view == view && len(s.documents) == len(documents) && (len(documents) == 0 || &s.documents[0] == &documents[0]) {
		return s
	}
	s = &served{documents: documents, view: view, byPath: make(map[string]*retrieval.Document, len(documents))}
	order := r.order(documents)
	sum := fnv.New128a()
	for _, d := range order {
		if view != nil {
			if d = view.Served(d); d == nil {
				continue
			}
		}
		if u, err := url.Parse(d.URL); err == nil {
			s.byPath[pagePath(u.Path)] = d
		}
		if view == nil || view.IsPublic(d) {
			s.public = append(s.public, d)
			if d.Page == "" {
				s.description = d.Description
			}
			if !slices.Contains(s.languages, d.Language) {
				s.languages = append(s.languages, d.Language)
			}
			if !slices.Contains(s.versions, d.Version) {
				s.versions = append(s.versions, d.Version)
			}
			fmt.Fprintf(sum, "%s\n%s\n", d.Hash, d.URL)
		}
	}
	s.newest = agents.NewestVersion(s.versions)
	s.etag = hex.EncodeToString(sum.Sum(nil))
	r.served.Store(s)
	return s
}

// order sorts pages as the site presents them: the front page, then those of
// each part of the site in the order in which the front page links to them,
// then by URL.
func (r *Site) order(documents []*retrieval.Document) []*retrieval.Document {
	rank := map[string]int{}
	for _, d := range documents {
		if d.Page != "" {
			continue
		}
		for i, l := range d.Links {
			if _, known := rank[l.Page]; !known {
				rank[l.Page] = i
			}
		}
	}
	parts := map[string]int{}
	rankOf := func(d *retrieval.Document) int {
		if n, ok := rank[d.Page]; ok {
			return n
		}
		return math.MaxInt
	}
	for _, d := range documents {
		part := partOf(d)
		if best, ok := parts[part]; !ok || rankOf(d) < best {
			parts[part] = rankOf(d)
		}
	}
	order := slices.Clone(documents)
	slices.SortFunc(order, func(a, b *retrieval.Document) int {
		pa, pb := partOf(a), partOf(b)
		return cmp.Or(
			cmp.Compare(min(len(a.Page), 1), min(len(b.Page), 1)),
			cmp.Compare(parts[pa], parts[pb]), cmp.Compare(pa, pb),
			cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(a.URL, b.URL),
		)
	})
	return order
}

// partOf is the part of the site that a page belongs to.
func partOf(d *retrieval.Document) string {
	if len(d.Breadcrumbs) == 0 {
		return ""
	}
	return d.Breadcrumbs[0]
}

// pagePath is the path of a page without what its forms differ in: a slash at
// the end, index, an extension.
func pagePath(p string) string {
	p = path.Clean("/" + p)
	switch ext := path.Ext(p); ext {
	case ".html", ".htm", ".md", ".mdx":
		p = strings.TrimSuffix(p, ext)
	}
	if p == "/index" {
		return "/"
	}
	return strings.TrimSuffix(p, "/index")
}

// PageAt returns the page that is served at a path of the site, nil if there
// is none. Whether the reader can open it is not asked.
func (r *Site) PageAt(p string) *retrieval.Document {
	d := r.pages().byPath[pagePath(p)]
	if d == nil {
		return nil
	}
	if u, err := url.Parse(d.URL); err == nil && path.Ext(p) == ".mdx" && path.Ext(u.Path) != ".mdx" {
		return nil
	}
	return d
}

// PageAtMarkdown returns the page whose Markdown is at a path that ends with
// .md: /x.md is the page at /x, /x/ or /x.html, and so are /x/index.md and
// /x.html.md.
func (r *Site) PageAtMarkdown(p string) *retrieval.Document {
	p, ok := strings.CutSuffix(p, ".md")
	if !ok || p == "" || strings.HasSuffix(p, "/") {
		return nil
	}
	return r.PageAt(p)
}

// MarkdownURL is the URL of a page as Markdown: the page's own URL with .md, so
// that clients find the page by leaving that out (https://llmstxt.org).
func (r *Site) MarkdownURL(pageURL string) string {
	u, err := url.Parse(pageURL)
	if err != nil {
		return pageURL
	}
	p := u.Path
	switch ext := path.Ext(p); {
	case strings.HasSuffix(p, "/index.html"):
		p = strings.TrimSuffix(p, ".html")
	case ext == ".md" || ext == ".mdx":
		p = strings.TrimSuffix(p, ext)
	case strings.TrimSuffix(p, "/") == r.Prefix():
		p = r.Prefix() + "/index"
	default:
		p = strings.TrimSuffix(p, "/")
	}
	u.Path, u.RawPath = p+".md", ""
	return u.String()
}

// CanOpen reports whether the reader of the context can open a page that was
// asked for by a name or path: d, nil for none. It takes as long for none.
func (r *Site) CanOpen(ctx context.Context, name string, d *retrieval.Document) bool {
	if r.Reach == nil {
		return d != nil
	}
	return r.Reach.CanOpen(ctx, r.below(name), d)
}

// below is the path of a page below the site's URL, by how clients name it.
func (r *Site) below(name string) string {
	if u, err := url.Parse(name); err == nil {
		name = u.Path
	}
	name = "/" + strings.TrimPrefix(name, "/")
	return strings.TrimPrefix(strings.TrimPrefix(name, r.Prefix()+"/"), "/")
}

// IsPublic reports whether anyone can open a page.
func (r *Site) IsPublic(d *retrieval.Document) bool {
	return r.Reach == nil || r.Reach.View().IsPublic(d)
}

// Known reports whether the site's pages and their locks are known.
func (r *Site) Known() bool {
	if !r.Index.Refresher.Status().Ready {
		return false
	}
	return r.Reach == nil || r.Reach.View().Complete
}

// Markdown returns a page as Markdown. base is the site's URL where the
// configuration has none.
func (r *Site) Markdown(ctx context.Context, d *retrieval.Document, base string) ([]byte, error) {
	return r.Index.written.Markdown(ctx, d, base, true)
}

// MarkdownOnce is Markdown for a reader of all pages, which are not kept in
// memory.
func (r *Site) MarkdownOnce(ctx context.Context, d *retrieval.Document, base string) ([]byte, error) {
	return r.Index.written.Markdown(ctx, d, base, false)
}

// HasFile reports whether the site's folder has a file at a path of the site.
func (r *Site) HasFile(p string) bool {
	folder := r.Index.written.folder
	if folder == nil {
		return false
	}
	rest, ok := strings.CutPrefix(path.Clean("/"+p), r.Prefix()+"/")
	return ok && rest != "" && folder.Serves(rest)
}

// Free reports whether the site has nothing at a path.
func (r *Site) Free(ctx context.Context, p string) bool {
	if r.PageAt(p) != nil || r.HasFile(p) {
		return false
	}
	return r.Reach == nil || r.Reach.Free(ctx, p)
}

// PublicPages returns the public pages in the order of llms.txt, with a tag
// that changes with them.
func (r *Site) PublicPages() (pages []*retrieval.Document, etag string) {
	s := r.pages()
	return s.public, s.etag
}

// favored are the language and version of the pages that most readers want.
func (r *Site) favored() (language, version string) {
	prefer := r.Prefer()
	language, version = prefer.Language, prefer.Version
	language = cmp.Or(language, r.Index.defaultLanguage())
	return language, cmp.Or(version, r.pages().newest)
}

// Absolute is a URL of the site with scheme and host.
func Absolute(base, address string) string {
	b, err := url.Parse(base)
	if err != nil {
		return address
	}
	u, err := b.Parse(address)
	if err != nil {
		return address
	}
	return u.String()
}

// LLMs returns llms.txt and its parts (agents.Index). base is the site's URL
// without a slash at its end. They are written once for each state of the pages.
func (r *Site) LLMs(base string) map[string]string {
	s := r.pages()
	l := s.llms.Load()
	if l == nil || l.base != base {
		l = &llms{base, r.writeLLMs(s, base)}
		s.llms.Store(l)
	}
	return l.files
}

func (r *Site) writeLLMs(s *served, base string) map[string]string {
	site := agents.Site{Title: r.Title(), URL: base}
	site.Language, site.Version = r.favored()
	site.Description = s.description
	pages := make([]agents.Page, len(s.public))
	for i, d := range s.public {
		pages[i] = agents.Page{
			Title: d.Title, Description: d.Description, Markdown: Absolute(base, r.MarkdownURL(d.URL)),
			Section: partOf(d), Language: cmp.Or(r.untranslated(d, s.public[0]), d.Language), Version: d.Version,
		}
	}
	return agents.Index(site, pages)
}

// languageFolder is the name of a folder with the pages of a language.
var languageFolder = regexp.MustCompile(`^(?i)[a-z]{2}(-[a-z]{2,4})?$`)

// untranslated returns the language whose folder has a page that is not
// translated yet, "" for any other page: generators put a copy of the default
// language's page there, which is not the one for readers of other languages
// (hreflang="x-default").
func (r *Site) untranslated(d, front *retrieval.Document) string {
	if !front.XDefault || d.XDefault || d.Language != front.Language {
		return ""
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		return ""
	}
	folder, _, _ := strings.Cut(strings.TrimPrefix(u.Path, r.Prefix()+"/"), "/")
	language, _, _ := strings.Cut(folder, "-")
	own, _, _ := strings.Cut(d.Language, "-")
	if !languageFolder.MatchString(folder) || strings.EqualFold(language, own) {
		return ""
	}
	return folder
}

// ErrNoPage is the error of Markdown for a page that is gone.
var ErrNoPage = ingest.ErrNoPage
