package meilisearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// Bounds of a search.
const (
	// searchTime is for all servers together, so that an answer comes within
	// two seconds; firstTime for one, where there is something else to ask.
	searchTime = 1800 * time.Millisecond
	firstTime  = 800 * time.Millisecond
	// queryWords is how many words of a query the server reads.
	queryWords = 10
	// candidates are asked for so many times the hits wanted, at least
	// leastCandidates, since several may be of one page.
	candidatesPerHit = 4
	leastCandidates  = 200
)

// Search asks the servers, those that are up to date first, and makes their
// findings hits as the embedded index does: the score and what it means,
// the grouping by pages, twins, Prefer and Boost are the same code. Without
// a server that answers in time it is the fallback's, or an error that
// wraps retrieval.ErrUnavailable.
func (x *Index) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	c := x.target.Load()
	if c == nil && x.beside.Documents() == nil {
		return nil, retrieval.ErrNotReady
	}
	filter, possible := filterOf(q.Filter)
	if !possible {
		return []retrieval.Hit{}, nil
	}
	var errs []error
	if c != nil {
		within, cancel := context.WithTimeout(ctx, searchTime)
		defer cancel()
		for i, in := range x.order() {
			hits, err := x.ask(within, in, c, q, filter, i+1 < len(x.instances) || x.o.Fallback)
			if err == nil {
				x.counts.answered.Add(1)
				return hits, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			errs = append(errs, err)
			if within.Err() != nil {
				break
			}
		}
	}
	if x.o.Fallback && x.beside.Documents() != nil {
		x.counts.fellBack.Add(1)
		if len(errs) > 0 {
			x.log.Warn("no Meilisearch server answered; the search was answered by the fallback", "error", errors.Join(errs...))
		}
		return x.beside.Search(ctx, q)
	}
	x.counts.failed.Add(1)
	return nil, fmt.Errorf("%w: %w", retrieval.ErrUnavailable, errors.Join(append(errs, x.why()...)...))
}

// order returns the servers to ask: those that are up to date first, none
// that failed a moment ago.
func (x *Index) order() []*instance {
	var current, behind []*instance
	for _, in := range x.instances {
		switch {
		case in.resting():
		case in.isBehind():
			behind = append(behind, in)
		default:
			current = append(current, in)
		}
	}
	return append(current, behind...)
}

// why says what keeps servers from being asked.
func (x *Index) why() (errs []error) {
	for _, in := range x.instances {
		in.mu.Lock()
		if err := in.refused; err != nil {
			errs = append(errs, err)
		} else if in.last != nil {
			errs = append(errs, in.last)
		}
		in.mu.Unlock()
	}
	if len(errs) == 0 {
		errs = append(errs, errors.New("no server was asked"))
	}
	return errs
}

// ask searches one server.
func (x *Index) ask(ctx context.Context, in *instance, c *content, q retrieval.Query, filter string, more bool) ([]retrieval.Hit, error) {
	if more {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, firstTime)
		defer cancel()
	}
	hits, err := x.find(ctx, in, c, q, filter, true)
	if code := codeOf(err); code == "invalid_search_embedder" || code == "invalid_vector_dimensions" || code == "vector_embedding_error" {
		// The index has no such vectors (yet): meaning is a gain, not a
		// condition.
		x.log.Warn("the server can't search by meaning; this search goes by keywords", "server", in.url, "error", err)
		hits, err = x.find(ctx, in, c, q, filter, false)
	}
	if err != nil {
		if unavailable(err) || needsMending(err) {
			in.note(err)
		}
		if codeOf(err) == "index_not_found" {
			in.mu.Lock()
			in.behind = true
			in.mu.Unlock()
		}
		return nil, err
	}
	return hits, nil
}

// needsMending reports errors that the next search would get as well.
func needsMending(err error) bool {
	var e *ServerError
	return errors.As(err, &e) && (e.Status == 401 || e.Status == 403)
}

