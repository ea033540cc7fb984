package retrieval

import (
	"context"
	"fmt"
	"log/slog"
	"math"
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

// QueryVectorCounts counts queries by how they got a vector, for metrics.
type QueryVectorCounts struct {
	// Embedded queries got a vector from the embedder, Cached ones from an
	// earlier query. The others used keyword search only: Late ones because
	// the deadline passed, Failed ones because of an error, Skipped ones
	// because the embedder was failing or busy.
	Embedded, Cached, Late, Failed, Skipped uint64
}

// EmbedderCalls are calls of an embedder of queries that are counted. It is safe for
// concurrent use.
type EmbedderCalls struct {
	// Deadline is how long a call may take.
	Deadline time.Duration

	mu     sync.Mutex
	counts QueryVectorCounts
}

// NewEmbedderBreaker returns the breaker of an embedder of queries.
func NewEmbedderBreaker() *Breaker {
	return &Breaker{After: 3, First: time.Second, Last: time.Minute}
}

// Counts returns the counts since the start.
func (c *EmbedderCalls) Counts() QueryVectorCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

func (c *EmbedderCalls) count(n *uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

// Do makes a call unless the embedder is failing, and reports whether it succeeded
// in time. log names the embedder; who is what it is called there.
func (c *EmbedderCalls) Do(ctx context.Context, b *Breaker, log *slog.Logger, who string, call func(context.Context) error) (ok bool) {
	if !b.Allow() {
		c.count(&c.counts.Skipped)
		return false
	}
	timed, cancel := context.WithTimeout(ctx, c.Deadline)
	defer cancel()
	err := call(timed)
	switch {
	case err == nil:
		c.count(&c.counts.Embedded)
	case ctx.Err() != nil:
		return false // the reader left, or there is no time left for anything
	case timed.Err() != nil:
		c.count(&c.counts.Late)
	default:
		c.count(&c.counts.Failed)
	}
	if b.Record(err) {
		if err == nil {
			log.Info(who + " has recovered")
		} else {
			log.Warn(who+" is failing; searches use keywords only until it recovers", "error", err, "deadline", c.Deadline)
		}
	}
	return err == nil
}

// QueryVectors embeds queries. When the embedder fails or is too slow, a query
// has no vector and is a keyword search: a search never fails, and never waits
// longer than DefaultQueryDeadline, because of the embedder. It is safe for
// concurrent use.
type QueryVectors struct {
	EmbedderCalls
	embedder Embedder
	ready    func() bool
	log      *slog.Logger
	breaker  *Breaker
	calls    chan struct{}           // holds an element for each call in progress
	recent   store.Recent[[]float32] // by the text
}

// NewQueryVectors returns the QueryVectors of an embedder. ready reports whether
// the index has vectors (see Refresher.HasVectors): while it has none, no query is
// embedded.
func NewQueryVectors(e Embedder, ready func() bool, log *slog.Logger) *QueryVectors {
	return &QueryVectors{
		EmbedderCalls: EmbedderCalls{Deadline: DefaultQueryDeadline}, embedder: e, ready: ready, log: log.With("model", e.Model()), breaker: NewEmbedderBreaker(),
		calls: make(chan struct{}, maxQueryCalls), recent: store.Recent[[]float32]{Max: queryCacheSize / 2},
	}
}

// WithVector returns the query with Embed set, unless it has a vector. Its text is
// embedded once, when an index first asks for the vector; there is none if that
// fails or takes too long.
func (qv *QueryVectors) WithVector(ctx context.Context, q Query) Query {
	if q.Vector == nil && qv.ready() {
		q.Embed = sync.OnceValue(func() []float32 { return qv.vector(ctx, q.Text) })
	}
	return q
}

// vector returns a query's vector, or nil if there is none in time.
func (qv *QueryVectors) vector(ctx context.Context, text string) (v []float32) {
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
	qv.Do(ctx, qv.breaker, qv.log, "the embedder", func(ctx context.Context) (err error) {
		if v, err = embedQuery(ctx, qv.embedder, text); err == nil {
			qv.recent.Put(text, v, 1)
		}
		return err
	})
	return v
}

func embedQuery(ctx context.Context, e Embedder, text string) (vector []float32, err error) {
	defer func() { // an embedder may be another plugin's, and nothing else recovers here
		if p := recover(); p != nil {
			err = fmt.Errorf("the embedder panicked: %v", p)
		}
	}()
	var vectors [][]float32
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

// Normalized returns a vector at length 1, nil if it has no direction.
func Normalized(v []float32) []float32 {
	sum := 0.
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil
	}
	scale := float32(1 / math.Sqrt(sum))
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = x * scale
	}
	return out
}
