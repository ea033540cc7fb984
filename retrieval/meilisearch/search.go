package meilisearch

import (
	"cmp"
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

	jsonv2 "github.com/go-json-experiment/json"
	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// Limits of a search.
const (
	// maxWords is the number of words of a query that the server reads.
	maxWords = 10
	// How many sections a server is asked for: by vectors, and by keywords. Of
	// long questions, more sections have some of the words.
	semanticCandidates = 20
	keywordCandidates  = 40
	candidatesPerWord  = 4
	// keywordQueries is with how many queries it is asked by keywords.
	keywordQueries = 5
	// leastShare is the share of the IDF that the words have from the last of
	// them on.
	leastShare = .2
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
	if fallback {
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
func (x *Index) order() []*replica {
	var current, outdated []*replica
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
func (s *replica) searchServer(ctx context.Context, c *content, q retrieval.Query, filter string, last bool) (hits []retrieval.Hit, keywordOnly bool, err error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.site.options.Timeouts.Server)
		defer cancel()
	}
	began := time.Now()
	n, err := s.site.narrow(ctx, c, q.Pages)
	if err != nil {
		return nil, false, err
	}
	results, keywordOnly, err := s.find(ctx, c, n, q, filter, sectionAttributes)
	if err == nil && slices.ContainsFunc(results, c.lacksPages) { // another process has indexed them
		results, keywordOnly, err = s.find(ctx, c, n, q, filter, retrieved)
	}
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
	return s.site.rank(c, n, q, results), keywordOnly, nil
}

// displayed are the attributes that clients get.
var displayed = slices.Sorted(slices.Values(append([]string{"path", "slug", "vector", "embedding"}, retrieved...)))

// sectionAttributes are those of a section of a known page.
var sectionAttributes = []string{"page", "section", "heading", "headings", "level", "anchor", "text", "counts"}

// retrieved are the attributes of a hit, with those of its page.
var retrieved = append([]string{
	"id", "url", "title", "breadcrumbs", "description", "keywords", "version", "language", "tags", "ranking",
}, sectionAttributes...)

// find returns what a server finds by keywords and, at the same time, by
// vectors.
func (s *replica) find(ctx context.Context, c *content, n *narrowedSet, q retrieval.Query, filter string, attributes []string) (results []result, keywordOnly bool, err error) {
	keyword, semantic := s.site.requests(s, c, n, q, filter, attributes)
	wanted := n.candidates(keywordCandidates)
	if len(keyword) > 0 {
		wanted += n.candidates(candidatesPerWord * len(strings.Fields(keyword[0].Query)))
	}
	if len(semantic) == 0 {
		results, err = s.searchMerged(ctx, keyword, wanted)
		return results, s.site.ratio > 0 && (q.Vector != nil || s.site.options.Embedder != ""), err
	}
	var similar []result
	var ok bool
	var failure error
	var group sync.WaitGroup
	group.Go(func() {
		if s.site.options.Embedder != "" {
			similar, ok = s.searchEmbedded(ctx, semantic)
		} else {
			similar, failure = s.search(ctx, semantic)
			ok = failure == nil
		}
	})
	if s.site.ratio < 1 { // else keywords are asked only if vectors fail
		results, err = s.searchMerged(ctx, keyword, wanted)
	}
	group.Wait()
	if noVectors(failure) {
		s.site.warn("a Meilisearch server has no vectors for this query; searches use keywords only", s.url, failure)
		failure = nil
	}
	if err = cmp.Or(err, failure); err != nil {
		return nil, false, err
	}
	if !ok && s.site.ratio == 1 {
		results, err = s.searchMerged(ctx, keyword, wanted)
	}
	return append(results, similar...), !ok, err
}

// searchEmbedded searches with queries that the server's embedder embeds. ok
// is false if the embedder fails or is too slow.
func (s *replica) searchEmbedded(ctx context.Context, requests []*sdk.SearchRequest) (results []result, ok bool) {
	if !s.embedder.Allow() {
		s.site.count(&s.site.embedderCounts.Skipped)
		return nil, false
	}
	timed, cancel := context.WithTimeout(ctx, s.site.options.Timeouts.Embedder)
	defer cancel()
	results, err := s.search(timed, requests)
	switch {
	case err == nil:
		s.site.count(&s.site.embedderCounts.Embedded)
	case ctx.Err() != nil:
		return nil, false // the reader left, or the server is too slow
	case timed.Err() != nil:
		s.site.count(&s.site.embedderCounts.Late)
	default:
		s.site.count(&s.site.embedderCounts.Failed)
	}
	if s.embedder.Record(err) {
		log := s.site.log.With("server", s.url, "embedder", s.site.options.Embedder)
		if err == nil {
			log.Info("the server's embedder has recovered")
		} else {
			log.Warn("the server's embedder is failing; searches use keywords only until it recovers",
				"error", err, "deadline", s.site.options.Timeouts.Embedder)
		}
	}
	return results, err == nil
}

// search sends requests to a server in one call.
func (s *server) search(ctx context.Context, requests []*sdk.SearchRequest) ([]result, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	found, err := s.multiSearch(ctx, &sdk.MultiSearchRequest{Queries: requests})
	if err != nil {
		return nil, err
	}
	if len(found.Results) < len(requests) {
		return nil, &ServerError{URL: s.url, Status: http.StatusOK, cause: fmt.Errorf("%d results for %d requests", len(found.Results), len(requests))}
	}
	results := make([]result, 0, len(requests))
	for i, q := range requests {
		results = append(results, result{hitsOf(found.Results[i].Hits), q.Hybrid != nil})
	}
	return results, nil
}

// searchMerged sends requests to a server, which returns the hits of all of
// them as one list in the order of their weighted scores, each section once.
func (s *server) searchMerged(ctx context.Context, requests []*sdk.SearchRequest, limit int) ([]result, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	found, err := s.multiSearch(ctx, &sdk.MultiSearchRequest{Queries: requests, Federation: &sdk.MultiSearchFederation{Limit: int64(limit)}})
	if err != nil {
		return nil, err
	}
	return []result{{hits: hitsOf(found.Hits)}}, nil
}

// multiSearch makes a request, and returns the answer.
func (s *server) multiSearch(ctx context.Context, request *sdk.MultiSearchRequest) (*answer, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	var raw []byte
	if err := s.call(ctx, s.searchKey, http.MethodPost, "/multi-search", string(body), &raw); err != nil {
		return nil, err
	}
	var found answer
	if err := jsonv2.Unmarshal(raw, &found, lenient); err != nil {
		return nil, &ServerError{URL: s.url, Status: http.StatusOK, cause: fmt.Errorf("the answer is not that of a search: %w", err)}
	}
	return &found, nil
}

// requests returns keyword and semantic requests for each language, or for the
// filter's. The server's own hybrid search is not used: it compares scores of
// both kinds, which have different scales.
func (x *Index) requests(s *replica, c *content, n *narrowedSet, q retrieval.Query, filter string, attributes []string) (keyword, semantic []*sdk.SearchRequest) {
	queries := keywordQueriesOf(n.statistics, q)
	s.mu.Lock()
	all := maps.Clone(s.dimensions)
	s.mu.Unlock()
	complete := func(uid string, r *sdk.SearchRequest) *sdk.SearchRequest {
		r.IndexUID, r.AttributesToRetrieve = uid, attributes
		if all := and(filter, n.filter); all != "" {
			r.Filter = all
		}
		return r
	}
	compared := attributes
	if x.ratio > 0 && x.options.Embedder == "" && q.Vector != nil {
		compared = append(slices.Clip(compared), "embedding")
	}
	for _, uid := range slices.Sorted(maps.Keys(c.indexes)) {
		language := c.indexes[uid].language
		if l := q.Filter.Language; l != "" && baseLanguage(l) != language {
			continue
		}
		for _, k := range queries {
			r := &sdk.SearchRequest{
				Query: k.text, MatchingStrategy: sdk.Frequency, AttributesToSearchOn: k.attributes,
				FederationOptions: &sdk.SearchFederationOptions{Weight: k.weight},
			}
			if l := locales[language]; l != "" {
				r.Locales = []string{l}
			}
			r = complete(uid, r)
			r.AttributesToRetrieve = compared
			keyword = append(keyword, r)
		}
		dimensions, known := all[uid]
		r := &sdk.SearchRequest{
			Limit: int64(n.candidates(semanticCandidates)), ShowRankingScoreDetails: true,
			Hybrid: &sdk.SearchRequestHybrid{SemanticRatio: 1, Embedder: vectorName},
		}
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

// keywordQuery is one of the keyword queries that are made for a search.
type keywordQuery struct {
	text       string
	attributes []string // nil: all
	weight     float64  // of its scores, compared with those of the others
}

// keywordQueriesOf returns the keyword queries for a search. A server finds only
// sections with the rarest word of a query, and of words that are equally rare,
// with all of them. The ranking wants others, too: so it is asked again without
// the rarest words, and each query has one of those that are equally rare. Its
// weight is the share of the IDF that its words have, so that the merged list is
// about in the order of the IDF that the sections match.
func keywordQueriesOf(s *embedded.Statistics, q retrieval.Query) (out []keywordQuery) {
	stems, ok := s.Stems(q, maxWords)
	if !ok {
		terms := s.KeyTerms(q, maxWords)
		if terms == "" { // the server finds everything without words
			return nil
		}
		if q.Question {
			terms += " " // the last word is complete
		}
		return []keywordQuery{{terms, nil, 1}}
	}
	all := s.IDF(stems)
	for i, stem := range stems[:min(len(stems), keywordQueries)] {
		if s.IDF(stems[i:])/all < leastShare {
			break
		}
		rest := stems[i+1:]
		for len(rest) > 0 && s.IDF(rest[:1]) == s.IDF(stems[i:i+1]) {
			rest = rest[1:]
		}
		words := append([]string{stem}, rest...)
		out = append(out, keywordQuery{strings.Join(words, " ") + " ", ownAttributes, s.IDF(words) / all})
	}
	return out
}

// rank makes hits of a server's results.
func (x *Index) rank(c *content, n *narrowedSet, q retrieval.Query, results []result) []retrieval.Hit {
	mean, lowest := 0.0, 1.0
	v := unit(q.Vector)
	if len(v) == len(c.mean) {
		for i, m := range c.mean {
			mean += float64(v[i]) * float64(m)
		}
	}
	f := found{content: c, pages: map[string]int{}, hits: map[place]*hit{}}
	for _, r := range results {
		for rank := range r.hits {
			hit := &r.hits[rank]
			if q.Pages != nil && !q.Pages.Has(hit.page) {
				continue
			}
			section := embedded.FoundSection{Section: hit.section, Counts: hit.counts, Rank: rank}
			if r.semantic {
				var ok bool
				if section.Similarity, ok = similarityOf(hit.details); !ok {
					continue
				}
				section.Rank, lowest = -1, min(lowest, section.Similarity)
			} else if len(hit.embedding) == len(v) && x.ratio > 0 {
				section.Similarity = cosineOf(v, hit.embedding)
			}
			f.add(hit, section)
		}
	}
	if mean == 0 && lowest < 1 {
		// The vectors are the server's. The similarity of the last section
		// found is the best estimate of the mean.
		mean = lowest
	}
	hits := n.statistics.Rank(q, f.list, mean, x.ratio)
	for i, h := range hits {
		if q.Shown > 0 && i >= q.Shown {
			break
		}
		if r, err := f.hits[place{h.Document.Page, h.Section}].record(); err == nil {
			h.Document.Sections[h.Section] = r.section()
		}
	}
	return hits
}

// found gathers the sections that a server found by their pages.
type found struct {
	*content
	list  []embedded.FoundPage
	pages map[string]int // of list
	hits  map[place]*hit
}

// place is where a section is.
type place struct {
	page    string
	section int
}

func (f *found) add(h *hit, section embedded.FoundSection) {
	if h.section < 0 || h.section > maxSection {
		return
	}
	at, ok := f.pages[h.page]
	if !ok {
		page, ok := f.page(h)
		if !ok {
			return
		}
		at = len(f.list)
		f.pages[h.page] = at
		f.list = append(f.list, page)
	}
	p := &f.list[at]
	if missing := h.section + 1 - len(p.Document.Sections); missing > 0 { // of another generation
		p.Document.Sections = append(p.Document.Sections, make([]retrieval.Section, missing)...)
	}
	for i := range p.Sections {
		if s := &p.Sections[i]; s.Section == section.Section {
			s.Similarity = max(s.Similarity, section.Similarity)
			if s.Rank < 0 || section.Rank >= 0 && section.Rank < s.Rank {
				s.Rank = section.Rank
			}
			return
		}
	}
	f.hits[place{h.page, h.section}] = h
	p.Sections = append(p.Sections, section)
}

// lacksPages reports whether a result has sections of unknown pages.
func (c *content) lacksPages(r result) bool {
	return slices.ContainsFunc(r.hits, func(h hit) bool {
		_, known := c.byPage[h.page]
		return !known
	})
}

// maxSection limits the number of a section that a server can name.
const maxSection = 1 << 20

// page returns the page of a hit, with room for its sections.
func (f *found) page(h *hit) (p embedded.FoundPage, ok bool) {
	at, ok := f.byPage[h.page]
	if !ok { // of another generation
		r, err := h.record()
		if err != nil {
			return p, false
		}
		return embedded.FoundPage{Document: r.document(), Traits: r.Ranking}, true
	}
	d := *f.outlines[at]
	d.Sections = make([]retrieval.Section, len(d.Sections))
	return embedded.FoundPage{Document: &d, Traits: f.content.pages[at].Traits}, true
}

// similarityOf returns the cosine of a hit's vector and the query's. The
// server returns (1+cosine)/2, or null for a section without a vector.
func similarityOf(details []byte) (cosine float64, ok bool) {
	var d struct {
		VectorSort *struct{ Similarity *float64 }
	}
	if json.Unmarshal(details, &d) != nil || d.VectorSort == nil || d.VectorSort.Similarity == nil {
		return 0, false
	}
	return 2**d.VectorSort.Similarity - 1, true
}
