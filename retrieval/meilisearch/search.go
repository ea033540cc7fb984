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
	// leastCandidates, since several may be of one page. Each costs a server
	// 0.1 ms, and more than 50 raise nDCG@10 by .002 at most.
	candidatesPerHit = 4
	leastCandidates  = 50
	// mostHits is the most that a query asks for.
	mostHits = 50
)

// Search asks the servers, those that are up to date first, and makes their
// findings hits as the embedded index does: the score and what it means,
// the grouping by pages, twins, Prefer and Boost are the same code. Without
// a server that answers in time it is the fallback's, or an error that
// wraps retrieval.ErrUnavailable, or retrieval.ErrRefused where all servers
// refuse what they are asked.
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
			hits, byWords, err := x.ask(within, in, c, q, filter, i+1 < len(x.instances) || x.o.Fallback)
			if err == nil {
				if byWords {
					x.counts.byWords.Add(1)
				} else {
					x.counts.answered.Add(1)
				}
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
	if len(errs) < len(x.instances) {
		errs = append(errs, x.why()...)
	}
	if x.o.Fallback && x.beside.Documents() != nil {
		x.counts.fellBack.Add(1)
		x.complain("all", "no Meilisearch server answered; the search was answered by the fallback", "error", errors.Join(errs...))
		return x.beside.Search(ctx, q)
	}
	x.counts.failed.Add(1)
	kind := retrieval.ErrUnavailable
	if !slices.ContainsFunc(errs, func(err error) bool { return !refused(err) }) {
		kind = retrieval.ErrRefused
	}
	return nil, fmt.Errorf("%w: %w", kind, errors.Join(errs...))
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

// result is what a server found for one of the queries.
type result struct {
	hits sdk.Hits
	// meaning: by vectors, not by words.
	meaning bool
}

// search sends queries to a server.
func (in *instance) search(ctx context.Context, queries []*sdk.SearchRequest) ([]result, error) {
	if len(queries) == 0 {
		return nil, nil
	}
	response, err := in.reader.MultiSearchWithContext(ctx, &sdk.MultiSearchRequest{Queries: queries})
	if err := in.explain(err); err != nil {
		return nil, err
	}
	if len(response.Results) != len(queries) {
		return nil, &ServerError{URL: in.url, Status: http.StatusOK, cause: fmt.Errorf("%d answers to %d queries", len(response.Results), len(queries))}
	}
	out := make([]result, len(queries))
	for i, q := range queries {
		out[i] = result{response.Results[i].Hits, q.Hybrid != nil}
	}
	return out, nil
}

// ask searches one server. byWords: by words alone, though it should have
// been by meaning, too; that is a gain, not a condition. more: there is
// something else to ask.
func (x *Index) ask(ctx context.Context, in *instance, c *content, q retrieval.Query, filter string, more bool) (hits []retrieval.Hit, byWords bool, err error) {
	if more {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, firstTime)
		defer cancel()
	}
	found, byWords, err := x.find(ctx, in, c, q, filter)
	if err != nil {
		if unavailable(err) || needsMending(err) {
			in.note(err)
		}
		if codeOf(err) == "index_not_found" {
			in.mu.Lock()
			in.behind = true
			in.mu.Unlock()
		}
		return nil, false, err
	}
	hits, err = x.arrange(c, q, found)
	return hits, byWords, err
}

// find asks for what a server finds by words and by meaning.
func (x *Index) find(ctx context.Context, in *instance, c *content, q retrieval.Query, filter string) (found []result, byWords bool, err error) {
	words, meaning := x.queries(in, c, q, filter)
	asked := words
	if x.ratio == 1 && len(meaning) > 0 {
		asked = nil // meaning only, as long as there is any
	}
	if x.o.Embedder != "" && len(meaning) > 0 {
		vectors := x.askEmbedder(ctx, in, meaning)
		found, err = in.search(ctx, asked)
		more, ok := vectors()
		if !ok && err == nil && len(asked) < len(words) {
			found, err = in.search(ctx, words)
		}
		return append(found, more...), !ok, err
	}
	found, err = in.search(ctx, append(slices.Clip(asked), meaning...))
	if noVectors(err) {
		x.complain(in.url, "the server has no vectors to compare; searches go by keywords alone", "error", err)
		found, err = in.search(ctx, words)
		return found, true, err
	}
	// Vectors of another length than the index's are as good as none.
	return found, len(meaning) == 0 && x.ratio > 0 && (q.Vector != nil || x.o.Embedder != ""), err
}

