// Package embedded is the search index inside the process. It ranks sections
// by BM25F with bonuses for titles, headings and whole pages, and fuses that
// with vectors where an embedder gives them. It is held in memory, replaced as
// a whole, and kept on disk between runs.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Options configure an Index.
type Options struct {
	// Dir is the folder in which a snapshot is kept between runs. It is
	// created if it doesn't exist. "" keeps the index in memory only.
	Dir string
	// Synonyms are sets of words with the same meaning. A word of a query also
	// finds the others of its sets, with a little less weight.
	Synonyms [][]string
	// StopWords carry no meaning on this site. They are removed from queries
	// that have other words. Pages are indexed with them.
	StopWords []string
	// Log gets warnings; nil is slog.Default().
	Log *slog.Logger
}

// Index implements retrieval.Index. A search works on one generation, takes no
// lock, and doesn't wait for Replace.
type Index struct {
	dir     string
	log     *slog.Logger
	wording wording
	current atomic.Pointer[generation]
	scratch sync.Pool // of *scratch

	replacing sync.Mutex // guards words and closed
	words     []word     // of the lexicon, which is made again for each Replace
	closed    bool
}

var _ retrieval.Index = (*Index)(nil)

// Open returns the index of a folder with what an earlier run left there. A
// snapshot that is damaged or of another version is logged, removed and
// ignored. Open only fails if synonyms or stop words can't be used.
func Open(o Options) (*Index, error) {
	w, err := newWording(o.Synonyms, o.StopWords)
	if err != nil {
		return nil, err
	}
	x := &Index{dir: o.Dir, log: o.Log, wording: w}
	if x.log == nil {
		x.log = slog.Default()
	}
	x.scratch.New = func() any { return &scratch{} }
	if x.dir != "" {
		x.restore()
	}
	return x, nil
}

// restore reads the snapshot of an earlier run.
func (x *Index) restore() {
	file := filepath.Join(x.dir, snapshotFile)
	if unfinished, err := filepath.Glob(file + ".*"); err == nil {
		for _, f := range unfinished {
			// A run that was killed while writing left it.
			if info, err := os.Stat(f); err == nil && time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(f)
			}
		}
	}
	g, lex, err := load(x.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, errSnapshot):
		x.log.Warn("the stored search index can't be used and is rebuilt", "file", file, "error", err)
		_ = os.Remove(file)
	case err != nil:
		x.log.Warn("the stored search index can't be read and is rebuilt", "file", file, "error", err)
	default:
		x.words = lex.words
		x.current.Store(g)
	}
}

// Search returns the best sections for a query, best first: the best of each
// page before its others, and at most two of a page. A limit outside 1–100 is
// taken as the nearest of them. A vector whose length is not that of the
// index's vectors is ignored. The error is retrieval.ErrNotReady before the
// first generation, or that of ctx.
func (x *Index) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	g := x.current.Load()
	if g == nil {
		return nil, retrieval.ErrNotReady
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q.Limit = min(max(q.Limit, 1), maxHits)
	if q.Vector != nil && g.vectors != nil && !g.vectors.fits(q.Vector) {
		g.warnMisfit.Do(func() {
			x.log.Warn("the query's vector doesn't fit those of the index, so searches use keywords only; the embedder's model has changed: index the site again",
				"dimensions", len(q.Vector), "index", g.vectors.dim)
		})
	}
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	return g.only(q.Pages).search(ctx, &q, &x.wording, s)
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

var errClosed = errors.New("the index is closed")

// Replace makes documents the whole content of the index, and writes its
// snapshot; a failure to write is only logged. Searches use the new generation
// while the snapshot is still being written. A document whose page, hash and
// language are those of the current generation is not analyzed again; one
// without a hash always is.
//
// It is an error if two documents have the same page, or if vectors don't
// match the documents or each other; then, and if ctx is canceled, the current
// generation stays.
func (x *Index) Replace(ctx context.Context, documents []*retrieval.Document, vectors [][][]float32) error {
	x.replacing.Lock()
	defer x.replacing.Unlock()
	if x.closed {
		return errClosed
	}
	matrix, err := newMatrix(documents, vectors)
	if err != nil {
		return err
	}
	old, lex := x.current.Load(), newLexicon(x.words)
	if old != nil && len(lex.words) > 2*old.wordsUsed+10_000 {
		// Most words are of pages that are gone: start over with all pages.
		old, lex = nil, newLexicon(nil)
	}
	words, err := analyzeAll(ctx, documents, old, lex)
	if err != nil {
		return err
	}
	lex.words = append(make([]word, 0, len(lex.words)), lex.words...) // without room to grow
	g := newGeneration(documents, words, lex.words, matrix)
	if len(g.byPage) != len(documents) {
		return fmt.Errorf("%d documents have only %d different pages", len(documents), len(g.byPage))
	}
	x.current.Store(g)
	x.words = lex.words
	if x.dir == "" {
		return nil
	}
	if err := save(x.dir, g, lex); err != nil {
		x.log.Warn("the search index can't be stored; the next start reads all pages again", "folder", x.dir, "error", err)
	}
	return nil
}

// Close waits for a Replace that is running; later ones fail. Searches go on.
func (x *Index) Close() error {
	x.replacing.Lock()
	defer x.replacing.Unlock()
	x.closed = true
	return nil
}
