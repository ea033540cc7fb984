package app

import (
	"context"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

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
