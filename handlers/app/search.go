package app

import (
	"cmp"
	"context"

	"go.opentelemetry.io/otel/attribute"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Search searches the site. It is what both the search endpoint and the
// assistant use.
func (r *LiveSite) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	ctx, s := startSpan(ctx, "docs.search")
	if language := r.index.language.Load(); language != nil {
		q.Prefer.Language = cmp.Or(q.Prefer.Language, *language)
	}
	hits, err := r.search(ctx, q)
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
	return hits, err
}

// Page returns a page of the site, nil if there is none of that name that the
// reader of the context can open.
func (r *LiveSite) Page(ctx context.Context, page string) (*retrieval.Document, error) {
	d, err := r.index.index.Page(ctx, page)
	if d == nil || err != nil || r.reach == nil {
		return d, err
	}
	if !r.reach.CanOpen(ctx, d) {
		return nil, nil
	}
	return r.reach.View().Document(d), nil
}

// Results answers a search request: what the endpoint, the admin API and the
// command line all give. Errors are the index's.
func (r *LiveSite) Results(ctx context.Context, q *encoding.Search) ([]encoding.Result, error) {
	hits, err := r.Search(ctx, retrieval.Query{
		Text: q.Query, Limit: q.PageSize, Threshold: q.Threshold, Filter: q.Filter, Prefer: r.Prefer(),
	})
	if err != nil {
		return nil, err
	}
	return encoding.Results(hits), nil
}

// A live site is what its assistant searches.
var _ assistant.Searcher = (*LiveSite)(nil)
