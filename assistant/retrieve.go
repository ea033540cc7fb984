package assistant

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	defaultPageSize = 5
	maxPageSize     = 50
	scoreAnswers    = .6 // of a hit that answers by itself, whatever the words
	spareHits       = 10 // asked for beyond twice those wanted
)

// retrieve finds the passages that the answer may rest on. A search that
// fails leaves its error in searchErr.
func (r *run) retrieve(ctx context.Context) error {
	ctx, ended := r.trace(ctx, "retrieval")
	n := r.in.PageSize
	if n <= 0 {
		n = defaultPageSize
	}
	r.searchErr = r.search(ctx, min(n, maxPageSize))
	r.given = len(r.passages)
	r.res.Retrieval = time.Since(r.started)
	ended(r.searchErr)
	return nil
}

// search adds at most n passages.
func (r *run) search(ctx context.Context, n int) error {
	query := r.q.query
	query.Limit = min(maxPageSize, 2*n+spareHits)
	hits, err := r.a.Search.Search(ctx, query)
	if err != nil {
		return err
	}
	if r.q.other != "" {
		other := query
		other.Text = r.q.other
		more, err := r.a.Search.Search(ctx, other)
		if err != nil {
			return err
		}
		if q := r.q; q.weak && (len(hits) == 0 || hits[0].Score < scoreAnswers) {
			hits = more // it is not complete by itself
		} else {
			hits = merge(hits, more)
		}
	}
	r.add(r.choose(ctx, hits, query, n))
	return nil
}

// mergeRank is the constant of reciprocal rank fusion: the smaller, the more
// the first hits of a list count.
const mergeRank = 10

// merge makes one list of the hits for a question alone and of those for it
// with its conversation, by their ranks in both: scores of queries with
// different words don't compare.
func merge(lists ...[]retrieval.Hit) []retrieval.Hit {
	type id struct {
		page    string
		section int
	}
	key := func(h retrieval.Hit) id { return id{h.Document.Page, h.Section} }
	weights := make(map[id]float64)
	scores := make(map[id]float64)
	var merged []retrieval.Hit
	for _, list := range lists {
		for rank, h := range list {
			k := key(h)
			if weights[k] == 0 {
				merged = append(merged, h)
			}
			scores[k] = max(scores[k], h.Score)
			weights[k] += 1 / float64(mergeRank+rank)
		}
	}
	for i, h := range merged {
		merged[i].Score = scores[key(h)]
	}
	slices.SortStableFunc(merged, func(a, b retrieval.Hit) int { return cmp.Compare(weights[key(b)], weights[key(a)]) })
	return merged
}