// find makes the request and reads what was found.
func (x *Index) find(ctx context.Context, in *instance, c *content, q retrieval.Query, filter string, hybrid bool) ([]retrieval.Hit, error) {
	request := x.request(in, c, q, filter, hybrid)
	if len(request.Queries) == 0 {
		return []retrieval.Hit{}, nil
	}
	response, err := in.reader.MultiSearchWithContext(ctx, request)
	if err := in.explain(err); err != nil {
		return nil, err
	}
	mean, lowest := 0.0, 1.0
	if len(q.Vector) == len(c.mean) {
		if v := unit(q.Vector); v != nil {
			for i, m := range c.mean {
				mean += float64(v[i]) * float64(m)
			}
		}
	}
	var found []embedded.Found
	for i, r := range response.Results {
		for rank, hit := range r.Hits {
			var id string
			if json.Unmarshal(hit["id"], &id) != nil {
				continue
			}
			at, ok := c.places[id]
			if !ok {
				continue // of another generation
			}
			f := embedded.Found{Page: at.page, Section: at.section, Rank: rank}
			if i < len(request.Queries) && request.Queries[i].Hybrid != nil {
				f.Rank, f.Similarity = -1, similarityOf(hit["_rankingScoreDetails"])
				lowest = min(lowest, f.Similarity)
			}
			found = append(found, f)
		}
	}
	if mean == 0 && lowest < 1 {
		// All similarities are not known (the server embeds): those of the
		// last sections found are the nearest to their mean.
		mean = lowest
	}
	return x.beside.Arrange(q, found, mean, x.ratio)
}

// similarityOf reads the cosine of a hit's vector and the query's: the
// server tells half of one more than it, and only of hits by meaning.
func similarityOf(details json.RawMessage) float64 {
	var d struct {
		VectorSort *struct{ Similarity float64 }
	}
	if json.Unmarshal(details, &d) != nil || d.VectorSort == nil {
		return 0
	}
	return 2*d.VectorSort.Similarity - 1
}

// request asks every language's index, or the one that the filter names:
// once by words, once by meaning. The server's own hybrid search compares
// ranks of words with similarities, which are on other scales, and cuts one
// of the two off; here both come whole, and are fused by what they are.
func (x *Index) request(in *instance, c *content, q retrieval.Query, filter string, hybrid bool) *sdk.MultiSearchRequest {
	terms := x.beside.KeyTerms(q, queryWords)
	if terms != "" && q.Question {
		terms += " " // its last word is not being typed
	}
	limit := int64(max(leastCandidates, candidatesPerHit*min(max(q.Limit, 1), 50)))
	in.mu.Lock()
	embedders := maps.Clone(in.embedders)
	in.mu.Unlock()
	request := &sdk.MultiSearchRequest{}
	add := func(uid string, s *sdk.SearchRequest) {
		s.IndexUID, s.Limit, s.AttributesToRetrieve = uid, limit, []string{"id"}
		if filter != "" {
			s.Filter = filter
		}
		request.Queries = append(request.Queries, s)
	}
	for _, uid := range slices.Sorted(maps.Keys(c.languages)) {
		ix := c.languages[uid]
		if l := q.Filter.Language; l != "" && baseLanguage(l) != ix.language {
			continue
		}
		if terms != "" && x.ratio < 1 { // to the server, no words are all documents
			s := &sdk.SearchRequest{Query: terms, MatchingStrategy: sdk.Frequency}
			if l := locales[ix.language]; l != "" {
				s.Locales = []string{l}
			}
			add(uid, s)
		}
		if !hybrid || x.ratio == 0 {
			continue
		}
		dimensions, known := embedders[uid]
		switch {
		case x.o.Embedder != "" && (!known || dimensions == 0):
			// The server embeds the text as it stands.
			add(uid, &sdk.SearchRequest{
				Query: q.Text, ShowRankingScoreDetails: true,
				Hybrid: &sdk.SearchRequestHybrid{SemanticRatio: 1, Embedder: x.o.Embedder},
			})
		case x.o.Embedder == "" && q.Vector != nil && (!known || dimensions == len(q.Vector)):
			add(uid, &sdk.SearchRequest{
				Vector: q.Vector, ShowRankingScoreDetails: true,
				Hybrid: &sdk.SearchRequestHybrid{SemanticRatio: 1, Embedder: embedderName},
			})
		}
	}
	return request
}
