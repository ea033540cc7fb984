package meilisearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// Limits of a search.
const (
	// searchTimeout is for all servers together, serverTimeout for each if
	// there is another one or a fallback.
	searchTimeout = 1800 * time.Millisecond
	serverTimeout = 800 * time.Millisecond
	// maxWords is the number of words of a query that the server reads.
	maxWords = 10
	// Servers are asked for candidatesPerHit times as many sections as hits
	// are wanted, since several may be of one page.
	candidatesPerHit = 4
	minCandidates    = 50
	maxCandidates    = 200
	// narrowedFactor is how many times more they are asked for if the query is
	// narrowed to some pages, since the server searches all of them.
	narrowedFactor = 5
)

// Search asks the servers, those that are up to date first, and scores and
// orders the sections that they find as the embedded index does. If no server
// answers in time, the fallback does, or the error wraps
// retrieval.ErrUnavailable, or retrieval.ErrRefused if all servers refuse the
// request.
func (x *Index) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	c := x.target.Load()
	if c == nil && x.local.Documents() == nil {
		if errs := x.downErrors(); !x.options.Fallback && allRefused(errs) {
			return nil, fmt.Errorf("%w: %w", retrieval.ErrRefused, errors.Join(errs...))
		}
		return nil, retrieval.ErrNotReady
	}
	filter, possible := filterOf(q.Filter)
	if !possible {
		return []retrieval.Hit{}, nil
	}
	var errs []error
	if c != nil {
		timed, cancel := context.WithTimeout(ctx, searchTimeout)
		defer cancel()
		for i, s := range x.order() {
			last := i+1 == len(x.servers) && !x.options.Fallback
			hits, keywordOnly, err := x.searchServer(timed, s, c, q, filter, last)
			if err == nil {
				if keywordOnly {
					x.count(&x.counts.KeywordOnly)
				} else {
					x.count(&x.counts.Answered)
				}
				return hits, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			errs = append(errs, err)
			if timed.Err() != nil {
				break
			}
		}
	}
	if len(errs) < len(x.servers) {
		errs = append(errs, x.downErrors()...)
	}
	if x.options.Fallback && x.local.Documents() != nil {
		x.count(&x.counts.Fallback)
		x.warn("no Meilisearch server answered; the search was answered by the fallback", "all", errors.Join(errs...))
		return x.local.Search(ctx, q)
	}
	x.count(&x.counts.Failed)
	kind := retrieval.ErrUnavailable
	if allRefused(errs) {
		kind = retrieval.ErrRefused
	}
	return nil, fmt.Errorf("%w: %w", kind, errors.Join(errs...))
}

func allRefused(errs []error) bool {
	return !slices.ContainsFunc(errs, func(err error) bool { return !refused(err) })
}

// order returns the servers that are not down, outdated ones last.
func (x *Index) order() []*server {
	var current, outdated []*server
	for _, s := range x.servers {
		if !s.searchable() {
			continue
		}
		if old, _ := s.state(); old {
			outdated = append(outdated, s)
		} else {
			current = append(current, s)
		}
	}
	return append(current, outdated...)
}

// downErrors returns why servers are down.
func (x *Index) downErrors() (errs []error) {
	for _, s := range x.servers {
		if err := s.refusal(); err != nil {
			errs = append(errs, err)
		} else if _, down := s.state(); down != nil {
			errs = append(errs, down)
		}
	}
	if len(errs) == 0 {
		errs = append(errs, errors.New("no server was asked"))
	}
	return errs
}

// searchServer searches one server. keywordOnly reports that vectors should
// have been used and were not. last: there is no other server or fallback.
func (x *Index) searchServer(ctx context.Context, s *server, c *content, q retrieval.Query, filter string, last bool) (hits []retrieval.Hit, keywordOnly bool, err error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, serverTimeout)
		defer cancel()
	}
	began := time.Now()
	results, keywordOnly, err := x.find(ctx, s, c, q, filter)
	if err != nil {
		if unavailable(err) || unauthorized(err) {
			s.failed(began, err)
		}
		if indexNotFound(err) {
			s.setOutdated(true)
			if reason := s.refusal(); reason != nil {
				err = reason
			}
		}
		return nil, false, err
	}
	hits, err = x.rank(c, q, results)
	return hits, keywordOnly, err
}

