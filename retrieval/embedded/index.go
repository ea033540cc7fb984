// Package embedded is the search index inside the process: keywords ranked
// by field-weighted term frequencies with evidence from titles, headings
// and whole pages, vectors where an embedder gives them, and the fusion of
// both. It is held in memory, replaced whole, and kept on disk between runs.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Options configure an Index.
type Options struct {
	// Dir is the folder the index is kept in between runs; "" keeps it in
	// memory only.
	Dir string
	// Synonyms are sets of words that stand for each other.
	Synonyms [][]string
	// Log gets warnings; nil is slog.Default().
	Log *slog.Logger
}

// Index implements retrieval.Index.
type Index struct {
	dir      string
	log      *slog.Logger
	synonyms map[string][]string
	weights  *weights

	current atomic.Pointer[generation]
	pool    sync.Pool

	replacing sync.Mutex
	closed    atomic.Bool
}

var _ retrieval.Index = (*Index)(nil)

// Stats describe the current generation.
type Stats struct {
	Pages, Sections, Words int
	// Bytes is the size of the index in memory, the documents' text
	// included, as an estimate.
	Bytes int64
	// Generation counts the contents since the index was opened.
	Generation uint64
	Made       time.Time
}

// Open returns the index of a folder, with what an earlier run left there.
func Open(o Options) (*Index, error) {
	x := &Index{dir: o.Dir, log: o.Log, weights: &standard}
	if x.log == nil {
		x.log = slog.Default()
	}
	x.pool.New = func() any { return &scratch{} }
	x.synonyms = map[string][]string{}
	for i, set := range o.Synonyms {
		if len(set) < 2 {
			return nil, fmt.Errorf("synonyms: set %d has fewer than two words", i+1)
		}
		for _, a := range set {
			for _, b := range set {
				if a != b {
					a := strings.ToLower(a)
					x.synonyms[a] = append(x.synonyms[a], strings.ToLower(b))
				}
			}
		}
	}
	return x, nil
}

var errClosed = errors.New("the index is closed")

// Search returns the best sections for a query, best first.
func (x *Index) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	g := x.current.Load()
	if g == nil {
		return nil, retrieval.ErrNotReady
	}
	if q.Limit <= 0 {
		q.Limit = 10
	}
	s := x.pool.Get().(*scratch)
	defer x.pool.Put(s)
	return g.search(ctx, &q, x.synonyms, x.weights, s)
}

// Page returns the document of a page, nil if there is none.
func (x *Index) Page(_ context.Context, page string) (*retrieval.Document, error) {
	g := x.current.Load()
	if g == nil {
		return nil, retrieval.ErrNotReady
	}
	if i, ok := g.byPage[page]; ok {
		return g.docs[i], nil
	}
	return nil, nil
}

// Documents returns the current documents.
func (x *Index) Documents() []*retrieval.Document {
	if g := x.current.Load(); g != nil {
		return g.docs
	}
	return nil
}

// Stats describes the current generation; it is zero before the first.
func (x *Index) Stats() Stats {
	g := x.current.Load()
	if g == nil {
		return Stats{}
	}
	return Stats{
		Pages: len(g.docs), Sections: len(g.pageOf), Words: len(g.spelling.text),
		Bytes: g.bytes, Generation: g.number, Made: g.made,
	}
}

// Replace makes documents the whole content of the index. Documents whose
// hash, page and language are those of the current generation are not
// analyzed again.
func (x *Index) Replace(ctx context.Context, documents []*retrieval.Document, vectors [][][]float32) error {
	x.replacing.Lock()
	defer x.replacing.Unlock()
	if x.closed.Load() {
		return errClosed
	}
	old := x.current.Load()
	lex := newLexicon()
	if old != nil {
		lex = old.lex.clone()
	}
	a := &analyzer{lex: lex}
	counts := make([]*pageWords, len(documents))
	for i, d := range documents {
		if i%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			runtime.Gosched()
		}
		l := languageFor(d)
		if old != nil && d.Hash != "" {
			if j, ok := old.byPage[d.Page]; ok && old.counts[j].hash == d.Hash && old.counts[j].lang == l.id && len(old.counts[j].sections) == len(d.Sections) {
				counts[i] = old.counts[j]
				continue
			}
		}
		counts[i] = a.analyze(d, l)
	}
	g := newGeneration(documents, counts, lex, x.weights)
	g.number = 1
	if old != nil {
		g.number = old.number + 1
	}
	x.current.Store(g)
	return nil
}

// Close releases the index.
func (x *Index) Close() error {
	x.replacing.Lock()
	defer x.replacing.Unlock()
	x.closed.Store(true)
	return nil
}
