// Package embedded is the search index inside the process. It ranks sections
// by BM25F with bonuses for titles, headings and whole pages, and fuses that
// with vectors where an embedder gives them. It is held in memory, replaced as
// a whole, and kept on disk between runs.
package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
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
	// SemanticRatio is the weight of vectors, 0–1: 0 ranks by keywords only, 1
	// by vectors only. nil: DefaultSemanticRatio.
	SemanticRatio *float64
	// Idle, if not 0, is how long after its last search the index leaves
	// memory. Until the next search it is only on disk, in Dir, from where it
	// is loaded within milliseconds. Documents then returns outlines. A large
	// index stays in memory.
	Idle time.Duration
	// Running, if not nil, is an index of the same folder, whose pages are
	// searched until the first Replace.
	Running *Index
	// Lost is called if the index was not in memory and its snapshot can't be
	// used: the site must be indexed again. It must not block.
	Lost func()
	// Log gets warnings; nil is slog.Default().
	Log *slog.Logger
}

// Index implements retrieval.Index. A search works on one generation, takes no
// lock, and doesn't wait for Replace, unless it has to load the index.
type Index struct {
	dir     string
	log     *slog.Logger
	wording *words.Wording
	ratio   float64                    // the weight of vectors
	current atomic.Pointer[generation] // nil before the first one, and if it is only on disk
	scratch sync.Pool                  // of *scratch
	idle    idle

	replacing sync.Mutex // guards changes of current, and:
	closed    bool
	kept      kept
}

var _ retrieval.Index = (*Index)(nil)

// Open returns the index of a folder. What an earlier run left there is loaded by
// Restore, until which the index is not ready. Open only fails if synonyms or stop
// words can't be used.
func Open(o Options) (*Index, error) {
	w, err := words.NewWording(o.Synonyms, o.StopWords)
	if err != nil {
		return nil, err
	}
	x := &Index{dir: o.Dir, log: cmp.Or(o.Log, slog.Default()), wording: w, ratio: DefaultSemanticRatio}
	if o.SemanticRatio != nil {
		x.ratio = *o.SemanticRatio
	}
	if !(x.ratio >= 0 && x.ratio <= 1) {
		return nil, fmt.Errorf("the semantic ratio %v is not a number from 0 to 1", x.ratio)
	}
	if x.dir != "" {
		x.idle.after, x.idle.lost = o.Idle, o.Lost
	}
	x.scratch.New = func() any { return &scratch{} }
	if o.Running != nil {
		if x.idle.after > 0 {
			x.idle.outlines.Store(o.Running.idle.outlines.Load())
		} else if g := o.Running.current.Load(); g != nil {
			x.current.Store(g)
		}
	}
	return x, nil
}

// Restore loads the snapshot of an earlier run, unless ctx is done before. One
// that is damaged or of another version is logged, removed and ignored.
// progress is called with the pages that were read, of how many.
func (x *Index) Restore(ctx context.Context, progress func(done, total int)) {
	x.replacing.Lock()
	defer x.replacing.Unlock()
	if x.dir == "" || x.closed || x.current.Load() != nil || x.idle.outlines.Load() != nil {
		return
	}
	file := filepath.Join(x.dir, snapshotFile)
	if unfinished, err := filepath.Glob(file + ".*"); err == nil {
		for _, f := range unfinished {
			// A run that was killed while writing left it.
			if info, err := os.Stat(f); err == nil && time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(f)
			}
		}
	}
	c, err := load(ctx, x.dir, progress)
	switch {
	case errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil:
	case err != nil:
		x.unusable(err)
	case x.unloads(c.docs):
		x.idle.keep(c.docs)
	default:
		_ = x.show(context.Background(), c, nil) // it only fails with the context
	}
}

// unusable logs why a snapshot can't be used, and removes it if it never can.
func (x *Index) unusable(err error) {
	x.log.Warn("the stored search index can't be used and will be rebuilt", "file", filepath.Join(x.dir, snapshotFile), "error", err)
	if errors.Is(err, errSnapshot) {
		RemoveSnapshot(x.dir)
	}
}

