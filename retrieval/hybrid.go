package retrieval

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Bounds of embedding queries.
const (
	// queryDeadline is what a reader waits for meaning before they get
	// keywords alone.
	queryDeadline = 300 * time.Millisecond
	// flightTimeout ends a call that nobody waits for any more; until then
	// its vector may still come, for the next reader with that query.
	flightTimeout = 5 * time.Second
	// maxFlights bounds the calls under way: beyond it an embedder that
	// hangs would gather goroutines.
	maxFlights = 16
	// maxQueryText cuts what is embedded, in bytes.
	maxQueryText = 2000
	// queryCacheSize is the number of query vectors kept (1.5 kB each at 384
	// dimensions).
	queryCacheSize = 1000
	// After breakAfter failures in a row no query waits for the embedder for
	// breakFirst, doubled up to breakLast with each trial that fails.
	breakAfter = 3
	breakFirst = time.Second
	breakLast  = time.Minute
	// logEvery is the least time between two log lines about failures.
	logEvery = time.Minute
)

// HybridOptions are the parts of a HybridSearcher; Index and Embedder are
// required.
type HybridOptions struct {
	Index    Index
	Embedder Embedder
	// Deadline is the longest a search waits for its vector. Default: 300 ms.
	Deadline time.Duration
	// Ready, where not nil, says whether the index has vectors at all;
	// without, no query is embedded. See Refresher.HasVectors.
	Ready func() bool
	// Log; nil: slog.Default().
	Log *slog.Logger
}

// HybridCounts counts what became of queries, for metrics.
type HybridCounts struct {
	// Embedded queries got a vector from the embedder, Cached from an
	// earlier query. The rest searched by keywords alone: Late ones because
	// the deadline passed, Failed ones because of an error, Skipped ones
	// because the embedder was known not to answer, or overrun.
	Embedded, Cached, Late, Failed, Skipped uint64
}

// HybridSearcher embeds queries before it searches. It never lets a search
// fail, or wait past its deadline, because of the embedder: the query then
// goes by keywords alone, counted and logged. It is safe for concurrent use.
type HybridSearcher struct {
	o   HybridOptions
	log *slog.Logger

	mu      sync.Mutex
	cache   map[string]*list.Element // of *cachedVector
	recent  *list.List               // most recently used first
	flights map[string]*flight
	counts  HybridCounts

	failures int       // in a row
	closed   time.Time // no query waits before it
	pause    time.Duration
	trial    bool // one call finds out whether the embedder is back

	logged     time.Time
	suppressed int
}

type cachedVector struct {
	text   string
	vector []float32
}

// flight is one call of the embedder, shared by those who want its text.
type flight struct {
	done   chan struct{}
	vector []float32
	err    error
	judged bool // its failure was counted
}

var errOverdue = errors.New("no answer within the deadline")

// NewHybridSearcher returns a searcher over an index and an embedder.
func NewHybridSearcher(o HybridOptions) *HybridSearcher {
	if o.Deadline <= 0 {
		o.Deadline = queryDeadline
	}
	h := &HybridSearcher{
		o: o, log: o.Log, cache: map[string]*list.Element{}, recent: list.New(),
		flights: map[string]*flight{}, pause: breakFirst,
	}
	if h.log == nil {
		h.log = slog.Default()
	}
	return h
}

// Search embeds the query's text, unless it comes with a vector, and
// searches. Errors are the index's.
func (h *HybridSearcher) Search(ctx context.Context, q Query) ([]Hit, error) {
	if q.Vector == nil && (h.o.Ready == nil || h.o.Ready()) {
		q.Vector = h.vector(ctx, q.Text)
	}
	return h.o.Index.Search(ctx, q)
}

// Page is the index's Page.
func (h *HybridSearcher) Page(ctx context.Context, page string) (*Document, error) {
	return h.o.Index.Page(ctx, page)
}

// Counts returns what became of the queries so far.
func (h *HybridSearcher) Counts() HybridCounts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}

