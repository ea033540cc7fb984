// Package embedded is the search index inside the process: keywords ranked
// by field-weighted term frequencies with evidence from titles, headings
// and whole pages, vectors where an embedder gives them, and the fusion of
// both. It is held in memory, replaced whole, and kept on disk between runs.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Options configure an Index.
type Options struct {
	// Dir is the folder that a snapshot is kept in between runs; it is made
	// if it doesn't exist. "" keeps the index in memory only.
	Dir string
	// Synonyms are sets of words that stand for each other. A word written
	// in a query also finds the others of its sets, with a little less
	// weight.
	Synonyms [][]string
	// StopWords say nothing on this site: they are left out of queries that
	// have other words. Pages are indexed with them.
	StopWords []string
	// Log gets warnings; nil is slog.Default().
	Log *slog.Logger
}

// Index implements retrieval.Index. A search works on one generation, takes
// no lock, and is not held up by Replace.
type Index struct {
	dir     string
	log     *slog.Logger
	wording wording
	weights *weights

	current atomic.Pointer[generation]
	pool    sync.Pool

	replacing sync.Mutex
	closed    bool // under replacing

	// The writer of snapshots: wake says that there is a new generation.
	wake    chan struct{}
	written sync.WaitGroup
	stored  uint32 // fingerprint of what is on disk; the writer's own
}

var _ retrieval.Index = (*Index)(nil)

// Stats describe the current generation.
type Stats struct {
	// Pages, Sections, and different Words as they are written.
	Pages, Sections, Words int
	// Vectors is how many sections have one.
	Vectors int
	// Bytes estimates the memory held, the documents' texts included.
	Bytes int64
	// Generation counts from 1 since the index was opened; a snapshot that
	// was read is the first. 0: there is none yet.
	Generation uint64
	// Made is when the generation was made or read.
	Made time.Time
}

// Open returns the index of a folder with what an earlier run left there. A
// snapshot that is damaged or of another release is logged, removed and
// ignored. Only synonyms and stop words that can't be used are an error.
func Open(o Options) (*Index, error) {
	x := &Index{dir: o.Dir, log: o.Log, weights: &standard}
	if x.log == nil {
		x.log = slog.Default()
	}
	x.pool.New = func() any { return &scratch{} }
	var err error
	if x.wording.synonyms, err = readSynonyms(o.Synonyms); err != nil {
		return nil, err
	}
	if x.wording.stop, err = readStopWords(o.StopWords); err != nil {
		return nil, err
	}
	if x.dir == "" {
		return x, nil
	}
	x.restore()
	x.wake = make(chan struct{}, 1)
	x.written.Go(func() {
		for range x.wake {
			x.store()
		}
	})
	return x, nil
}

// restore reads the snapshot of an earlier run.
func (x *Index) restore() {
	file := filepath.Join(x.dir, snapshotFile)
	if old, err := filepath.Glob(file + ".*.tmp"); err == nil {
		for _, f := range old {
			// Left by a run that was killed while it wrote.
			if info, err := os.Stat(f); err == nil && time.Since(info.ModTime()) > time.Hour {
				os.Remove(f)
			}
		}
	}
	c, err := load(x.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case errors.Is(err, errSnapshot):
		x.log.Warn("the search index of an earlier run can't be used and is made anew", "file", file, "error", err)
		os.Remove(file)
		return
	case err != nil:
		x.log.Warn("the search index of an earlier run can't be read", "file", file, "error", err)
		return
	}
	g := newGeneration(c.docs, c.counts, c.lex, x.weights)
	g.vectors = c.vectors
	g.vectors.weigh(g)
	g.number = 1
	x.stored = g.fingerprint()
	x.current.Store(g)
}

// store writes the current generation, unless its contents are on disk
// already.
func (x *Index) store() {
	g := x.current.Load()
	sum := g.fingerprint()
	if sum == x.stored {
		return
	}
	if err := save(x.dir, g); err != nil {
		x.log.Warn("the search index can't be written; it serves from memory, and the next start reads all pages again", "folder", x.dir, "error", err)
		return
	}
	x.stored = sum
}