// Search returns the best sections for a query, best first: the best of each
// page before its others, and at most two of a page. A limit outside 1–100 is
// taken as the nearest of them. A vector whose length is not that of the
// index's vectors is ignored. The error is retrieval.ErrNotReady before the
// first generation, or that of ctx.
func (x *Index) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	g, err := x.generation()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q.Limit = min(max(q.Limit, 1), retrieval.MaxHits)
	if q.Embedded() != nil && g.vectors != nil && g.vectors.dim != len(q.Vector) {
		g.warnMisfit.Do(func() {
			x.log.Warn("the query's vector doesn't fit those of the index, so searches use keywords only; the embedder's model has changed: index the site again",
				"dimensions", len(q.Vector), "index", g.vectors.dim)
		})
	}
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	g = g.only(q.Pages)
	hits, err := g.search(ctx, &q, g.parsed(&q, x.wording), x.ratio, s)
	for i := range hits {
		if h := &hits[i]; g.texts != nil && err == nil && (q.Shown == 0 || i < q.Shown) {
			h.Text, err = g.texts[g.byPage[h.Document.Page]].Load().section(h.Section)
		}
	}
	return hits, err
}

// Page returns the document of a page, nil if there is none.
func (x *Index) Page(_ context.Context, page string) (*retrieval.Document, error) {
	g, err := x.generation()
	if err != nil {
		return nil, err
	}
	i, ok := g.byPage[page]
	switch {
	case !ok:
		return nil, nil
	case g.texts != nil:
		return g.texts[i].Load().document(g.docs[i])
	}
	return g.docs[i], nil
}

// Documents returns the current documents, nil before the first generation. Of
// an index with a folder, they are outlines.
func (x *Index) Documents() []*retrieval.Document {
	if o := x.idle.outlines.Load(); o != nil {
		return *o
	}
	if g := x.current.Load(); g != nil {
		return g.docs
	}
	return nil
}

// Replace makes documents the whole content of the index, and writes its
// snapshot; a failure to write is only logged. Searches use the new generation
// while the snapshot is still being written. A document whose page, hash and
// language are those of the current generation is not analyzed again; one
// without a hash always is.
//
// An outline that Documents or, since the last Replace, Keep returned represents
// the whole document.
//
// It is an error if two documents have the same page, or if vectors don't
// match the documents or each other; then, and if ctx is canceled, the current
// generation stays.
func (x *Index) Replace(ctx context.Context, documents []*retrieval.Document, vectors func(document int) [][]float32) error {
	x.replacing.Lock()
	defer x.replacing.Unlock()
	if x.closed {
		return errors.New("the index is closed")
	}
	defer func() { x.kept = kept{} }()
	c, old := &contents{lexicon: new(words.Lexicon)}, x.current.Load()
	if old != nil {
		c.lexicon.Words = old.lexicon.Words
	}
	err := x.take(c, documents)
	if err == nil {
		c.vectors, err = newMatrix(c.docs, vectors)
	}
	if err != nil {
		return err
	}
	pages := make(map[string]bool, len(documents))
	for _, d := range documents {
		pages[d.Page] = true
	}
	if len(pages) != len(documents) {
		return fmt.Errorf("%d documents have only %d different pages", len(documents), len(pages))
	}
	unloads := x.unloads(documents)
	unloaded := unloads && old == nil
	if unloaded && x.save(c) { // it is on disk only until somebody searches
		x.idle.keep(c.docs)
		return nil
	}
	if old != nil && len(c.lexicon.Words) > 2*old.wordsUsed+10_000 {
		// Most words are of pages that are gone: start over with all pages.
		old, c.lexicon = nil, new(words.Lexicon)
	}
	if err := x.show(ctx, c, old); err != nil {
		return err
	}
	x.idle.outlines.Store(nil)
	if x.dir != "" && !unloaded && x.save(c) && unloads {
		x.idle.keep(c.docs)
		x.unloadLater(x.idle.after)
	}
	return nil
}

// show makes the generation of contents the current one. Words of documents
// that are in old are not counted again. The caller holds the lock.
func (x *Index) show(ctx context.Context, c *contents, old *generation) error {
	if c.words == nil {
		if err := countAll(ctx, c, old); err != nil {
			return err
		}
	}
	c.lexicon = &words.Lexicon{Words: slices.Clip(c.lexicon.Words)} // which the next one copies before it adds to them
	x.current.Store(newGeneration(*c))
	return nil
}

// save writes the snapshot. A failure is logged.
func (x *Index) save(c *contents) bool {
	err := save(x.dir, c)
	if err != nil {
		x.log.Warn("the search index can't be stored; the next start will read all pages again", "folder", x.dir, "error", err)
	}
	return err == nil
}

// Close waits for a Replace that is running; later ones fail. Searches go on.
func (x *Index) Close() error {
	x.replacing.Lock()
	defer x.replacing.Unlock()
	x.closed = true
	if x.idle.timer != nil {
		x.idle.timer.Stop()
	}
	return nil
}