// result is what a server found for one request.
type result struct {
	hits     sdk.Hits
	semantic bool
}

// find returns what a server finds by keywords and by vectors.
func (x *Index) find(ctx context.Context, s *server, c *content, q retrieval.Query, filter string) (results []result, keywordOnly bool, err error) {
	keyword, semantic := x.requests(s, c, q, filter)
	if len(semantic) == 0 {
		results, err = s.search(ctx, keyword)
		return results, x.ratio > 0 && (q.Vector != nil || x.options.Embedder != ""), err
	}
	first := keyword
	if x.ratio == 1 {
		first = nil // keywords are asked only if vectors fail
	}
	if x.options.Embedder == "" {
		results, err = s.search(ctx, append(slices.Clip(first), semantic...))
		if !noVectors(err) {
			return results, false, err
		}
		x.warn("a Meilisearch server has no vectors for this query; searches use keywords only", s.url, err)
		results, err = s.search(ctx, keyword)
		return results, true, err
	}
	var found []result
	var ok bool
	var group sync.WaitGroup
	group.Go(func() { found, ok = x.searchEmbedded(ctx, s, semantic) })
	results, err = s.search(ctx, first)
	group.Wait()
	if !ok && err == nil && len(first) < len(keyword) {
		results, err = s.search(ctx, keyword)
	}
	return append(results, found...), !ok, err
}

// searchEmbedded searches with queries that the server's embedder embeds. ok
// is false if the embedder fails or is too slow.
func (x *Index) searchEmbedded(ctx context.Context, s *server, requests []*sdk.SearchRequest) (results []result, ok bool) {
	if !s.embedder.Allow() {
		x.count(&x.embedderCounts.Skipped)
		return nil, false
	}
	timed, cancel := context.WithTimeout(ctx, retrieval.DefaultQueryDeadline)
	defer cancel()
	results, err := s.search(timed, requests)
	switch {
	case err == nil:
		x.count(&x.embedderCounts.Embedded)
	case ctx.Err() != nil:
		return nil, false // the reader left, or the server is too slow
	case timed.Err() != nil:
		x.count(&x.embedderCounts.Late)
	default:
		x.count(&x.embedderCounts.Failed)
	}
	if s.embedder.Record(err == nil) {
		log := x.log.With("server", s.url, "embedder", x.options.Embedder)
		if err == nil {
			log.Info("the server's embedder has recovered")
		} else {
			log.Warn("the server's embedder is failing; searches use keywords only until it recovers",
				"error", err, "deadline", retrieval.DefaultQueryDeadline)
		}
	}
	return results, err == nil
}

// search sends requests to a server in one call.
func (s *server) search(ctx context.Context, requests []*sdk.SearchRequest) ([]result, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	response, err := s.reader.MultiSearchWithContext(ctx, &sdk.MultiSearchRequest{Queries: requests})
	if err := s.explain(err); err != nil {
		return nil, err
	}
	if len(response.Results) != len(requests) {
		return nil, &ServerError{URL: s.url, Status: http.StatusOK, cause: fmt.Errorf("%d results for %d requests", len(response.Results), len(requests))}
	}
	results := make([]result, len(requests))
	for i, r := range requests {
		results[i] = result{response.Results[i].Hits, r.Hybrid != nil}
	}
	return results, nil
}

