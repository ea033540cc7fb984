package app

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Search searches the site. It is what both the search endpoint and the
// assistant use.
func (r *LiveSite) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	hits, _, err := r.find(ctx, &q, q.Limit)
	return hits, err
}

// find is Search for a reader who is shown the first enough hits. pages are
// those that were searched.
func (r *LiveSite) find(ctx context.Context, q *retrieval.Query, enough int) (hits []retrieval.Hit, pages *retrieval.PageSet, err error) {
	ctx, s := startSpan(ctx, "docs.search")
	if q.Prefer == r.Prefer() { // the request's body names no page
		q.Prefer = r.preferHere(ctx)
	}
	if q.Prefer.Language == "" {
		q.Prefer.Language = r.index.defaultLanguage()
	}
	hits, pages, err = r.search(ctx, *q, enough)
	s.SetAttributes(attribute.Int("docs.hits", len(hits)))
	endSpan(s, err)
	outcome := "hits"
	switch {
	case err != nil:
		outcome = "failed"
	case len(hits) == 0:
		outcome = "none"
	}
	collectors.searches.WithLabelValues(r.Name, outcome).Inc()
	return hits, pages, err
}

// Page returns a page of the site, nil if there is none of that name that the
// reader of the context can open.
func (r *LiveSite) Page(ctx context.Context, page string) (*retrieval.Document, error) {
	d, err := r.index.index.Page(ctx, page)
	if d == nil || err != nil || r.reach == nil {
		return d, err
	}
	if !r.reach.CanOpen(ctx, page, d) {
		return nil, nil
	}
	return r.reach.View().Document(d), nil
}

// Results answers a search request: what the endpoint, the admin API and the
// command line all give. total is how many results there are at any offset; a
// reader of locked pages may have more. Errors are the index's.
func (r *LiveSite) Results(ctx context.Context, q *encoding.Search) (results []encoding.Result, total int, err error) {
	query := retrieval.Query{
		Text: q.Query, Limit: retrieval.MaxHits, Threshold: q.Threshold, Filter: q.Filter, Prefer: r.Prefer(),
	}
	hits, pages, err := r.find(ctx, &query, q.Offset+q.PageSize)
	if err != nil {
		return nil, 0, err
	}
	total = len(hits)
	hits = hits[min(q.Offset, total):min(q.Offset+q.PageSize, total)]
	query.Pages = pages
	return encoding.Results(hits, q, r.index.index.Mark(query)), total, nil
}

// A live site is what its assistant searches.
var _ assistant.Searcher = (*LiveSite)(nil)
