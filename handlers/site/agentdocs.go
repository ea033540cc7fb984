package site

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/agents"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// agentDocs is a site as the tools of agents see it.
type agentDocs struct {
	site *Site
	base string // the site's URL without a slash at its end
}

// AgentDocs returns a site for the tools of agents, on behalf of the reader
// of each context. base is the site's URL where the configuration has none.
func (r *Site) AgentDocs(base string) agents.Docs {
	d := &agentDocs{r, base}
	return agents.Docs{Search: d.search, Incomplete: reach.Incomplete, Page: d.page, Pages: d.pages}
}

type keyIDKey struct{}

// WithKeyID adds the id of a request's key for what the tools of agents record.
func WithKeyID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, keyIDKey{}, id)
}

// errClosed is the error after the site is gone.
var errClosed = errors.New("the site is closed")

func (d *agentDocs) search(ctx context.Context, text, language, version string, limit int) ([]agents.Hit, error) {
	release, ok := d.site.Acquire()
	if !ok {
		return nil, errClosed
	}
	defer release()
	found, err := d.site.Search(ctx, retrieval.Query{
		Text: text, Limit: limit, Filter: retrieval.Filter{Language: language, Version: version}, Prefer: d.site.Prefer(),
	})
	if err != nil {
		return nil, err
	}
	hits := make([]agents.Hit, 0, len(found))
	for _, h := range found {
		section := h.Document.Sections[h.Section]
		address := Absolute(d.base, h.Document.URL)
		if section.Anchor != "" {
			address += "#" + (&url.URL{Fragment: section.Anchor}).EscapedFragment()
		}
		// A long section is in the index in parts that share its address.
		if slices.ContainsFunc(hits, func(h agents.Hit) bool { return h.URL == address }) {
			continue
		}
		hits = append(hits, agents.Hit{
			Title: h.Document.Title, Heading: section.Heading, URL: address, Text: section.Text,
			Language: h.Document.Language, Version: h.Document.Version,
		})
	}
	s := insights.Search{Query: text, Hits: len(hits), Language: language}
	if len(found) > 0 {
		s.Top = &found[0].Score
		s.Language = cmp.Or(s.Language, found[0].Document.Language)
	}
	key, _ := ctx.Value(keyIDKey{}).(string)
	d.site.recordSearch(Asker{Source: insights.MCP, Key: key}, s)
	return hits, nil
}

func (d *agentDocs) page(ctx context.Context, address string) (*agents.PageText, error) {
	release, ok := d.site.Acquire()
	if !ok {
		return nil, errClosed
	}
	defer release()
	doc := d.site.PageNamed(address)
	if !d.site.CanOpen(ctx, address, doc) {
		return nil, nil
	}
	md, err := d.site.Markdown(ctx, doc, d.base)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNoPage) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &agents.PageText{Title: doc.Title, URL: Absolute(d.base, doc.URL), Language: doc.Language, Version: doc.Version, Markdown: md}, nil
}

func (d *agentDocs) pages(_ context.Context, offset, n int) (pages []agents.Page, total int) {
	release, ok := d.site.Acquire()
	if !ok {
		return nil, 0
	}
	defer release()
	public, _ := d.site.PublicPages()
	offset = min(offset, len(public))
	for _, p := range public[offset:min(offset+n, len(public))] {
		pages = append(pages, agents.Page{Title: p.Title, Description: p.Description, Markdown: Absolute(d.base, d.site.MarkdownURL(p.URL))})
	}
	return pages, len(public)
}

// maxNamed is how many languages and versions of a site tools name.
const maxNamed = 20

// About is what the tools of agents say of the site.
func (r *Site) About(base string) agents.About {
	about := agents.About{Name: r.Name, Title: r.Title(), URL: base}
	language, version := r.favored()
	s := r.pages()
	about.Description = s.description
	languages, versions := append([]string{language}, s.languages...), append([]string{version}, s.versions...)
	tidy := func(all []string) (some []string) {
		for _, s := range all {
			if s != "" && len(s) <= 50 && len(some) < maxNamed && !slices.Contains(some, s) {
				some = append(some, s)
			}
		}
		return some
	}
	about.Languages, about.Versions = tidy(languages), tidy(versions)
	return about
}

// PageNamed finds a page by what clients name it: a URL of the site, a path
// with or without the leading slash and the path of the site's URL, its path
// in search results, the path of its Markdown; each perhaps with an anchor.
// Nil if there is none. Whether the reader can open it is not asked.
func (r *Site) PageNamed(name string) *retrieval.Document {
	u, err := url.Parse(strings.TrimSpace(name))
	if err != nil || u.Host != "" && !r.IsHost(u.Host) {
		return nil
	}
	path := "/" + strings.TrimPrefix(u.Path, "/")
	for _, p := range []string{path, r.Prefix() + path} {
		if d := r.PageAt(p); d != nil {
			return d
		}
		if d := r.PageAtMarkdown(p); d != nil {
			return d
		}
	}
	s := r.pages()
	page := strings.Trim(u.Path, "/")
	for _, d := range s.documents {
		if d.Page == page {
			if s.view != nil {
				d = s.view.Served(d)
			}
			return d
		}
	}
	return nil
}
