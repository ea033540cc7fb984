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
	spareHits       = 10 // asked for beyond twice those wanted
	promptPassages  = 14 // found ones that a model gets; clients get the sources they want
	filledPassages  = 20 // those with further sections of their pages
	nearPages       = 8  // that a model gets the titles of
)

// retrieve finds the passages that the answer may rest on. A search that
// fails leaves its error in searchErr.
func (r *run) retrieve(ctx context.Context) error {
	ctx, ended := r.trace(ctx, "retrieval")
	n := r.in.PageSize
	if n <= 0 {
		n = defaultPageSize
	}
	r.shown = min(n, maxPageSize)
	most := r.shown
	if r.a.Model != nil {
		most = max(most, promptPassages)
	}
	r.searchErr = r.search(ctx, most)
	r.shown = min(r.shown, len(r.passages))
	r.given = len(r.passages)
	r.res.Retrieval = time.Since(r.started)
	ended(r.searchErr)
	return nil
}

// search adds at most n passages. A question in a conversation is searched for
// alone, with its conversation, and as the model rewrites it.
func (r *run) search(ctx context.Context, n int) error {
	query := r.q.query
	query.Limit = min(maxPageSize, 2*n+spareHits)
	find := func(text string) ([]retrieval.Hit, error) {
		q := query
		q.Text = text
		return r.a.Search.Search(ctx, q)
	}
	hits, err := find(query.Text)
	if err != nil {
		return err
	}
	whole := hits
	if r.q.other != "" {
		if whole, err = find(r.q.other); err != nil {
			return err
		}
		if carriesOn(hits, whole) {
			hits = fuse(whole, hits)
		} else {
			hits = fuse(hits, whole)
		}
	}
	if rewritten := r.rewritten(); rewritten != "" {
		better, err := find(rewritten)
		if err != nil {
			return err
		}
		hits = fuse(better, whole)
		query.Text, r.q.query.Text, r.q.other = rewritten, rewritten, cmp.Or(r.q.other, r.q.query.Text)
	}
	chosen := r.choose(ctx, hits, query, n)
	if r.a.Model != nil {
		chosen = r.fill(chosen, query.Text, filledPassages)
	}
	r.add(chosen)
	for _, h := range hits {
		if d := h.Document; d != nil && len(r.near) < nearPages && !slices.Contains(r.near, d) &&
			!slices.ContainsFunc(r.passages, func(p passage) bool { return p.document.Page == d.Page }) {
			r.near = append(r.near, d)
		}
	}
	return nil
}

const (
	// keptScore is the share of a question's best score that it keeps with its
	// conversation, if it continues that.
	keptScore = .9
	// mergeRank is the constant of the ranks' fusion: the smaller, the more the
	// first hits of a list count.
	mergeRank = 5
	// lesserList is the weight of the list that counts less.
	lesserList = .7
)

// carriesOn reports whether a question continues its conversation, by the hits
// for it alone and with its conversation: words of an earlier subject that the
// question is not about lower the best score.
func carriesOn(alone, whole []retrieval.Hit) bool {
	return len(alone) == 0 || len(whole) > 0 && whole[0].Score >= keptScore*alone[0].Score
}

// fuse makes one list of two, by the ranks in both: scores of queries with
// different words don't compare.
func fuse(better, lesser []retrieval.Hit) []retrieval.Hit {
	type id struct {
		page    string
		section int
	}
	key := func(h retrieval.Hit) id { return id{h.Document.Page, h.Section} }
	weights, scores := make(map[id]float64), make(map[id]float64)
	var fused []retrieval.Hit
	add := func(hits []retrieval.Hit, weight float64) {
		for rank, h := range hits {
			k := key(h)
			if weights[k] == 0 {
				fused = append(fused, h)
			}
			scores[k] = max(scores[k], h.Score)
			weights[k] += weight / float64(mergeRank+rank)
		}
	}
	add(better, 1)
	add(lesser, lesserList)
	for i, h := range fused {
		fused[i].Score = scores[key(h)]
	}
	slices.SortStableFunc(fused, func(a, b retrieval.Hit) int { return cmp.Compare(weights[key(b)], weights[key(a)]) })
	return fused
}