// needsMending reports errors that the next search would get as well.
func needsMending(err error) bool {
	var e *ServerError
	return errors.As(err, &e) && (e.Status == 401 || e.Status == 403)
}

// arrange makes hits of what a server found.
func (x *Index) arrange(c *content, q retrieval.Query, results []result) ([]retrieval.Hit, error) {
	mean, lowest := 0.0, 1.0
	if len(q.Vector) == len(c.mean) {
		if v := unit(q.Vector); v != nil {
			for i, m := range c.mean {
				mean += float64(v[i]) * float64(m)
			}
		}
	}
	var found []embedded.Found
	for _, r := range results {
		for rank, hit := range r.hits {
			var id string
			if json.Unmarshal(hit["id"], &id) != nil {
				continue
			}
			at, ok := c.places[id]
			if !ok {
				continue // of another generation
			}
			f := embedded.Found{Page: at.page, Section: at.section, Rank: rank}
			if r.meaning {
				if f.Similarity, ok = similarityOf(hit["_rankingScoreDetails"]); !ok {
					continue
				}
				f.Rank, lowest = -1, min(lowest, f.Similarity)
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

// onlyStops reports whether all terms are stop words, which the servers
// don't hold.
func (x *Index) onlyStops(terms string) bool {
	for word := range strings.FieldsSeq(terms) {
		if !x.stopWords[word] {
			return false
		}
	}
	return terms != ""
}

// similarityOf reads the cosine of a hit's vector and the query's: the
// server tells half of one more than it, and null of a section that has no
// vector, which it lists behind all others.
func similarityOf(details json.RawMessage) (cosine float64, ok bool) {
	var d struct {
		VectorSort *struct{ Similarity *float64 }
	}
	if json.Unmarshal(details, &d) != nil || d.VectorSort == nil || d.VectorSort.Similarity == nil {
		return 0, false
	}
	return 2**d.VectorSort.Similarity - 1, true
}

// queries ask every language's index, or the one that the filter names:
// once by words, once by meaning. The server's own hybrid search compares
// ranks of words with similarities, which are on other scales, and cuts one
// of the two off; here both come whole, and are fused by what they are.
func (x *Index) queries(in *instance, c *content, q retrieval.Query, filter string) (words, meaning []*sdk.SearchRequest) {
	terms := x.beside.KeyTerms(q, queryWords)
	if x.onlyStops(terms) {
		terms = "" // found by this process alone
	}
	if terms != "" && q.Question {
		terms += " " // its last word is not being typed
	}
	limit := int64(max(leastCandidates, candidatesPerHit*min(max(q.Limit, 1), mostHits)))
	in.mu.Lock()
	embedders := maps.Clone(in.embedders)
	in.mu.Unlock()
	ask := func(uid string, s *sdk.SearchRequest) *sdk.SearchRequest {
		s.IndexUID, s.Limit, s.AttributesToRetrieve = uid, limit, []string{"id"}
		if filter != "" {
			s.Filter = filter
		}
		return s
	}
	for _, uid := range slices.Sorted(maps.Keys(c.languages)) {
		ix := c.languages[uid]
		if l := q.Filter.Language; l != "" && baseLanguage(l) != ix.language {
			continue
		}
		if terms != "" { // to the server, no words are all documents
			s := &sdk.SearchRequest{Query: terms, MatchingStrategy: sdk.Frequency}
			if l := locales[ix.language]; l != "" {
				s.Locales = []string{l}
			}
			words = append(words, ask(uid, s))
		}
		if x.ratio == 0 {
			continue
		}
		dimensions, known := embedders[uid]
		switch {
		case x.o.Embedder != "" && (!known || dimensions == 0):
			// The server embeds the text as it stands.
			meaning = append(meaning, ask(uid, &sdk.SearchRequest{
				Query: q.Text, ShowRankingScoreDetails: true,
				Hybrid: &sdk.SearchRequestHybrid{SemanticRatio: 1, Embedder: x.o.Embedder},
			}))
		case x.o.Embedder == "" && q.Vector != nil && (!known || dimensions == len(q.Vector)):
			meaning = append(meaning, ask(uid, &sdk.SearchRequest{
				Vector: q.Vector, ShowRankingScoreDetails: true,
				Hybrid: &sdk.SearchRequestHybrid{SemanticRatio: 1, Embedder: embedderName},
			}))
		}
	}
	return words, meaning
}
