package meilisearch

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Bounds of an embedder in a server's own settings.
const (
	// embedderTime is what a reader waits for meaning before they get
	// keywords alone, as for an embedder of ours (retrieval.HybridOptions).
	embedderTime = 300 * time.Millisecond
	// After restAfter failures in a row no search asks it for restFirst,
	// doubled up to restLast with each trial that fails.
	restAfter = 3
	restFirst = time.Second
	restLast  = time.Minute
	// complainEvery is the least time between two log lines of one kind.
	complainEvery = time.Minute
)

// userProvided is the source of an embedder whose vectors come with the
// documents.
const userProvided = "userProvided"

// errNoVectors is that the server's embedder made no vectors of new
// sections, which are found by words until it does.
var errNoVectors = errors.New("the server's embedder gives no vectors; the new sections are found by words until it does")

// embedder is what matters here of one in an index's settings.
type embedder struct {
	Source     string
	Dimensions int
}

// ownEmbedder keeps away from a server's embedder that does not answer.
type ownEmbedder struct {
	mu       sync.Mutex
	failures int // in a row
	until    time.Time
	pause    time.Duration
}

func (o *ownEmbedder) resting() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Now().Before(o.until)
}

// note keeps what became of a call, and returns whether it was the first
// that went well after a rest.
func (o *ownEmbedder) note(ok bool) (back bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ok {
		back = o.failures >= restAfter
		o.failures, o.pause = 0, 0
		return back
	}
	if o.failures++; o.failures >= restAfter {
		o.pause = min(max(2*o.pause, restFirst), restLast)
		o.until = time.Now().Add(o.pause)
	}
	return false
}

type embedCounts struct {
	mu sync.Mutex
	retrieval.HybridCounts
}

func (c *embedCounts) count(change func(*retrieval.HybridCounts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.HybridCounts)
}

// EmbedderCounts returns what became of queries for which a server's own
// embedder was to make a vector. ok is false where we make them.
func (x *Index) EmbedderCounts() (counts retrieval.HybridCounts, ok bool) {
	x.embedded.mu.Lock()
	defer x.embedded.mu.Unlock()
	return x.embedded.HybridCounts, x.o.Embedder != ""
}

// askEmbedder begins a search by meaning in which the server embeds the
// query. The function it returns waits for what is found, no longer than
// embedderTime after the start; ok is false where that is nothing, because
// the embedder failed, was late, or rests after failures.
func (x *Index) askEmbedder(ctx context.Context, in *instance, queries []*sdk.SearchRequest) (found func() (results []result, ok bool)) {
	if in.own.resting() {
		x.embedded.count(func(c *retrieval.HybridCounts) { c.Skipped++ })
		return func() ([]result, bool) { return nil, false }
	}
	within, cancel := context.WithTimeout(ctx, embedderTime)
	var results []result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		results, err = in.search(within, queries)
	}()
	return func() ([]result, bool) {
		<-done
		switch {
		case err == nil:
			x.embedded.count(func(c *retrieval.HybridCounts) { c.Embedded++ })
			if in.own.note(true) {
				x.log.Info("the server's embedder answers again", "server", in.url, "embedder", x.o.Embedder)
			}
			return results, true
		case ctx.Err() != nil:
			return nil, false // the reader left, or the server's own time is over
		case errors.Is(within.Err(), context.DeadlineExceeded):
			x.embedded.count(func(c *retrieval.HybridCounts) { c.Late++ })
		default:
			x.embedded.count(func(c *retrieval.HybridCounts) { c.Failed++ })
		}
		in.own.note(false)
		x.complain(in.url, "the server's embedder gave no vector in time; searches go by keywords alone", "embedder", x.o.Embedder, "error", err, "deadline", embedderTime)
		return nil, false
	}
}

// noVectors reports errors which say that the index has no vectors (yet)
// that the query's can be compared with.
func noVectors(err error) bool {
	switch codeOf(err) {
	case "invalid_search_embedder", "invalid_vector_dimensions", "vector_embedding_error":
		return true
	}
	return false
}

// addressed are records that say of each of an index's embedders where its
// vectors come from: of those that expect them from us, and get none, that
// there are none; of the server's own that is used, own, that it is to make
// them, also where it was told otherwise before.
func addressed(records []*record, embedders map[string]embedder, own string) []*record {
	out := make([]*record, len(records))
	for i, r := range records {
		for name, e := range embedders {
			_, given := r.Vectors[name]
			switch {
			case given:
			case e.Source == userProvided:
				r = r.with(name, nil)
				if name == own {
					r.Vector = noVector
				}
			case name == own:
				r = r.with(name, &vector{Regenerate: true})
			}
		}
		out[i] = r
	}
	return out
}

// with is the record with a vector for an embedder, nil for none. The record
// itself stays as it is: others send it, too.
func (r *record) with(embedder string, v *vector) *record {
	clone := *r
	clone.Vectors = maps.Clone(r.Vectors)
	if clone.Vectors == nil {
		clone.Vectors = map[string]*vector{}
	}
	clone.Vectors[embedder] = v
	return &clone
}

// complaints hold back log lines that every search could write.
type complaints struct {
	mu    sync.Mutex
	last  map[string]time.Time
	since map[string]int
}

// complain logs a warning about a server, once a minute, with how often it
// was held back.
func (x *Index) complain(server, what string, more ...any) {
	c := &x.complaints
	key := server + what
	c.mu.Lock()
	if now := time.Now(); now.Sub(c.last[key]) < complainEvery {
		c.since[key]++
		c.mu.Unlock()
		return
	} else if c.last == nil {
		c.last, c.since = map[string]time.Time{key: now}, map[string]int{}
	} else {
		c.last[key] = now
	}
	others := c.since[key]
	c.since[key] = 0
	c.mu.Unlock()
	x.log.Warn(what, append([]any{"server", server, "others", others}, more...)...)
}
