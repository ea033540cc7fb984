package site

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/thread"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Search searches the site. It is what both the search endpoint and the
// assistant use.
func (r *Site) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	hits, _, err := r.find(ctx, &q, q.Limit)
	return hits, err
}

// find is Search for a reader who is shown only the first `enough` hits. pages
// are those that were searched.
func (r *Site) find(ctx context.Context, q *retrieval.Query, enough int) (hits []retrieval.Hit, pages *retrieval.PageSet, err error) {
	if r.Members == nil {
		if q.Filter.Site != "" && !strings.EqualFold(q.Filter.Site, r.Name) {
			return nil, nil, nil
		}
		q.Filter.Site = ""
	}
	ctx, s := observe.Span(ctx, "docs.search")
	if q.Prefer == r.Prefer() { // the request's body names no page
		q.Prefer = r.preferHere(ctx)
	}
	if q.Prefer.Language == "" {
		q.Prefer.Language = r.Index.defaultLanguage()
	}
	hits, pages, err = r.searchOpen(ctx, *q, enough)
	s.SetAttributes(attribute.Int("docs.hits", len(hits)))
	observe.End(s, err)
	outcome := "hits"
	switch {
	case err != nil:
		outcome = "failed"
	case len(hits) == 0:
		outcome = "none"
	}
	observe.Metrics.Searches.WithLabelValues(r.Name, outcome).Inc()
	return hits, pages, err
}

// searchOpen searches the pages that the reader of the context can open.
// Readers who have opened nothing behind a lock get what a search of the public
// pages finds. For others, only `enough` hits are looked for.
func (r *Site) searchOpen(ctx context.Context, q retrieval.Query, enough int) (hits []retrieval.Hit, pages *retrieval.PageSet, err error) {
	if r.Index.queries != nil {
		q = r.Index.queries.WithVector(ctx, q)
	}
	may := r.Reach.Searched(ctx)
	wanted := q.Limit
	if q.Pages = may.Pages; may.Locked {
		q.Open, q.Limit, wanted = may.Public, retrieval.MaxHits, enough
	} else {
		q.Shown = enough
	}
	if hits, err = r.Index.Search(ctx, q); err != nil {
		return nil, nil, err
	}
	hits = may.Open(ctx, hits, wanted, len(hits) < q.Limit)
	view := r.Reach.View() // readers may have found where pages are
	for i := range hits[:min(len(hits), enough)] {
		hits[i].Document = r.inGroup(view.Document(hits[i].Document))
	}
	return hits, q.Pages, nil
}

// Page returns a page of the site, nil if there is none of that name that the
// reader of the context can open.
func (r *Site) Page(ctx context.Context, page string) (*retrieval.Document, error) {
	d, err := r.Index.Page(ctx, page)
	if d == nil || err != nil || !r.Reach.CanOpen(ctx, page, d) {
		return nil, err
	}
	return r.inGroup(r.Reach.View().Document(d)), nil
}

// Results answers a search request: what the endpoint, the admin API and the
// command line all give. total is how many results there are at any offset; a
// reader of locked pages may have more. Errors are the index's.
func (r *Site) Results(ctx context.Context, q *encoding.Search) (results []encoding.Result, total int, err error) {
	query := retrieval.Query{
		Text: q.Query, Limit: retrieval.MaxHits, Threshold: q.Threshold, Filter: q.Filter, Prefer: r.Prefer(), Explain: q.Explain,
	}
	hits, pages, err := r.find(ctx, &query, q.Offset+q.PageSize)
	if err != nil {
		return nil, 0, err
	}
	total = len(hits)
	hits = hits[min(q.Offset, total):min(q.Offset+q.PageSize, total)]
	query.Pages = pages
	results = encoding.Results(hits, q, r.Index.Mark(query))
	for i := range results {
		if r.Members != nil {
			results[i].Metadata.Site = hits[i].Document.Source
		}
	}
	return results, total, nil
}

// Sealed reports whether a stored turn must not be shown to the reader of the
// context: it may quote a page that they can't open, that is no longer known, or
// that was behind a lock then and isn't now, so that its text may be different. If
// not all of its pages are known, a page behind any lock may be among them.
func (r *Site) Sealed(ctx context.Context, t *thread.Turn) bool {
	pages := t.Pages()
	return t.Locked && !r.Reach.View().AnyLocked(pages) || t.More && r.Reach.View().HasLocked() || !r.Reach.CanOpenAll(ctx, pages)
}

// A live site is what its assistant searches.
var _ assistant.Searcher = (*Site)(nil)