// requests returns a keyword and a semantic request for each language, or for
// the filter's. The server's own hybrid search is not used: it compares scores
// of both kinds, which have different scales.
func (x *Index) requests(s *server, c *content, q retrieval.Query, filter string) (keyword, semantic []*sdk.SearchRequest) {
	terms := x.local.KeyTerms(q, maxWords)
	if x.onlyStopWords(terms) {
		terms = "" // only this process finds those
	}
	if terms != "" && q.Question {
		terms += " " // the last word is complete
	}
	limit := int64(min(max(minCandidates, candidatesPerHit*q.Limit), maxCandidates))
	if q.Pages != nil {
		limit *= narrowedFactor
	}
	s.mu.Lock()
	all := maps.Clone(s.dimensions)
	s.mu.Unlock()
	complete := func(uid string, r *sdk.SearchRequest) *sdk.SearchRequest {
		r.IndexUID, r.Limit, r.AttributesToRetrieve = uid, limit, []string{"id"}
		if filter != "" {
			r.Filter = filter
		}
		return r
	}
	for _, uid := range slices.Sorted(maps.Keys(c.indexes)) {
		language := c.indexes[uid].language
		if l := q.Filter.Language; l != "" && baseLanguage(l) != language {
			continue
		}
		if terms != "" { // the server finds everything without words
			r := &sdk.SearchRequest{Query: terms, MatchingStrategy: sdk.Frequency}
			if l := locales[language]; l != "" {
				r.Locales = []string{l}
			}
			keyword = append(keyword, complete(uid, r))
		}
		dimensions, known := all[uid]
		r := &sdk.SearchRequest{ShowRankingScoreDetails: true, Hybrid: &sdk.SearchRequestHybrid{SemanticRatio: 1, Embedder: vectorName}}
		switch {
		case x.ratio == 0:
			continue
		case x.options.Embedder != "" && (!known || dimensions == 0):
			r.Query, r.Hybrid.Embedder = q.Text, x.options.Embedder
		case x.options.Embedder == "" && q.Vector != nil && (!known || dimensions == len(q.Vector)):
			r.Vector = q.Vector
		default:
			continue
		}
		semantic = append(semantic, complete(uid, r))
	}
	return keyword, semantic
}

// onlyStopWords reports whether all terms are the site's stop words, which the
// servers don't index.
func (x *Index) onlyStopWords(terms string) bool {
	for word := range strings.FieldsSeq(terms) {
		if !x.stopWords[word] {
			return false
		}
	}
	return terms != ""
}

// rank makes hits of a server's results.
func (x *Index) rank(c *content, q retrieval.Query, results []result) ([]retrieval.Hit, error) {
	mean, lowest := 0.0, 1.0
	if v := unit(q.Vector); len(v) == len(c.mean) {
		for i, m := range c.mean {
			mean += float64(v[i]) * float64(m)
		}
	}
	var found []embedded.Candidate
	for _, r := range results {
		for rank, hit := range r.hits {
			var id string
			if json.Unmarshal(hit["id"], &id) != nil {
				continue
			}
			section, ok := c.sections[id]
			if !ok {
				continue // of another generation
			}
			f := embedded.Candidate{Page: section.page, Section: section.section, Rank: rank}
			if r.semantic {
				if f.Similarity, ok = similarityOf(hit["_rankingScoreDetails"]); !ok {
					continue
				}
				f.Rank, lowest = -1, min(lowest, f.Similarity)
			}
			found = append(found, f)
		}
	}
	if mean == 0 && lowest < 1 {
		// The vectors are the server's. The similarity of the last section
		// found is the best estimate of the mean.
		mean = lowest
	}
	return x.local.Rerank(q, found, mean, x.ratio)
}

// similarityOf returns the cosine of a hit's vector and the query's. The
// server returns (1+cosine)/2, or null for a section without a vector.
func similarityOf(details json.RawMessage) (cosine float64, ok bool) {
	var d struct {
		VectorSort *struct{ Similarity *float64 }
	}
	if json.Unmarshal(details, &d) != nil || d.VectorSort == nil || d.VectorSort.Similarity == nil {
		return 0, false
	}
	return 2**d.VectorSort.Similarity - 1, true
}
