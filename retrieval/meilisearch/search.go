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
	leastCandidates  = 60
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
	found, err := x.find(ctx, in, c, q, filter, true)
	if code := codeOf(err); code == "invalid_search_embedder" || code == "invalid_vector_dimensions" || code == "vector_embedding_error" {
		// The index has no such vectors (yet): meaning is a gain, not a
		// condition.
		x.log.Warn("the server can't search by meaning; this search goes by keywords", "server", in.url, "error", err)
		found, err = x.find(ctx, in, c, q, filter, false)
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
	return x.beside.Arrange(q, found)
}

// needsMending reports errors that the next search would get as well.
func needsMending(err error) bool {
	var e *ServerError
	return errors.As(err, &e) && (e.Status == 401 || e.Status == 403)
}

// find makes the request and reads what was found.
func (x *Index) find(ctx context.Context, in *instance, c *content, q retrieval.Query, filter string, hybrid bool) ([]embedded.Found, error) {
	request := x.request(in, c, q, filter, hybrid)
	if len(request.Queries) == 0 {
		return nil, nil
	}
	response, err := in.reader.MultiSearchWithContext(ctx, request)
	if err := in.explain(err); err != nil {
		return nil, err
	}
	mean := 0.0
	if len(q.Vector) == len(c.mean) {
		if v := unit(q.Vector); v != nil {
			for i, m := range c.mean {
				mean += float64(v[i]) * float64(m)
			}
		}
	}
	var found []embedded.Found
	for _, r := range response.Results {
		for rank, hit := range r.Hits {
			var id string
			if json.Unmarshal(hit["id"], &id) != nil {
				continue
			}
			at, ok := c.places[id]
			if !ok {
				continue // of another generation
			}
			f := embedded.Found{Page: at.page, Section: at.section, Value: rankValue(rank), Mean: mean}
			if c.mean != nil {
				f.Similarity = similarityOf(hit["_rankingScoreDetails"])
			}
			found = append(found, f)
		}
	}
	return found, nil
}

// rankValue falls slowly enough that what a query prefers moves a page by
// some places, not to the top.
func rankValue(rank int) float64 { return 1 / (1 + float64(rank)/10) }

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

// request asks every language's index, or the one that the filter names.
func (x *Index) request(in *instance, c *content, q retrieval.Query, filter string, hybrid bool) *sdk.MultiSearchRequest {
	terms := x.beside.KeyTerms(q, queryWords)
	limit := int64(min(1000, max(leastCandidates, candidatesPerHit*min(max(q.Limit, 1), 50))))
	in.mu.Lock()
	embedders := maps.Clone(in.embedders)
	in.mu.Unlock()
	request := &sdk.MultiSearchRequest{}
	for _, uid := range slices.Sorted(maps.Keys(c.languages)) {
		ix := c.languages[uid]
		if l := q.Filter.Language; l != "" && baseLanguage(l) != ix.language {
			continue
		}
		s := &sdk.SearchRequest{
			IndexUID: uid, Query: terms, Limit: limit,
			AttributesToRetrieve: []string{"id"}, MatchingStrategy: sdk.Frequency,
			ShowRankingScore: true, ShowRankingScoreDetails: true,
		}
		if q.Question {
			s.Query += " " // its last word is not being typed
		}
		if filter != "" {
			s.Filter = filter
		}
		if l := locales[ix.language]; l != "" {
			s.Locales = []string{l}
		}
		dimensions, known := embedders[uid]
		switch {
		case !hybrid || x.ratio == 0: // the client can't send a ratio of 0
		case x.o.Embedder != "":
			// The server embeds the text as it stands.
			s.Query = q.Text
			s.Hybrid = &sdk.SearchRequestHybrid{SemanticRatio: x.ratio, Embedder: x.o.Embedder}
		case q.Vector != nil && (!known || dimensions == len(q.Vector)):
			s.Vector = q.Vector
			s.Hybrid = &sdk.SearchRequestHybrid{SemanticRatio: x.ratio, Embedder: embedderName}
		}
		if terms == "" && s.Hybrid == nil {
			continue // to the server, no words are all documents
		}
		request.Queries = append(request.Queries, s)
	}
	return request
}
