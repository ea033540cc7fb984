package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
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

	// outlines are the documents while they are in the snapshot too, and the
	// generation may leave memory; else nil.
	outlines atomic.Pointer[[]*retrieval.Document]
	used     atomic.Int64 // when it was last searched, in Unix nanoseconds

	timer *time.Timer // calls unload; guarded by Index.replacing
}

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
	if err != nil {
		return nil, err
	}
	g, err := c.generation(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	x.words = c.lexicon.Words
	x.current.Store(g)
	x.unloadLater(x.idle.after)
	return g, nil
}

// Load returns the current documents as a whole.
func (x *Index) Load(context.Context) ([]*retrieval.Document, error) {
	g, err := x.generation()
	if err != nil {
		return nil, err
	}
	return g.docs, nil
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

// unload lets the generation leave memory, unless it was used in the meantime
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
	x.words = nil
}

// replaceOnDisk replaces the documents of an index that is not in memory. If
// the snapshot can't be written, it is from then on.
func (x *Index) replaceOnDisk(ctx context.Context, c *contents) error {
	if x.save(c) {
		x.idle.outlines.Store(outlines(c.docs))
		return nil
	}
	g, err := c.generation(ctx, nil)
	if err != nil {
		return err
	}
	x.words = c.lexicon.Words
	x.current.Store(g)
	x.idle.outlines.Store(nil)
	return nil
}

// outlines are documents without the texts of their sections, and without links
// except those of the front page.
func outlines(documents []*retrieval.Document) *[]*retrieval.Document {
	out := make([]*retrieval.Document, len(documents))
	for i, d := range documents {
		o := *d
		// The strings may be parts of the page's text, which is to leave memory.
		for _, s := range []*string{&o.Page, &o.URL, &o.File, &o.Hash, &o.Title, &o.Description, &o.Version, &o.Language} {
			*s = strings.Clone(*s)
		}
		o.Breadcrumbs, o.Tags, o.Keywords = cloned(d.Breadcrumbs), cloned(d.Tags), cloned(d.Keywords)
		o.Sections = make([]retrieval.Section, len(d.Sections))
		if o.Links = nil; d.Page == "" {
			o.Links = slices.Clone(d.Links)
		}
		o.Outline = true
		out[i] = &o
	}
	return &out
}

func cloned(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = strings.Clone(out[i])
	}
	return out
}

// whole returns documents, whole ones in place of outlines. The caller holds the
// lock.
func (x *Index) whole(documents []*retrieval.Document) ([]*retrieval.Document, error) {
	if !slices.ContainsFunc(documents, func(d *retrieval.Document) bool { return d.Outline }) {
		return documents, nil
	}
	var known []*retrieval.Document
	if g := x.current.Load(); g != nil {
		known = g.docs
	} else {
		c, err := x.loadAgain()
		if err != nil {
			return nil, err
		}
		known = c.docs
	}
	byPage := make(map[string]*retrieval.Document, len(known))
	for _, d := range known {
		byPage[d.Page] = d
	}
	out := slices.Clone(documents)
	for i, d := range out {
		if !d.Outline {
			continue
		}
		full := byPage[d.Page]
		if full == nil || ownHash(full) != ownHash(d) {
			return nil, fmt.Errorf("page %q is an outline, and not one of this index", d.Page)
		}
		c := *d
		c.Sections, c.Links, c.Outline = full.Sections, full.Links, false
		out[i] = &c
	}
	return out, nil
}

// ownHash identifies a page's own content.
func ownHash(d *retrieval.Document) string {
	own, _, _ := strings.Cut(d.Hash, retrieval.HashSuffix)
	return own
}
