package meilisearch

import (
	"context"
	"fmt"
	"slices"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// searchable are the attributes that the server searches where the order is its
// own, and in views, in order of weight.
var searchable = []string{"title", "heading", "keywords", "headings", "breadcrumbs", "description", "text", "tags"}

// ordering are the settings that decide the server's order and that this package
// makes where it ranks. An index whose order becomes the server's begins with
// the server's defaults; then they are the operator's.
var ordering = []string{"rankingRules", "typoTolerance", "proximityPrecision", "prefixSearch", "facetSearch", "synonyms", "stopWords", "localizedAttributes"}

// beginOrder adds the first settings of an index whose order is the server's,
// unless the index has it already.
func (s settings) beginOrder(live settings) {
	if own, _ := live["searchableAttributes"].([]any); live != nil && !slices.Contains(own, any(termsOf[0])) {
		return
	}
	for _, name := range ordering {
		if _, made := s[name]; !made {
			s[name] = nil
		}
	}
	s["typoTolerance"] = settings{"enabled": true, "disableOnNumbers": true} // 2.11 is not 2.12
}

// findInOrder returns what the server's own search finds: of each index a list of
// pages, best first, each with its best section.
func (s *replica) findInOrder(ctx context.Context, w *wanted) (results []result, keywordOnly bool, err error) {
	w.Embedded()
	requests := s.indexRequests(w)
	semantic := false
	for i := range requests {
		r := &requests[i]
		r.Query, r.Limit, r.Distinct, r.RankingScore = w.Text, w.in.candidates(max(w.Limit, 1), 1), "page", true
		semantic = s.addVector(r, &w.Query, s.site.ratio) || semantic
	}
	if semantic {
		if results, ok, err := s.searchSemantic(ctx, requests); ok || err != nil {
			return results, false, err
		}
		for i := range requests {
			requests[i].Vector, requests[i].Hybrid = nil, nil
		}
	}
	results, err = s.search(ctx, s.searchKey, requests)
	return results, s.wantsVectors(w), err
}

// inOrder makes hits of a server's results, in its order. Lists of several
// indexes are merged by score.
func (s *replica) inOrder(w *wanted, results []result) ([]retrieval.Hit, error) {
	c := w.content
	hits, seen, score := []retrieval.Hit{}, map[string]bool{}, 1.
	for len(hits) < w.Limit {
		var best *result
		for i := range results {
			r := &results[i]
			if len(r.Hits) > 0 && (best == nil || r.Hits[0].Score*r.share > best.Hits[0].Score*best.share) {
				best = r
			}
		}
		if best == nil {
			break
		}
		h := &best.Hits[0]
		best.Hits = best.Hits[1:]
		at, ok := c.byPage[h.Page] // others are of another generation
		if !ok || seen[h.Page] || h.Section < 0 || h.Section >= len(c.pages[at].IDs) || w.Pages != nil && !w.Pages.Has(h.Page) || h.Score < w.Threshold {
			continue
		}
		seen[h.Page] = true // pages without a value, such as the front page, are not distinct
		d := c.outlines[at]
		switch {
		case c.adopted:
			d = d.Whole(d)
			d.Sections = make([]retrieval.Section, len(d.Sections))
			d.Sections[h.Section] = h.section()
		case w.Shown == 0 || len(hits) < w.Shown:
			var err error
			if d, err = s.site.stored(d); err != nil {
				s.site.lost.Store(true)
				return nil, err
			}
		}
		score = min(score, h.Score)
		hit := retrieval.Hit{Document: d, Section: h.Section, Score: score}
		if w.Explain {
			hit.Why = []string{fmt.Sprintf("in the order of Meilisearch, whose ranking score is %.4f", h.Score)}
		}
		hits = append(hits, hit)
	}
	return hits, nil
}
