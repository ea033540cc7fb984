package meilisearch

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

const (
	// syncTimeout ends an update of which nothing was done for so long. A whole
	// update may take hours.
	syncTimeout = 30 * time.Minute
	// syncRounds is how often a server is compared with the content: without
	// the lock, another program may write at the same time.
	syncRounds = 3
	// An index with more than rebuildFrom changes, which are more than
	// rebuildShare of its records, is rebuilt: that is as fast, and searches
	// never see half of it.
	rebuildFrom  = 100
	rebuildShare = .25
	// noDimensions is the number of dimensions of an index without vectors.
	noDimensions = -1
)

type progressKey struct{}

// withProgress returns a context that ends when progressed was not called with
// it for a time.
func withProgress(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(timeout, func() { cancel(fmt.Errorf("nothing was done for %v: %w", timeout, context.DeadlineExceeded)) })
	extend := func() { timer.Reset(timeout) }
	return context.WithValue(ctx, progressKey{}, extend), func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}

// progressed extends the time of a context of withProgress.
func progressed(ctx context.Context) {
	if extend, ok := ctx.Value(progressKey{}).(func()); ok && ctx.Err() == nil {
		extend()
	}
}

// syncAll brings all servers that answer up to date with c. The caller holds
// the lock. It returns an error only if no server has c and one refused it.
func (x *Index) syncAll(ctx context.Context, c *content, shared bool) error {
	errs := make([]error, len(x.servers))
	var group sync.WaitGroup
	for i, s := range x.servers {
		if !s.writable() {
			continue
		}
		group.Go(func() {
			if errs[i] = x.sync(ctx, s, c, shared); errs[i] != nil {
				x.log.Warn("a Meilisearch server did not get the new pages; it is tried again", "server", s.url, "error", errs[i])
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if slices.ContainsFunc(x.servers, func(s *server) bool { outdated, _ := s.state(); return !outdated }) {
		return nil
	}
	for _, err := range errs {
		if err != nil && !unavailable(err) && !errors.Is(err, errTooOld) && !errors.Is(err, errNoVectors) && !errors.As(err, new(*ownerError)) {
			return err
		}
	}
	return nil
}

// sync makes a server's indexes of the site equal to c. If it is interrupted,
// the previous indexes stay, and the next sync continues. shared: see
// lockServers.
func (x *Index) sync(ctx context.Context, s *server, c *content, shared bool) (err error) {
	if err := s.probe(ctx); err != nil {
		return err
	}
	began := time.Now()
	defer func() {
		if unauthorized(err) {
			s.forgetRights()
		}
		if unavailable(err) {
			s.failed(began, err)
		}
	}()
	m, err := x.claim(ctx, s, s.rewrite)
	if err != nil {
		return err
	}
	for range syncRounds {
		equal, err := x.syncOnce(ctx, s, c, shared)
		if err != nil {
			return err
		}
		s.rewrite = false
		if equal {
			if m != nil && m.Content != c.identity() {
				if err := x.writeMark(ctx, s, c); err != nil {
					return err
				}
			}
			if shared {
				if err := x.sendState(ctx, s, c); err != nil {
					x.log.Warn("the state of the site can't be stored in a Meilisearch server; new processes read all pages before they search", "server", s.url, "error", err)
				}
			}
			s.setOutdated(false)
			s.updates.Record(nil)
			return nil
		}
	}
	return fmt.Errorf("%s differs from the site after %d attempts: another program writes to %s*", s.url, syncRounds, x.uidPrefix)
}

// syncOnce changes what differs. equal reports that nothing did.
func (x *Index) syncOnce(ctx context.Context, s *server, c *content, shared bool) (equal bool, err error) {
	live, abandoned, err := s.list(ctx, x.uidPrefix)
	if err != nil {
		return false, err
	}
	unwanted := slices.DeleteFunc(slices.Clone(live), func(uid string) bool { return c.indexes[uid] != nil })
	equal = len(unwanted) == 0
	if !shared {
		abandoned = nil // without the lock, they may be in use
	} else if c.restored {
		if abandoned, err = x.useless(ctx, s, c, abandoned); err != nil {
			return false, err
		}
	}
	var swaps []*sdk.SwapIndexesParams
	var failedEmbedder error
	dimensions, missingVectors := map[string]int{}, false
	for _, uid := range slices.Sorted(maps.Keys(c.indexes)) {
		p, err := x.plan(ctx, s, c, c.indexes[uid], slices.Contains(live, uid))
		if err != nil {
			return false, err
		}
		dimensions[uid], missingVectors = p.dimensions, missingVectors || p.missingVectors
		if !p.newSettings && !p.rebuild && len(p.add)+len(p.remove) == 0 {
			continue
		}
		equal = false
		if p.rebuild {
			begun, err := x.begun(ctx, s, p, abandoned)
			if err != nil {
				return false, err
			}
			next := cmp.Or(begun, uid+"_"+strings.ToLower(rand.Text()))
			if err := x.fill(ctx, s, next, p, begun != ""); err != nil {
				if ctx.Err() == nil && !unavailable(err) { // else it is continued
					x.discard(s, next)
				}
				return false, fmt.Errorf("filling a new index for %s: %w", uid, err)
			}
			abandoned = slices.DeleteFunc(abandoned, func(old string) bool { return strings.HasPrefix(old, uid+"_") })
			swaps = append(swaps, &sdk.SwapIndexesParams{Indexes: []string{next, uid}, Rename: !p.exists})
			continue
		}
		if p.newSettings {
			if err := s.setUp(ctx, uid, p.settings, !p.exists); err != nil {
				return false, err
			}
		}
		if err := x.change(ctx, s, p); errors.Is(err, errNoVectors) {
			failedEmbedder = err
		} else if err != nil {
			return false, fmt.Errorf("changing %s: %w", uid, err)
		}
	}
	if err := s.swap(ctx, swaps); err != nil {
		return false, err
	}
	for _, uid := range append(unwanted, abandoned...) {
		if err := s.drop(ctx, uid); err != nil {
			return false, err
		}
	}
	s.mu.Lock()
	s.dimensions, s.missingVectors = dimensions, missingVectors
	s.mu.Unlock()
	return equal && failedEmbedder == nil, failedEmbedder
}

// plan is what to change in one index of a server.
type plan struct {
	*languageIndex
	content     *content
	exists      bool
	settings    *sdk.Settings
	newSettings bool
	// rebuild: a new index is filled and swapped in.
	rebuild bool
	add     []location
	remove  []string // IDs
	// embedders are those of the index as it is.
	embedders map[string]embedder
	// dimensions and missingVectors: see server.
	dimensions     int
	missingVectors bool
	// copyVectors: only the server has the vectors, and a new index gets them
	// from the live one.
	copyVectors bool
}

// location is where a record comes from.
type location struct{ page, section int }

// plan compares an index of a server with ix.
func (x *Index) plan(ctx context.Context, s *server, c *content, ix *languageIndex, exists bool) (*plan, error) {
	p := &plan{languageIndex: ix, content: c, exists: exists, settings: x.settingsOf(ix), newSettings: true, dimensions: noDimensions}
	var held map[recordID]vectorHash
	if exists {
		settings, err := s.settings(ctx, ix.uid)
		if err != nil {
			return nil, err
		}
		if held, p.remove, err = s.ids(ctx, ix.uid, ix.sections); err != nil {
			return nil, err
		}
		p.embedders = embeddersOf(settings)
		p.copyVectors = x.keepVectors(p.settings, p.embedders, c.restored)
		p.newSettings = settingsDiffer(settings, p.settings, x.options.Embedder != "")
	}
	if e, ok := p.settings.Embedders[vectorName]; ok {
		p.dimensions = e.Dimensions
	}
	if e, ok := p.embedders[x.options.Embedder]; ok && x.options.Embedder != "" && e.source != userProvided {
		p.dimensions = 0
	}
	c.each(ix, func(page, section int, id recordID, vector vectorHash) {
		v, ok := held[id]
		if !ok || v == vectorFailed && p.dimensions == 0 || !c.restored && v != vector && (v != vectorFailed || vector != withoutVector) {
			p.add = append(p.add, location{page, section})
		}
		p.missingVectors = p.missingVectors || v == withoutVector && c.restored && x.options.Embedder == ""
		delete(held, id)
	})
	for id := range held {
		p.remove = append(p.remove, id.String())
	}
	slices.Sort(p.remove)
	if x.options.Embedder == "" {
		n := len(p.add) + len(p.remove)
		p.rebuild = p.newSettings || n > rebuildFrom && float64(n) > rebuildShare*float64(ix.sections)
	} // else the embedder's secret can't be copied to a new index
	if s.rewrite {
		p.rebuild = p.rebuild || x.options.Embedder == ""
		p.add = p.all()
	}
	return p, nil
}

// keepVectors adds to the settings the embedder of vectors that only the
// server has, because the content was restored. It reports whether there are
// such vectors.
func (x *Index) keepVectors(settings *sdk.Settings, embedders map[string]embedder, restored bool) bool {
	e, ok := embedders[vectorName]
	if !ok || !restored || x.options.Embedder != "" || e.source != userProvided {
		return false
	}
	settings.Embedders = map[string]sdk.Embedder{vectorName: {Source: sdk.UserProvidedEmbedderSource, Dimensions: e.dimensions}}
	return e.dimensions > 0
}

// records makes records, a page at a time.
func (x *Index) records(p *plan, list []location) iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		var d *retrieval.Document
		var vectors [][]float32
		var words []embedded.Words
		for i, at := range list {
			if i == 0 || list[i-1].page != at.page {
				var err error
				if d, err = x.store.whole(p.content.outlines[at.page]); err != nil {
					yield(nil, err)
					return
				}
				_, words = embedded.Analyze(d)
				if vectors = nil; p.content.vectors != nil {
					vectors = p.content.vectors(at.page)
				}
			}
			state := &p.content.pages[at.page]
			r := newRecord(d, at.section, state.Traits, words)
			if p.languageIndex.dimensions > 0 {
				r = r.withVector(vectorName, nil) // the server requires a value for every record
				if at.section < len(vectors) {
					if v := unit(vectors[at.section]); v != nil {
						r = r.withEmbedding(&vector{Embeddings: [][]float32{v}}, state.vector(at.section).String())
					}
				}
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// withOrigins returns a record with an entry for each of an index's
// embedders: none for one that expects vectors from this process and gets
// none, and a request to make the vector for own, the embedder that is used.
func withOrigins(r *record, embedders map[string]embedder, own string) *record {
	for name, e := range embedders {
		_, given := r.Vectors[name]
		switch {
		case given:
		case e.source == userProvided:
			r = r.withVector(name, nil)
			if name == own {
				r.Vector = failedVector
			}
		case name == own:
			r = r.withVector(name, &vector{Regenerate: true})
		}
	}
	return r
}

// all returns the locations of all records of an index.
func (p *plan) all() []location {
	list := make([]location, 0, p.sections)
	p.content.each(p.languageIndex, func(page, section int, _ recordID, _ vectorHash) { list = append(list, location{page, section}) })
	return list
}
