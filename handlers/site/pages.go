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
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/caddy-docs/caddy-docs/agents"
	"github.com/caddy-docs/caddy-docs/handlers/hosting"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// Pages are the site's pages as they are served at one moment.
type Pages struct {
	// Public are the public pages in the order of llms.txt, and Tag changes with
	// them.
	Public []*retrieval.Document
	Tag    string

	site      *Site
	documents []*retrieval.Document // of the index, for comparison
	view      *reach.View
	byPath    map[string]*retrieval.Document // by key, the public and locked pages

	// Of the public pages: the front page's description, the values that occur,
	// and the version and language that most readers want.
	description         string
	languages, versions []string
	newest, language    string

	llms  atomic.Pointer[llms] // nil until it is asked for
	names names
	moved struct {
		once   sync.Once
		locked bool // a page has moved behind a lock
	}
}

// llms is llms.txt and its parts, for one URL of the site.
type llms struct {
	base  string
	files map[string]string
	full  map[string][]int
}

// Pages returns the site's pages now.
func (r *Site) Pages() *Pages {
	view, documents := r.Reach.View(), r.Index.Documents()
	s := r.served.Load()
	if s != nil && s.view == view && reach.SameDocuments(s.documents, documents) {
		return s
	}
	s = &Pages{site: r, documents: documents, view: view, byPath: make(map[string]*retrieval.Document, len(documents))}
	sum := fnv.New128a()
	listed := make([]*retrieval.Document, len(documents))
	for i, d := range documents {
		listed[i] = r.inGroup(d)
	}
	for _, d := range inOrder(listed) {
		if d = view.Served(d); d == nil {
			continue
		}
		u, err := url.Parse(d.URL)
		if err == nil && u.Fragment != "" { // one of several documents of a page
			s.byPath[s.key(u)+"#"+u.Fragment] = d
			continue
		}
		if err == nil {
			s.byPath[s.key(u)] = d
		}
		if view.IsPublic(d) {
			s.Public = append(s.Public, d)
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
	s.newest, s.language = agents.NewestVersion(s.versions), r.Index.defaultLanguage()
	s.Tag = hex.EncodeToString(sum.Sum(nil))
	r.served.Store(s)
	return s
}

// key is the key in byPath of the page at a URL: its path, in a group with the host.
func (s *Pages) key(u *url.URL) string {
	if s.site.Members != nil {
		return strings.ToLower(u.Host) + moved.Address(u.Path)
	}
	return moved.Address(u.Path)
}

// inOrder sorts pages as the site presents them: the front page, then those of
// each part of the site in the order in which the front page links to them,
// then by URL.
func inOrder(documents []*retrieval.Document) []*retrieval.Document {
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

// At returns the page that is served at a path of the site, nil if there
// is none. Whether the reader can open it is not asked.
func (s *Pages) At(p string) *retrieval.Document {
	d := s.byPath[moved.Address(p)]
	if d != nil && path.Ext(p) == ".mdx" && path.Ext(moved.PathOf(d)) != ".mdx" {
		return nil
	}
	return d
}

// publicURL is the URL of a public page by its name, "" for any other.
func (s *Pages) publicURL(page string) string {
	if s.site.Members != nil {
		if d := s.view.Named(page); d != nil && s.view.IsPublic(d) {
			return d.URL
		}
		return ""
	}
	if d := s.At(s.site.Prefix + "/" + page); d != nil && d.Page == page && s.view.IsPublic(d) {
		return d.URL
	}
	return ""
}

// AtMarkdown returns the page whose Markdown is at a path that ends with
// .md: /x.md is the page at /x, /x/ or /x.html, and so are /x/index.md and
// /x.html.md.
func (s *Pages) AtMarkdown(p string) *retrieval.Document {
	p, ok := strings.CutSuffix(p, ".md")
	if !ok || p == "" || strings.HasSuffix(p, "/") {
		return nil
	}
	return s.At(p)
}

// Named finds a page by what clients name it: a URL of the site, a path
// with or without the leading slash and the path of the site's URL, its path
// in search results, the path of its Markdown; each perhaps with an anchor.
// Nil if there is none. Whether the reader can open it is not asked.
func (s *Pages) Named(name string) *retrieval.Document {
	name = strings.TrimSpace(name)
	var asked []*url.URL
	if !strings.Contains(name, "://") { // C#, 50% and Help:Editing are paths
		asked = append(asked, &url.URL{Path: name})
		if i := strings.LastIndexByte(name, '#'); i >= 0 {
			asked = append(asked, &url.URL{Path: name[:i], Fragment: name[i+1:]})
		}
	}
	if u, err := url.Parse(name); err == nil && u.Opaque == "" {
		asked = append(asked, u)
	}
	for _, u := range asked {
		if d := s.named(u); d != nil {
			return d
		}
	}
	return nil
}

func (s *Pages) named(u *url.URL) *retrieval.Document {
	if s.site.Members != nil {
		if u.Host == "" {
			if d := s.view.Named(strings.TrimSuffix(strings.Trim(u.Path, "/"), ".md")); d != nil {
				return d
			}
		}
		return cmp.Or(s.part(s.key(u), u), s.byPath[s.key(u)], s.byPath[s.key(&url.URL{Host: u.Host, Path: strings.TrimSuffix(u.Path, ".md")})])
	}
	if u.Host != "" && s.site.Host != "" && hosting.Hostname(u.Host) != s.site.Host {
		return nil
	}
	path := "/" + strings.TrimPrefix(u.Path, "/")
	for _, p := range []string{path, s.site.Prefix + path} {
		if d := cmp.Or(s.part(moved.Address(p), u), s.At(p), s.AtMarkdown(p)); d != nil {
			return d
		}
	}
	page := strings.Trim(u.Path, "/")
	for _, d := range s.documents {
		if d.Page == page {
			return s.view.Served(d)
		}
	}
	return nil
}

// part returns the one of several documents of a page that a URL's fragment names.
func (s *Pages) part(key string, u *url.URL) *retrieval.Document {
	if u.Fragment == "" {
		return nil
	}
	return s.byPath[key+"#"+u.Fragment]
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
	case strings.TrimSuffix(p, "/") == r.Prefix:
		p = r.Prefix + "/index"
	default:
		p = strings.TrimSuffix(p, "/")
	}
	u.Path, u.RawPath = p+".md", ""
	return u.String()
}

// CanOpen reports whether the reader of the context can open a page that was
// asked for by a name or path: d, nil for none. It takes as long for none.
func (r *Site) CanOpen(ctx context.Context, name string, d *retrieval.Document) bool {
	if r.Members != nil {
		return r.Reach.CanOpen(ctx, name, d)
	}
	if u, err := url.Parse(name); err == nil {
		name = u.Path
	}
	name = "/" + strings.TrimPrefix(name, "/")
	below := strings.TrimPrefix(strings.TrimPrefix(name, r.Prefix+"/"), "/") // the site's URL
	return r.Reach.CanOpen(ctx, below, d)
}

// Known reports whether the site's pages and their locks are known, or that it has
// no pages.
func (r *Site) Known() bool {
	st := r.Index.Refresher.Status()
	return st.Ready && (r.Reach.View().Complete || st.ProblemCount == 0 && st.Error == "" && len(r.Index.Documents()) == 0)
}

// HasFile reports whether a folder of the site has a file at a path of the site.
func (r *Site) HasFile(p string) bool {
	rest, ok := strings.CutPrefix(path.Clean("/"+p), r.Prefix+"/")
	if !ok || rest == "" {
		return false
	}
	for _, s := range r.Index.markdown.sources {
		if s.folder != nil && s.folder.Serves(rest) {
			return true
		}
	}
	return false
}

// Free reports whether the site has nothing at a path.
func (r *Site) Free(ctx context.Context, p string) bool {
	return r.Pages().At(p) == nil && !r.HasFile(p) && r.Reach.Free(ctx, p)
}

// favored are the language and version of the pages that most readers want.
func (s *Pages) favored() (language, version string) {
	prefer := s.site.Prefer()
	return cmp.Or(prefer.Language, s.language), cmp.Or(prefer.Version, s.newest)
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