// vector returns a query's vector, nil if there is none in time.
func (h *HybridSearcher) vector(ctx context.Context, text string) []float32 {
	text = cut(strings.Join(strings.Fields(text), " "), maxQueryText)
	if text == "" {
		return nil
	}
	h.mu.Lock()
	if at, ok := h.cache[text]; ok {
		h.recent.MoveToFront(at)
		h.counts.Cached++
		v := at.Value.(*cachedVector).vector
		h.mu.Unlock()
		return v
	}
	f, wait := h.join(text)
	if !wait {
		h.counts.Skipped++
		h.mu.Unlock()
		return nil
	}
	h.mu.Unlock()

	deadline := time.NewTimer(h.o.Deadline)
	defer deadline.Stop()
	select {
	case <-f.done:
		h.mu.Lock()
		defer h.mu.Unlock()
		if f.err != nil {
			h.counts.Failed++
		} else {
			h.counts.Embedded++
		}
		return f.vector
	case <-deadline.C:
		h.mu.Lock()
		defer h.mu.Unlock()
		h.counts.Late++
		h.failed(f, errOverdue)
		return nil
	case <-ctx.Done():
		return nil
	}
}

// join finds or starts the flight for a text; wait is false where the
// embedder is not worth waiting for. h.mu is held.
func (h *HybridSearcher) join(text string) (f *flight, wait bool) {
	open := h.failures >= breakAfter
	if f = h.flights[text]; f != nil {
		return f, !open
	}
	if open && (h.trial || time.Now().Before(h.closed)) || len(h.flights) >= maxFlights {
		return nil, false
	}
	h.trial = open
	f = &flight{done: make(chan struct{})}
	h.flights[text] = f
	go h.fly(f, text, open)
	return f, !open
}

// embedQuery embeds one query, with the prefix that the model wants for
// queries where the embedder knows of it.
func embedQuery(ctx context.Context, e Embedder, text string) (vectors [][]float32, err error) {
	if q, ok := e.(QueryEmbedder); ok {
		var v []float32
		v, err = q.EmbedQuery(ctx, text)
		vectors = [][]float32{v}
	} else {
		vectors, err = e.Embed(ctx, []string{text})
	}
	if err != nil {
		return nil, err
	}
	return vectors, checkVectors(vectors, 1)
}

// fly calls the embedder. Its time is not that of the query that began it:
// a reader who leaves must not fail those who wait for the same text.
func (h *HybridSearcher) fly(f *flight, text string, trial bool) {
	ctx, cancel := context.WithTimeout(context.Background(), flightTimeout)
	defer cancel()
	started := time.Now()
	vectors, err := embedQuery(ctx, h.o.Embedder, text)
	late := time.Since(started) > h.o.Deadline

	h.mu.Lock()
	defer h.mu.Unlock()
	defer close(f.done)
	delete(h.flights, text)
	if trial {
		h.trial = false
	}
	if f.err = err; err == nil {
		f.vector = vectors[0]
		h.keep(text, f.vector)
	}
	switch {
	case err != nil:
		h.failed(f, err)
	case late:
		h.failed(f, errOverdue)
	default:
		if h.failures >= breakAfter {
			h.log.Info("the embedder answers again", "model", h.o.Embedder.Model())
		}
		h.failures, h.pause = 0, breakFirst
	}
}

// failed counts a flight's failure once. h.mu is held.
func (h *HybridSearcher) failed(f *flight, err error) {
	if f.judged {
		return
	}
	f.judged = true
	if h.failures++; h.failures >= breakAfter {
		h.closed = time.Now().Add(h.pause)
		h.pause = min(2*h.pause, breakLast)
	}
	if now := time.Now(); now.Sub(h.logged) >= logEvery {
		h.log.Warn("a query could not be embedded and was searched by keywords alone",
			"model", h.o.Embedder.Model(), "error", err, "deadline", h.o.Deadline, "others", h.suppressed)
		h.logged, h.suppressed = now, 0
	} else {
		h.suppressed++
	}
}

// keep stores a vector and drops the one unused longest. h.mu is held.
func (h *HybridSearcher) keep(text string, vector []float32) {
	if at, ok := h.cache[text]; ok {
		at.Value.(*cachedVector).vector = vector
		h.recent.MoveToFront(at)
		return
	}
	h.cache[text] = h.recent.PushFront(&cachedVector{text, vector})
	if h.recent.Len() > queryCacheSize {
		oldest := h.recent.Back()
		h.recent.Remove(oldest)
		delete(h.cache, oldest.Value.(*cachedVector).text)
	}
}
