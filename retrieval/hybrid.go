package retrieval

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Limits of embedding queries.
const (
	// DefaultQueryDeadline is how long a search waits for the vector of its
	// query.
	DefaultQueryDeadline = 300 * time.Millisecond
	// maxQueryCalls limits concurrent calls, so that queries don't pile up in
	// front of an embedder that hangs.
	maxQueryCalls = 16
	// maxQueryText is the length of the embedded text, in bytes.
	maxQueryText = 2000
	// queryCacheSize is the number of query vectors kept.
	queryCacheSize = 1000
)

// NewEmbedderBreaker returns the breaker of an embedder of queries.
func NewEmbedderBreaker() *Breaker {
	return &Breaker{After: 3, First: time.Second, Last: time.Minute}
}

// HybridOptions are the options of a HybridSearcher. Index and Embedder are
// required.
type HybridOptions struct {
	Index    Index
	Embedder Embedder
	// Ready, if not nil, reports whether the index has vectors. While it has
	// none, no query is embedded. See Refresher.HasVectors.
	Ready func() bool
	// Log; nil: slog.Default().
	Log *slog.Logger
}

// HybridCounts counts queries by how they got a vector, for metrics.
type HybridCounts struct {
	// Embedded queries got a vector from the embedder, Cached ones from an
	// earlier query. The others used keyword search only: Late ones because
	// the deadline passed, Failed ones because of an error, Skipped ones
	// because the embedder was failing or busy.
	Embedded, Cached, Late, Failed, Skipped uint64
}

// HybridSearcher embeds queries before it searches. When the embedder fails
// or is too slow, it uses keyword search: a search never fails, and never
// waits longer than DefaultQueryDeadline, because of the embedder. It is safe
// for concurrent use.
type HybridSearcher struct {
	options HybridOptions
	log     *slog.Logger
	breaker *Breaker
	calls   chan struct{} // holds an element for each call in progress

	mu     sync.Mutex
	counts HybridCounts
	// recent and older are the vectors of recent queries. When recent is
	// full, it replaces older.
	recent, older map[string][]float32
}

// NewHybridSearcher returns a searcher over an index and an embedder.
func NewHybridSearcher(o HybridOptions) *HybridSearcher {
	h := &HybridSearcher{
		options: o, log: o.Log, breaker: NewEmbedderBreaker(),
		calls: make(chan struct{}, maxQueryCalls), recent: map[string][]float32{},
	}
	if h.log == nil {
		h.log = slog.Default()
	}
	return h
}

// Search embeds the query's text, unless the query has a vector, and searches
// the index. Its errors are the index's.
func (h *HybridSearcher) Search(ctx context.Context, q Query) ([]Hit, error) {
	return h.options.Index.Search(ctx, h.WithVector(ctx, q))
}

// WithVector returns the query with the vector of its text, if it has none and
// gets one in time: a query that is searched for several times is embedded
// once.
func (h *HybridSearcher) WithVector(ctx context.Context, q Query) Query {
	if q.Vector == nil && (h.options.Ready == nil || h.options.Ready()) {
		q.Vector = h.vector(ctx, q.Text)
	}
	return q
}

// Counts returns the counts since the searcher was made.
func (h *HybridSearcher) Counts() HybridCounts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}

// vector returns a query's vector, or nil if there is none in time.
func (h *HybridSearcher) vector(ctx context.Context, text string) []float32 {
	text = truncate(strings.Join(strings.Fields(text), " "), maxQueryText)
	if text == "" {
		return nil
	}
	if v := h.cached(text); v != nil {
		h.count(&h.counts.Cached)
		return v
	}
	select {
	case h.calls <- struct{}{}:
		defer func() { <-h.calls }()
	default:
		h.count(&h.counts.Skipped)
		return nil
	}
	if !h.breaker.Allow() {
		h.count(&h.counts.Skipped)
		return nil
	}
	timed, cancel := context.WithTimeout(ctx, DefaultQueryDeadline)
	defer cancel()
	v, err := embedQuery(timed, h.options.Embedder, text)
	switch {
	case err == nil:
		h.mu.Lock()
		h.counts.Embedded++
		h.keep(text, v)
		h.mu.Unlock()
	case ctx.Err() != nil:
		return nil // the reader left
	case timed.Err() != nil:
		h.count(&h.counts.Late)
	default:
		h.count(&h.counts.Failed)
	}
	if h.breaker.Record(err == nil) {
		if err == nil {
			h.log.Info("the embedder has recovered", "model", h.options.Embedder.Model())
		} else {
			h.log.Warn("the embedder is failing; searches use keywords only until it recovers",
				"model", h.options.Embedder.Model(), "error", err, "deadline", DefaultQueryDeadline)
		}
	}
	return v
}

func embedQuery(ctx context.Context, e Embedder, text string) ([]float32, error) {
	var vectors [][]float32
	var err error
	if q, ok := e.(QueryEmbedder); ok {
		vectors = make([][]float32, 1)
		vectors[0], err = q.EmbedQuery(ctx, text)
	} else {
		vectors, err = e.Embed(ctx, []string{text})
	}
	if err == nil {
		err = checkVectors(vectors, 1)
	}
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

func (h *HybridSearcher) count(n *uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*n++
}

func (h *HybridSearcher) cached(text string) []float32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.recent[text]
	if v == nil {
		if v = h.older[text]; v != nil {
			h.keep(text, v)
		}
	}
	return v
}

// keep caches a vector. The caller holds h.mu.
func (h *HybridSearcher) keep(text string, v []float32) {
	if len(h.recent) >= queryCacheSize/2 {
		h.recent, h.older = map[string][]float32{}, h.recent
	}
	h.recent[text] = v
}