// fingerprint identifies a generation's contents.
func (g *generation) fingerprint() uint32 {
	sum := uint32(len(g.docs))
	for _, d := range g.docs {
		for _, s := range []string{d.Page, d.Hash, d.URL, d.Version, d.Language} {
			sum = crc32.Update(sum, castagnoli, []byte(s))
		}
		if d.Hash == "" {
			for i := range d.Sections {
				sum = crc32.Update(sum, castagnoli, []byte(d.Sections[i].Text))
			}
		}
	}
	if g.vectors != nil {
		// A new model gives other vectors to the same documents.
		for i := 0; i < len(g.vectors.values); i += g.vectors.dim {
			sum = sum*31 + uint32(int32(g.vectors.values[i]*1e6))
		}
		sum += uint32(g.vectors.dim)
	}
	return max(sum, 1)
}

// turns are those of searches under way in the process.
var turns = make(chan struct{}, runtime.GOMAXPROCS(0))

// Search returns the best sections for a query, best first: of one page its
// best section first, and never more than two of it. Limit outside 1–50 is
// taken as the nearest of them. A query vector whose length is not that of
// the index's vectors is ignored. The error is retrieval.ErrNotReady before
// the first generation, or that of ctx.
func (x *Index) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	g := x.current.Load()
	if g == nil {
		return nil, retrieval.ErrNotReady
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q.Limit = min(max(q.Limit, 1), 50)
	if q.Vector != nil && g.vectors != nil && !g.vectors.fits(q.Vector) && g.misfit.CompareAndSwap(false, true) {
		x.log.Warn("the query's vector doesn't fit those of the index, so searches use keywords only; the embedder's model has changed: index the site again",
			"dimensions", len(q.Vector), "index", g.vectors.dim)
	}
	// A search is all computing: more at once than there are processors end
	// no sooner, and keep what else the server does, such as passing tokens
	// on, waiting behind them all.
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s := x.pool.Get().(*scratch)
	defer x.pool.Put(s)
	return g.search(ctx, &q, &x.wording, x.weights, s)
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

// Documents returns the current documents, nil before the first generation.
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
	s := Stats{
		Pages: len(g.docs), Sections: len(g.pageOf), Words: len(g.spelling.text),
		Bytes: g.size(), Generation: g.number, Made: g.made,
	}
	if g.vectors != nil {
		s.Vectors = len(g.vectors.section)
	}
	return s
}

var errClosed = errors.New("the index is closed")

// Replace makes documents the whole content of the index. Documents whose
// page, hash and language are those of the current generation are not
// analyzed again; a document without a hash always is. Searches answer from
// the new generation when Replace returns; its snapshot is written after
// that, and a failure to write it is only logged.
//
// It is an error if two documents have one page, or if vectors don't match
// the documents or each other; the generation before then stays. Cancelling
// ctx leaves it as well.
func (x *Index) Replace(ctx context.Context, documents []*retrieval.Document, vectors [][][]float32) error {
	x.replacing.Lock()
	defer x.replacing.Unlock()
	if x.closed {
		return errClosed
	}
	m, err := newMatrix(documents, vectors)
	if err != nil {
		return err
	}
	old := x.current.Load()
	lex, counts, err := analyzeAll(ctx, documents, old)
	if err != nil {
		return err
	}
	g := newGeneration(documents, counts, lex, x.weights)
	g.vectors = m
	m.weigh(g)
	g.number = 1
	if old != nil {
		g.number = old.number + 1
	}
	if len(g.byPage) != len(documents) {
		return fmt.Errorf("%d documents have only %d different pages", len(documents), len(g.byPage))
	}
	x.current.Store(g)
	if x.wake != nil {
		select {
		case x.wake <- struct{}{}:
		default: // the writer is yet to start on what was asked before
		}
	}
	return nil
}

// Close waits until the last generation is on disk. Searches under way, and
// later ones, still answer.
func (x *Index) Close() error {
	x.replacing.Lock()
	defer x.replacing.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	if x.wake != nil {
		close(x.wake)
		x.written.Wait()
	}
	return nil
}
