package meilisearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// Limits of a search.
const (
	// maxWords is the number of words of a query that the server reads.
	maxWords = 10
	// How many sections a server is asked for by vectors, or semanticAlone if they
	// alone say what is found or how similar sections usually are, and with each of
	// the queries by keywords at most.
	semanticCandidates = 30
	semanticAlone      = 50
	keywordCandidates  = 240
	// keywordQueries is with how many queries it is asked by keywords at most, or
	// leastQueries for a query of up to three words, and laterCandidates for how
	// many sections without the rarest words.
	keywordQueries  = 5
	leastQueries    = 3
	laterCandidates = 48
	// searchCalls is in how many calls at a time a server gets the queries of a
	// search by keywords, or by vectors.
	searchCalls = 2
	// leastIDF is the share of the IDF that the words have from the last of
	// them on.
	leastIDF = .2
	// otherShare is which share of the candidates an index has that is in
	// another language than the one that is wanted. If none is wanted, or no index
	// is in it, each has its share of the sections, and at least leastShare.
	otherShare = .2
	leastShare = 1. / 3
	// narrowedFactor is how many times more they are asked for if the query is
	// narrowed to pages that are too many to name, since the server searches all
	// of them.
	narrowedFactor = 3
)

// Search asks the servers, those that are up to date first, and scores and
// orders the sections that they find as the embedded index does. If no server
// answers in time, the fallback does, or the error wraps
// retrieval.ErrUnavailable, or retrieval.ErrRefused if all servers refuse the
// request.
func (x *Index) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	c := x.target.Load()
	fallback := x.local != nil && x.local.Documents() != nil
	if c == nil && !fallback {
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
		timed, cancel := context.WithTimeout(ctx, x.options.Timeouts.Search)
		defer cancel()
		for i, s := range x.order() {
			last := i+1 == len(x.servers) && !x.options.Fallback
			hits, keywordOnly, err := s.searchServer(timed, c, q, filter, last)
			if err == nil {
				counted := &x.counts.Answered
				if keywordOnly {
					counted = &x.counts.KeywordOnly
				}
				x.count(counted)
				return hits, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			errs = append(errs, err)
		}
	}
	if len(errs) < len(x.servers) {
		errs = append(errs, x.downErrors()...)
	}
	if fallback {
		x.count(&x.counts.Fallback)
		x.warn("no Meilisearch server responded; the fallback answered the search", "all", errors.Join(errs...))
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

// order returns the servers that may be searched, outdated ones last.
func (x *Index) order() (current []*replica) {
	var outdated []*replica
	for _, s := range x.servers {
		switch k := s.now(); {
		case !k.searchable():
		case k.outdated:
			outdated = append(outdated, s)
		default:
			current = append(current, s)
		}
	}
	return append(current, outdated...)
}

// downErrors returns why servers are down: what they say now, and else what they
// refused before.
func (x *Index) downErrors() (errs []error) {
	for _, s := range x.servers {
		k := s.now()
		if err := cmp.Or(k.down, k.refusal()); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		errs = append(errs, errors.New("no server was asked"))
	}
	return errs
}

// searchServer searches one server. keywordOnly reports that vectors should
// have been used and were not. last: there is no other server or fallback.
func (s *replica) searchServer(ctx context.Context, c *content, q retrieval.Query, filter string, last bool) (hits []retrieval.Hit, keywordOnly bool, err error) {
	if !last {
		var cancel context.CancelFunc
		timeout := s.site.options.Timeouts.Server
		if q.Embed != nil { // the embedder's time is not the server's
			timeout += retrieval.DefaultQueryDeadline
		}
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	began := time.Now()
	n, err := s.site.narrow(ctx, c, q.Pages)
	if err != nil {
		return nil, false, err
	}
	w := &wanted{q, filter, c, n, n.statistics.Read(q)}
	find, order := s.find, s.ranked
	if s.site.options.ServerRanking {
		find, order = s.findInOrder, s.inOrder
	}
	results, keywordOnly, err := find(ctx, w)
	if err != nil {
		s.unavailable(began, err)
		if indexNotFound(err) {
			s.setOutdated(true)
			err = cmp.Or(s.now().refusal(), err)
		}
		return nil, false, err
	}
	hits, err = order(w, results)
	return hits, keywordOnly, err
}

// unavailable puts the server aside if that is what a call that began then has shown.
func (s *replica) unavailable(began time.Time, err error) {
	if (unavailable(err) || unauthorized(err)) && s.failed(began, err) {
		s.site.log.Warn("a Meilisearch server is not responding; it will be used again once it responds", "server", s.url, "error", err)
	}
}

// wanted is a search of one server.
type wanted struct {
	retrieval.Query
	filter  string
	content *content
	in      *narrowedSet
	reading *embedded.Reading
}

// pageAttributes are those of a section whose page is not in the data folder.
var pageAttributes = []string{"page", "section", "title", "description", "keywords", "heading", "headings", "level", "anchor", "text"}

// find returns what a server finds by keywords and, at the same time, by
// vectors.
func (s *replica) find(ctx context.Context, w *wanted) (results []result, keywordOnly bool, err error) {
	var similar []result
	var ok bool
	var failure error
	var group sync.WaitGroup
	group.Go(func() { // the query's vector may have to be waited for
		if requests := s.semanticRequests(w); len(requests) > 0 && ctx.Err() == nil {
			similar, ok, failure = s.searchSemantic(ctx, requests)
		}
	})
	keyword := s.keywordRequests(w)
	if s.site.ratio < 1 { // else keywords are asked only if vectors fail
		results, err = s.search(ctx, s.searchKey, keyword)
	}
	group.Wait()
	if err = cmp.Or(err, failure); err != nil {
		return nil, false, err
	}
	if !ok && s.site.ratio == 1 {
		results, err = s.search(ctx, s.searchKey, keyword)
	}
	return append(results, similar...), !ok && s.wantsVectors(w), err
}

// wantsVectors reports whether a search should use vectors.
func (s *replica) wantsVectors(w *wanted) bool {
	o := &s.site.options
	return s.site.ratio > 0 && (w.Vector != nil || o.Embedder != "" || o.Model != "" && w.content.mean != nil)
}

// searchSemantic searches by vectors. Without an error, ok is false if the server
// has no vectors for the query, or its embedder makes none in time.
func (s *replica) searchSemantic(ctx context.Context, requests []searchRequest) (results []result, ok bool, err error) {
	if name := s.site.options.Embedder; name != "" {
		log := s.site.log.With("server", s.url, "embedder", name)
		ok = s.site.embedder.Do(ctx, s.embedder, log, "the server's embedder", func(ctx context.Context) (err error) {
			results, err = s.search(ctx, s.searchKey, requests)
			return err
		})
		return results, ok, nil
	}
	results, err = s.search(ctx, s.searchKey, requests)
	if noVectors(err) {
		s.site.warn("a Meilisearch server has no vectors for this query; searches use keywords only", s.url, err)
		return nil, false, nil
	}
	return results, err == nil, err
}

// searchRequest is a query to one index.
type searchRequest struct {
	IndexUID         string    `json:"indexUid"`
	Query            string    `json:"q,omitempty"`
	Vector           []float32 `json:"vector,omitempty"`
	Hybrid           *hybrid   `json:"hybrid,omitempty"`
	Filter           string    `json:"filter,omitempty"`
	Limit            int       `json:"limit"`
	MatchingStrategy string    `json:"matchingStrategy,omitempty"`
	Attributes       []string  `json:"attributesToRetrieve,omitempty"`
	RankingScore     bool      `json:"showRankingScore,omitempty"`
	Distinct         string    `json:"distinct,omitempty"`
	// share is which share of the candidates the index has.
	share float64
}

type hybrid struct {
	Embedder string  `json:"embedder"`
	Ratio    float64 `json:"semanticRatio"`
}

// result is what a server found for one request.
type result struct {
	Hits     []hit
	semantic bool
	share    float64 // of the request
}

// hit is a section that a server found.
type hit struct {
	record
	// Score is the server's. By vectors alone it is (1+cosine)/2, or 0 for a
	// section without a vector.
	Score float64 `json:"_rankingScore"`
}

// search sends requests to a server, in several calls at a time: the server
// answers those of one call one after the other.
func (s *server) search(ctx context.Context, key string, requests []searchRequest) ([]result, error) {
	results, calls := make([]result, len(requests)), min(len(requests), searchCalls)
	errs := make([]error, calls)
	var group sync.WaitGroup
	for first := range calls {
		group.Go(func() {
			var queries []searchRequest
			for i := first; i < len(requests); i += calls {
				queries = append(queries, requests[i])
			}
			found, err := s.multiSearch(ctx, key, queries)
			if errs[first] = err; err != nil {
				return
			}
			for i, r := range queries {
				found[i].semantic, found[i].share = r.Hybrid != nil, r.share
				results[first+i*calls] = found[i]
			}
		})
	}
	group.Wait()
	return results, cmp.Or(errs...)
}

// multiSearch sends requests in one call, and returns a result of each.
func (s *server) multiSearch(ctx context.Context, key string, requests []searchRequest) ([]result, error) {
	body, err := json.Marshal(map[string]any{"queries": requests})
	if err != nil {
		return nil, err
	}
	var found struct{ Results []result }
	if err := s.call(ctx, key, http.MethodPost, "/multi-search", body, &found); err != nil {
		return nil, err
	}
	if len(found.Results) < len(requests) {
		return nil, &ServerError{URL: s.url, Status: http.StatusOK, cause: fmt.Errorf("%d results for %d requests", len(found.Results), len(requests))}
	}
	return found.Results, nil
}

// keywordRequests returns the requests of a search by keywords. The server's own
// hybrid search is not used: it compares scores of both kinds, which have
// different scales.
func (s *replica) keywordRequests(w *wanted) (requests []searchRequest) {
	for _, r := range s.indexRequests(w) {
		tag := strings.TrimPrefix(w.content.indexes[r.IndexUID].language, "und")
		asked := w.keywordQueries(tag)
		for _, q := range asked[:int(math.Ceil(float64(len(asked))*r.share))] {
			r.Query, r.MatchingStrategy, r.Limit = q.text, "frequency", w.in.candidates(q.limit, r.share)
			requests = append(requests, r)
		}
	}
	return requests
}

// semanticRequests returns the requests of a search by vectors, none without a
// vector of the query.
func (s *replica) semanticRequests(w *wanted) (requests []searchRequest) {
	w.Embedded()
	count := semanticCandidates
	if s.site.options.Embedder != "" || s.site.ratio == 1 || w.content.mean == nil {
		count = semanticAlone
	}
	for _, r := range s.indexRequests(w) {
		if r.Limit, r.RankingScore = w.in.candidates(count, r.share), true; s.addVector(&r, &w.Query, 1) {
			requests = append(requests, r)
		}
	}
	return requests
}

// indexRequests returns a request for each index. That of the language that is
// wanted has most of the candidates, without one each has its share of them.
func (s *replica) indexRequests(w *wanted) (requests []searchRequest) {
	x, c := s.site, w.content
	language := w.reading.Wanted()
	first, unknown := x.uidPrefix+baseLanguage(language), x.uidPrefix+baseLanguage("")
	for _, uid := range slices.Sorted(maps.Keys(c.indexes)) {
		if c.indexes[uid].view {
			continue
		}
		r := searchRequest{IndexUID: uid, Attributes: []string{"page", "section"}, Filter: and(w.filter, w.in.filter), share: 1}
		if c.adopted {
			r.Attributes = pageAttributes
		}
		switch {
		case language == "" || c.indexes[first] == nil:
			r.share = max(leastShare, float64(c.indexes[uid].sections)/float64(c.sections))
		case uid != first && uid != unknown:
			r.share = otherShare
		}
		requests = append(requests, r)
	}
	return requests
}

// addVector makes a request a semantic one. ok is false if the index has no
// vectors for the query.
func (s *replica) addVector(r *searchRequest, q *retrieval.Query, ratio float64) (ok bool) {
	x := s.site
	dimensions, known := s.now().dimensions[r.IndexUID]
	switch {
	case x.ratio == 0:
		return false
	case x.options.Embedder != "" && (!known || dimensions == 0):
		r.Query, r.Hybrid = q.Text, &hybrid{x.options.Embedder, ratio}
	case x.options.Embedder == "" && q.Vector != nil && (!known || dimensions == len(q.Vector)):
		r.Vector, r.Hybrid = q.Vector, &hybrid{vectorName, ratio}
	default:
		return false
	}
	return true
}

// keywordQuery is a query for the keywords of a search, and for how many sections
// a server is asked with it.
type keywordQuery struct {
	text  string
	limit int
}

// keywordQueries returns the keyword queries for the pages of a language. A
// server finds only sections with the rarest word of a query, and of words that
// are equally rare, with all of them. The ranking wants others, too: so it is
// asked for what pages may have instead of a word, and again without the rarest
// words, and each query has one of those that are equally rare, until the words
// that are left have little of the IDF.
func (w *wanted) keywordQueries(tag string) (out []keywordQuery) {
	s := w.in.statistics
	terms, joined := w.reading.Terms(tag, maxWords)
	stems := make([]string, len(terms))
	for i, t := range terms {
		stems[i] = t.Stem
	}
	query := func(limit int, stems ...string) keywordQuery {
		tokens := make([]string, len(stems))
		for i, stem := range stems {
			tokens[i] = words.Token(stem)
		}
		return keywordQuery{strings.Join(tokens, " "), limit}
	}
	all := s.IDF(stems)
	for i, stem := range stems[:min(len(stems), keywordQueries)] {
		if s.IDF(stems[i:])/all < leastIDF {
			break
		}
		rest := stems[i+1:]
		for len(rest) > 0 && s.IDF(rest[:1]) == s.IDF(stems[i:i+1]) {
			rest = rest[1:]
		}
		out = append(out, query(laterCandidates, append([]string{stem}, rest...)...))
	}
	var instead []keywordQuery
	for _, stem := range joined {
		instead = append(instead, query(keywordCandidates/2, append([]string{stem}, stems...)...))
	}
	for i, t := range terms {
		for _, stem := range t.Instead {
			other := slices.Clone(stems)
			other[i] = stem
			instead = append(instead, query(keywordCandidates/2, other...))
		}
	}
	out = slices.Insert(out, min(1, len(out)), instead[:min(len(instead), keywordQueries/2)]...)
	if len(out) > 0 {
		out[0].limit = keywordCandidates
	}
	return out[:min(len(out), keywordQueries, leastQueries+len(terms)/4)]
}

// ranked makes hits of a server's results.
func (s *replica) ranked(w *wanted, results []result) ([]retrieval.Hit, error) {
	x, c := s.site, w.content
	mean, lowest := 0.0, 1.0
	v := retrieval.Normalized(w.Vector)
	if len(v) != len(c.mean) || c.mark != x.vectorMark {
		v = nil
	}
	if v != nil {
		for i, m := range c.mean {
			mean += float64(v[i]) * float64(m)
		}
	}
	var list []embedded.FoundPage
	pages := map[int]int{} // of list, by those of c
	for _, r := range results {
		for rank := range r.Hits {
			h := &r.Hits[rank]
			at, ok := c.byPage[h.Page] // others are of another generation
			if !ok || h.Section < 0 || h.Section >= len(c.pages[at].IDs) || w.Pages != nil && !w.Pages.Has(h.Page) {
				continue
			}
			section := embedded.FoundSection{Section: h.Section, Rank: rank}
			if r.semantic {
				if h.Score == 0 {
					continue
				}
				section.Similarity = 2*h.Score - 1
				section.Rank, lowest = -1, min(lowest, section.Similarity)
			}
			page, ok := pages[at]
			if !ok {
				d := *c.outlines[at]
				d.Sections = make([]retrieval.Section, len(d.Sections))
				page = len(list)
				found := embedded.FoundPage{Document: &d, Traits: c.pages[at].Traits}
				if !c.adopted {
					found.Add(embedded.FoundSection{Rank: -1}) // a page's name leads to its beginning
				}
				pages[at], list = page, append(list, found)
			}
			if c.adopted {
				list[page].Document.Sections[h.Section] = h.section()
			}
			list[page].Add(section)
		}
	}
	if mean == 0 && lowest < 1 {
		// The vectors are the server's. The similarity of the last section
		// found is the best estimate of the mean.
		mean = lowest
	}
	for i := range list {
		if p := &c.pages[c.byPage[list[i].Document.Page]]; v != nil && p.Embedded != nil &&
			slices.ContainsFunc(list[i].Sections, func(f embedded.FoundSection) bool { return f.Similarity == 0 }) {
			// After an update of Caddy, the vectors are there when pages change.
			if data, err := x.store.Get(vectorsKey(list[i].Document, p, len(v), c.mark)); err == nil {
				addSimilarities(data, v, &list[i])
			}
		}
		if c.adopted {
			_, terms := words.Analyze(words.CountPage(list[i].Document))
			for j := range list[i].Sections {
				f := &list[i].Sections[j]
				f.Counts = terms[f.Section].Counts
			}
			continue
		}
		data, err := x.store.Get(rankedKey(list[i].Document))
		if err != nil {
			x.lost.Store(true)
			return nil, err
		}
		readRanked(data, &list[i])
	}
	hits := w.reading.Rank(list, mean, x.ratio)
	for i := range hits {
		if c.adopted || w.Shown > 0 && i >= w.Shown {
			break
		}
		d, err := x.stored(hits[i].Document)
		if err != nil {
			x.lost.Store(true)
			return nil, err
		}
		hits[i].Document = d
	}
	return hits, nil
}
