package retrieval

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval/disk"
	"github.com/caddy-docs/caddy-docs/short"
	"github.com/caddy-docs/caddy-docs/store"
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

// QueryVectorCounts counts queries by how they got a vector, for metrics.
type QueryVectorCounts struct {
	// Embedded queries got a vector from the embedder, Cached ones from an
	// earlier query. The others used keyword search only: Late ones because
	// the deadline passed, Failed ones because of an error, Skipped ones
	// because the embedder was failing or busy.
	Embedded, Cached, Late, Failed, Skipped uint64
}

// QueryVectors embeds queries. When the embedder fails or is too slow, a query
// has no vector and is a keyword search: a search never fails, and never waits
// longer than DefaultQueryDeadline, because of the embedder. It is safe for
// concurrent use.
type QueryVectors struct {
	embedder Embedder
	ready    func() bool
	log      *slog.Logger
	breaker  *Breaker
	calls    chan struct{} // holds an element for each call in progress

	mu     sync.Mutex
	counts QueryVectorCounts
	recent store.Recent[[]float32] // by the text
}

// NewQueryVectors returns the QueryVectors of an embedder. ready reports whether
// the index has vectors (see Refresher.HasVectors): while it has none, no query is
// embedded.
func NewQueryVectors(e Embedder, ready func() bool, log *slog.Logger) *QueryVectors {
	return &QueryVectors{
		embedder: e, ready: ready, log: log, breaker: NewEmbedderBreaker(),
		calls: make(chan struct{}, maxQueryCalls), recent: store.Recent[[]float32]{Max: queryCacheSize / 2},
	}
}

// WithVector returns the query with the vector of its text, if it has none and
// gets one in time: a query that is searched for several times is embedded
// once.
func (qv *QueryVectors) WithVector(ctx context.Context, q Query) Query {
	if q.Vector == nil && qv.ready() {
		q.Vector = qv.vector(ctx, q.Text)
	}
	return q
}

// Counts returns the counts since it was made.
func (qv *QueryVectors) Counts() QueryVectorCounts {
	qv.mu.Lock()
	defer qv.mu.Unlock()
	return qv.counts
}

// vector returns a query's vector, or nil if there is none in time.
func (qv *QueryVectors) vector(ctx context.Context, text string) []float32 {
	text = short.Bytes(short.Line(text), maxQueryText)
	if text == "" {
		return nil
	}
	if v, ok := qv.recent.Get(text); ok {
		qv.count(&qv.counts.Cached)
		return v
	}
	select {
	case qv.calls <- struct{}{}:
		defer func() { <-qv.calls }()
	default:
		qv.count(&qv.counts.Skipped)
		return nil
	}
	if !qv.breaker.Allow() {
		qv.count(&qv.counts.Skipped)
		return nil
	}
	timed, cancel := context.WithTimeout(ctx, DefaultQueryDeadline)
	defer cancel()
	v, err := embedQuery(timed, qv.embedder, text)
	switch {
	case err == nil:
		qv.count(&qv.counts.Embedded)
		qv.recent.Put(text, v, 1)
	case ctx.Err() != nil:
		return nil // the reader left
	case timed.Err() != nil:
		qv.count(&qv.counts.Late)
	default:
		qv.count(&qv.counts.Failed)
	}
	if qv.breaker.Record(err) {
		if err == nil {
			qv.log.Info("the embedder has recovered", "model", qv.embedder.Model())
		} else {
			qv.log.Warn("the embedder is failing; searches use keywords only until it recovers",
				"model", qv.embedder.Model(), "error", err, "deadline", DefaultQueryDeadline)
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
		err = disk.CheckVectors(vectors, 1)
	}
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

func (qv *QueryVectors) count(n *uint64) {
	qv.mu.Lock()
	defer qv.mu.Unlock()
	*n++
}
