package app

import (
	"context"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Result is one search result as clients get it. SPEC.md, Search result
// item; the metadata's fields are DESIGN.md's.
type Result struct {
	// Content is the matching section as text.
	Content string `json:"content"`
	// Path is the page's path on the site without a leading slash, with
	// #anchor when the section has one.
	Path     string   `json:"path"`
	Metadata Metadata `json:"metadata"`
}

// Metadata tells of a result's page and section.
type Metadata struct {
	Title       string   `json:"title"`
	Heading     string   `json:"heading"`
	Breadcrumbs []string `json:"breadcrumbs"`
	Description string   `json:"description,omitempty"`
	Version     string   `json:"version,omitempty"`
	Language    string   `json:"language,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	// URL is the address really served, with #anchor.
	URL string `json:"url"`
	// Score is 0-1 and never rises down the list.
	Score float64 `json:"score"`
}

// Results answers a search request: what the endpoint, the admin API and the
// command line all give. Errors are the index's.
func (r *LiveSite) Results(ctx context.Context, q *encoding.Search) ([]Result, error) {
	hits, err := r.Search(ctx, retrieval.Query{
		Text: q.Query, Limit: q.PageSize, Threshold: q.Threshold, Filter: q.Filter, Prefer: r.Prefer(),
	})
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(hits))
	for i, h := range hits {
		results[i] = NewResult(h)
	}
	return results, nil
}

// NewResult turns a hit into what clients get.
func NewResult(h retrieval.Hit) Result {
	d, s := h.Document, &h.Document.Sections[h.Section]
	r := Result{
		Content: s.Text,
		Path:    d.Page,
		Metadata: Metadata{
			Title: d.Title, Heading: s.Heading, Breadcrumbs: d.Breadcrumbs, Description: d.Description,
			Version: d.Version, Language: d.Language, Tags: d.Tags, URL: d.URL, Score: h.Score,
		},
	}
	if s.Anchor != "" {
		r.Path += "#" + s.Anchor
		r.Metadata.URL += "#" + s.Anchor
	}
	if r.Metadata.Breadcrumbs == nil {
		r.Metadata.Breadcrumbs = []string{}
	}
	return r
}
