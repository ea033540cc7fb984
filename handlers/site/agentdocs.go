package site

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"slices"

	"github.com/caddy-docs/caddy-docs/agents"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// agentDocs is a site as the tools of agents see it.
type agentDocs struct {
	site *Site
	base string // the site's URL without a slash at its end
}

// AgentDocs returns a site for the tools of agents, on behalf of the reader
// of each context. base is the site's URL where the configuration has none. The
// caller holds the site (Acquire).
func (r *Site) AgentDocs(base string) agents.Docs {
	d := &agentDocs{r, base}
	return agents.Docs{
		Search: d.search, Incomplete: reach.Incomplete, Page: d.page, Pages: d.pages,
		Nearby: func(text string) ([]string, []agents.Page) { return r.Pages().nearby(base, text) },
	}
}

// WithKeyID adds the id of a request's key for what the tools of agents record.
func WithKeyID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, ofKeyID, id)
}

func (d *agentDocs) search(ctx context.Context, text, language, version string, limit int) ([]agents.Hit, error) {
	found, err := d.site.Search(ctx, retrieval.Query{
		Text: text, Limit: limit, Filter: retrieval.Filter{Language: language, Version: version}, Prefer: d.site.Prefer(),
	})
	if err != nil {
		return nil, err
	}
	hits := make([]agents.Hit, 0, len(found))
	var s shown
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
		if h.Document.Source == found[0].Document.Source {
			s.own++
		}
		hits = append(hits, agents.Hit{
			Title: h.Document.Title, Heading: section.Heading, URL: address, Text: h.Content(),
			Language: h.Document.Language, Version: h.Document.Version,
		})
	}
	s.Search = insights.Search{Query: text, Hits: len(hits), Language: language}
	if len(found) > 0 {
		first := found[0].Document
		s.Top, s.first = &found[0].Score, first.Source
		s.Language = cmp.Or(s.Language, first.Language)
	}
	key, _ := ctx.Value(ofKeyID).(string)
	Asker{d.site, insights.MCP, key}.recordSearch(s)
	return hits, nil
}

func (d *agentDocs) page(ctx context.Context, address string) (*agents.PageText, error) {
	doc := d.site.Pages().Named(address)
	if !d.site.CanOpen(ctx, address, doc) {
		return nil, nil
	}
	md, err := d.site.Index.Markdown(doc, d.base, true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &agents.PageText{Title: doc.Title, URL: Absolute(d.base, doc.URL), Language: doc.Language, Version: doc.Version, Markdown: md}, nil
}

func (d *agentDocs) pages(_ context.Context, offset, n int) (pages []agents.Page, total int) {
	now := d.site.Pages()
	total = len(now.Public)
	offset = min(offset, total)
	for _, p := range now.Public[offset:min(offset+n, total)] {
		pages = append(pages, now.listed(d.base, p))
	}
	return pages, total
}

// listed is a page in a list for agents.
func (s *Pages) listed(base string, d *retrieval.Document) agents.Page {
	return agents.Page{Title: d.Title, Description: d.Description, Markdown: Absolute(base, s.site.MarkdownURL(d.URL))}
}

// MissingMarkdown is what a program gets for a path without a page that it may
// read.
func (s *Pages) MissingMarkdown(ctx context.Context, base, path string) string {
	var list []agents.Page
	ask := ""
	for _, d := range s.Instead(path, s.Moved(ctx, path)) {
		list = append(list, s.listed(base, d))
		u, err := url.Parse(s.site.MarkdownURL(d.URL))
		if err == nil && ask == "" && !s.site.HasFile(u.Path) { // files take precedence, whatever the query
			u.Fragment = ""
			ask = Absolute(base, u.String())
		}
	}
	return agents.Missing(list, ask, base)
}

// What a search that found nothing names instead.
const (
	maxCorrected = 10 // words of the query
	maxSpellings = 5
	maxParts     = 12
)

func (s *Pages) nearby(base, text string) (spellings []string, parts []agents.Page) {
	asked := words.Plain(text)
	for _, word := range asked[:min(len(asked), maxCorrected)] {
		for _, other := range s.words().list.Suggest(word, false) {
			if len(spellings) < maxSpellings && !slices.Contains(spellings, other.Text) {
				spellings = append(spellings, other.Text)
			}
		}
	}
	for _, p := range s.Public {
		part := partOf(p)
		if named := func(other agents.Page) bool { return other.Section == part }; part != "" && len(parts) < maxParts && !slices.ContainsFunc(parts, named) {
			parts = append(parts, agents.Page{Section: part, Markdown: Absolute(base, s.site.MarkdownURL(p.URL))})
		}
	}
	return spellings, parts
}
