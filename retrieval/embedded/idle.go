package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// maxUnloaded is up to how many sections an index leaves memory: a search that
// loads it must not take much longer than others.
const maxUnloaded = 1000

// idle is the part of an Index that leaves memory while nobody searches it.
type idle struct {
	after time.Duration // 0: it stays in memory
	lost  func()

	// outlines are the documents while they are also in the snapshot and the
	// generation may leave memory; else nil.
	outlines atomic.Pointer[[]*retrieval.Document]
	used     atomic.Int64 // when it was last searched, in Unix nanoseconds

	timer *time.Timer // calls unload; guarded by Index.replacing
}

// keep makes documents the outlines. It takes the list itself: a pointer into the
// contents would keep all of them in memory.
func (i *idle) keep(documents []*retrieval.Document) { i.outlines.Store(&documents) }

// unloads reports whether an index of documents leaves memory.
func (x *Index) unloads(documents []*retrieval.Document) bool {
	sections := 0
	for _, d := range documents {
		sections += len(d.Sections)
	}
	return x.idle.after > 0 && sections <= maxUnloaded
}

// generation returns the generation to search, which is loaded if it is only
// on disk.
func (x *Index) generation() (*generation, error) {
	if x.idle.after > 0 {
		x.idle.used.Store(time.Now().UnixNano())
	}
	if g := x.current.Load(); g != nil {
		return g, nil
	}
	if x.idle.outlines.Load() == nil {
		return nil, retrieval.ErrNotReady
	}
	x.replacing.Lock()
	defer x.replacing.Unlock()
	if g := x.current.Load(); g != nil {
		return g, nil // another search has loaded it
	}
	c, err := x.loadAgain()
	if err == nil {
		err = x.show(context.Background(), c, nil)
	}
	if err != nil {
		return nil, err
	}
	x.unloadLater(x.idle.after)
	return x.current.Load(), nil
}

// loadAgain reads the snapshot of an index that left memory. The caller holds
// the lock.
func (x *Index) loadAgain() (*contents, error) {
	if x.idle.outlines.Load() == nil {
		return nil, retrieval.ErrNotReady
	}
	c, err := load(context.Background(), x.dir, func(int, int) {})
	if err == nil && !outlined(*x.idle.outlines.Load(), c.docs) {
		err = fmt.Errorf("%w: it has other pages", errSnapshot) // another process has written it, perhaps
	}
	if err == nil {
		return c, nil
	}
	if !errors.Is(err, errSnapshot) && !errors.Is(err, fs.ErrNotExist) { // it may pass
		return nil, fmt.Errorf("%w: loading the index: %w", retrieval.ErrUnavailable, err)
	}
	x.unusable(err)
	x.idle.outlines.Store(nil)
	if x.idle.lost != nil && !x.closed {
		x.idle.lost()
	}
	return nil, retrieval.ErrNotReady
}

// outlined reports whether outlines are those of documents.
func outlined(outlines, documents []*retrieval.Document) bool {
	return slices.EqualFunc(outlines, documents, func(o, d *retrieval.Document) bool {
		return o.Page == d.Page && o.URL == d.URL && o.Hash == d.Hash && len(o.Sections) == len(d.Sections)
	})
}

// unloadLater unloads the generation after a while. The caller holds the lock.
func (x *Index) unloadLater(after time.Duration) {
	if x.idle.timer == nil && !x.closed {
		x.idle.timer = time.AfterFunc(after, x.unload)
	}
}

// unload removes the generation from memory, unless it was used in the meantime
// or is not in the snapshot.
func (x *Index) unload() {
	x.replacing.Lock()
	defer x.replacing.Unlock()
	x.idle.timer = nil
	if x.idle.outlines.Load() == nil {
		return
	}
	if rest := x.idle.after - time.Since(time.Unix(0, x.idle.used.Load())); rest > 0 {
		x.unloadLater(rest)
		return
	}
	x.current.Store(nil)
}

// take gives contents the documents of a Replace. Texts that are in the current
// snapshot stay there; those of an index without a folder stay in its documents.
// The caller holds the lock.
func (x *Index) take(c *contents, documents []*retrieval.Document) error {
	c.docs = slices.Clone(documents)
	if x.dir == "" {
		return nil
	}
	c.texts = make([]*pageTexts, len(documents))
	var known *contents
	byPage := map[string]int{}
	for i, d := range documents {
		if !d.Outline {
			c.docs[i], c.texts[i] = withoutTexts(d), hold(&texts{whole: d})
			continue
		}
		if c.texts[i] = x.kept.texts[d.Key()]; c.texts[i] != nil {
			continue
		}
		if known == nil {
			if g := x.current.Load(); g != nil {
				known = &g.contents
			} else {
				var err error
				if known, err = x.loadAgain(); err != nil {
					return err
				}
			}
			for j, d := range known.docs {
				byPage[d.Page] = j
			}
		}
		j, ok := byPage[d.Page]
		if !ok || known.docs[j].OwnHash() != d.OwnHash() {
			return fmt.Errorf("page %q is an outline, and not one of this index", d.Page)
		}
		c.docs[i], c.texts[i] = d.Whole(known.docs[j]), known.texts[j]
	}
	return nil
}
