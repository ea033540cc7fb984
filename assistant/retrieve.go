package assistant

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	defaultPageSize = 5
	maxPageSize     = 50
	spareHits       = 10 // asked for beyond twice those wanted
	promptPassages  = 14 // found ones that a model gets; clients get the sources they want
	filledPassages  = 20 // those with further sections of their pages
	filledPages     = 3  // whose further sections are looked at
	nearPages       = 8  // that a model gets the titles of
)

// findings are what an answer may rest on.
type findings struct {
	index    Searcher
	q        *inquiry
	budget   int                   // tokens of all passages
	passages []Passage             // in the order of their sources
	near     []*retrieval.Document // further pages that were found
	links    citation.Rules        // what the answer may link to
	err      error                 // of the search

	publicURL func(page string) string // see Site.PublicURL; nil without a model
	paths     map[string]string        // of pages, as links in passages have them, "" for none
}

// retrieve finds the passages that the answer may rest on.
func (r *run) retrieve(ctx context.Context) error {
	ctx, ended := r.trace(ctx, "retrieval")
	r.shown = min(cmp.Or(max(r.in.PageSize, 0), defaultPageSize), maxPageSize)
	most, filled := r.shown, 0
	if r.a.Model != nil {
		most, filled = max(most, promptPassages), filledPassages
	}
	r.found.err = r.found.search(ctx, most, filled, r.rewritten)
	r.shown, r.given = min(r.shown, len(r.found.passages)), len(r.found.passages)
	r.res.Retrieval = time.Since(r.out.started)
	ended(r.found.err)
	return nil
}

// search adds at most n passages, and further sections of their pages up to
// filled. A question in a conversation is searched for alone, with its
// conversation, and as the model has rewritten it.
func (f *findings) search(ctx context.Context, n, filled int, rewritten func() (string, bool)) error {
	query := f.q.query
	query.Limit = min(maxPageSize, 2*n+spareHits)
	find := func(text string) ([]retrieval.Hit, error) {
		q := query
		q.Text = text
		return f.find(ctx, q)
	}
	hits, err := find(query.Text)
	if err != nil {
		return err
	}
	whole := hits
	if other := cmp.Or(f.q.other, f.q.pasted); other != "" {
		if whole, err = find(other); err != nil {
			return err
		}
		switch {
		case f.q.other == "":
			hits = fuse(hits, whole)
			whole = hits
		case carriesOn(hits, whole):
			hits = fuse(whole, hits)
		default:
			hits = fuse(hits, whole)
		}
	}
	if rewritten, sure := rewritten(); rewritten != "" {
		found, err := find(rewritten)
		if err != nil {
			return err
		}
		if sure {
			hits = fuse(found, whole)
		} else { // the first hits stay
			first := min(defaultPageSize, len(hits))
			hits = append(hits[:first:first], fuse(found, hits[first:])...)
		}
		query.Text, f.q.query.Text, f.q.other = rewritten, rewritten, cmp.Or(f.q.other, f.q.query.Text)
	}
	f.add(f.fill(f.choose(ctx, hits, query.Text, n), query.Text, filled))
	for _, h := range hits {
		if d := h.Document; len(f.near) < nearPages && !slices.Contains(f.near, d) &&
			!slices.ContainsFunc(f.passages, func(p Passage) bool { return p.document.Page == d.Page }) {
			f.near = append(f.near, d)
		}
	}
	return nil
}

// find searches, and keeps the paths of what it finds: the reader can open it.
func (f *findings) find(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	hits, err := f.index.Search(ctx, q)
	for _, h := range hits {
		f.know(h.Document.Page, h.Document.URL)
	}
	return hits, err
}

// again searches for the model. It adds what is not among the passages yet.
func (f *findings) again(ctx context.Context, text string) ([]Passage, error) {
	query := f.q.query
	query.Text, query.Limit = text, 20
	hits, err := f.find(ctx, query)
	if err != nil {
		return nil, err
	}
	return f.add(f.choose(ctx, hits, text, toolPassages)), nil
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
