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
			u := update{replica: s, content: c, shared: shared}
			if errs[i] = u.sync(ctx); errs[i] != nil {
				x.log.Warn("a Meilisearch server did not get the new pages; it is tried again", "server", s.url, "error", errs[i])
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if slices.ContainsFunc(x.servers, func(s *replica) bool { outdated, _ := s.state(); return !outdated }) {
		return nil
	}
	for _, err := range errs {
		if err != nil && !unavailable(err) && !errors.Is(err, errTooOld) && !errors.Is(err, errNoVectors) && !errors.As(err, new(*ownerError)) {
			return err
		}
	}
	return nil
}

// update makes a server hold a content. The writers' lock is held.
type update struct {
	*replica
	content *content
	// shared: see lockServers.
	shared bool
	// rewrite writes everything, and to indexes of another owner.
	rewrite bool
}

// sync makes a server's indexes of the site equal to c. If it is interrupted,
// the previous indexes stay, and the next sync continues.
func (u *update) sync(ctx context.Context) (err error) {
	if err := u.probe(ctx); err != nil {
		return err
	}
	began := time.Now()
	defer func() {
		if unauthorized(err) {
			u.forgetRights()
		}
		if unavailable(err) {
			u.failed(began, err)
		}
	}()
	m, err := u.claim(ctx)
	if err != nil {
		return err
	}
	for range syncRounds {
		equal, err := u.syncOnce(ctx)
		if err != nil {
			return err
		}
		u.rewrite = false
		if equal {
			if m != nil && m.Content != u.content.identity() {
				if err := u.writeMark(ctx, u.content); err != nil {
					return err
				}
			}
			if u.shared {
				if err := u.sendState(ctx); err != nil {
					u.site.log.Warn("the state of the site can't be stored in a Meilisearch server; new processes read all pages before they search", "server", u.url, "error", err)
				}
			}
			u.setOutdated(false)
			u.updates.Record(nil)
			return nil
		}
	}
	return fmt.Errorf("%s differs from the site after %d attempts: another program writes to %s*", u.url, syncRounds, u.site.uidPrefix)
}

// syncOnce changes what differs. equal reports that nothing did.
func (u *update) syncOnce(ctx context.Context) (equal bool, err error) {
	live, abandoned, err := u.list(ctx, u.site.uidPrefix)
	if err != nil {
		return false, err
	}
	unwanted := slices.DeleteFunc(slices.Clone(live), func(uid string) bool { return u.content.indexes[uid] != nil })
	equal = len(unwanted) == 0
	if !u.shared {
		abandoned = nil // without the lock, they may be in use
	} else if u.content.restored {
		if abandoned, err = u.useless(ctx, abandoned); err != nil {
			return false, err
		}
	}
	var swaps []*sdk.SwapIndexesParams
	var failedEmbedder error
	dimensions, missingVectors := map[string]int{}, false
	for _, uid := range slices.Sorted(maps.Keys(u.content.indexes)) {
		p, err := u.plan(ctx, u.content.indexes[uid], slices.Contains(live, uid))
		if err != nil {
			return false, err
		}
		dimensions[uid], missingVectors = p.dimensions, missingVectors || p.missingVectors
		if !p.newSettings && !p.rebuild && len(p.add)+len(p.remove) == 0 {
			continue
		}
		equal = false
		if p.rebuild {
			begun, err := u.begun(ctx, p, abandoned)
			if err != nil {
				return false, err
			}
			next := cmp.Or(begun, uid+"_"+strings.ToLower(rand.Text()))
			if err := u.fill(ctx, next, p, begun != ""); err != nil {
				if ctx.Err() == nil && !unavailable(err) { // else it is continued
					u.discard(next)
				}
				return false, fmt.Errorf("filling a new index for %s: %w", uid, err)
			}
			abandoned = slices.DeleteFunc(abandoned, func(old string) bool { return strings.HasPrefix(old, uid+"_") })
			swaps = append(swaps, &sdk.SwapIndexesParams{Indexes: []string{next, uid}, Rename: !p.exists})
			continue
		}
		if p.newSettings {
			if err := u.setUp(ctx, uid, p.settings, !p.exists); err != nil {
				return false, err
			}
		}
		if err := u.change(ctx, p); errors.Is(err, errNoVectors) {
			failedEmbedder = err
		} else if err != nil {
			return false, fmt.Errorf("changing %s: %w", uid, err)
		}
	}
	if err := u.swap(ctx, swaps); err != nil {
		return false, err
	}
	for _, uid := range append(unwanted, abandoned...) {
		if err := u.drop(ctx, uid); err != nil {
			return false, err
		}
	}
	u.mu.Lock()
	u.dimensions, u.missingVectors = dimensions, missingVectors
	u.mu.Unlock()
	return equal && failedEmbedder == nil, failedEmbedder
}

// plan is what to change in one index of a server.
type plan struct {
	*languageIndex
	exists      bool
	settings    *sdk.Settings
	newSettings bool
	// rebuild: a new index is filled and swapped in.
	rebuild bool
	add     []location
	remove  []string // IDs
	// embedders are those of the index as it is.
	embedders map[string]embedder
	// dimensions and missingVectors: see replica.
	dimensions     int
	missingVectors bool
	// copyVectors: only the server has the vectors, and a new index gets them
	// from the live one.
	copyVectors bool
}

// plan compares an index of a server with ix.
func (u *update) plan(ctx context.Context, ix *languageIndex, exists bool) (*plan, error) {
	p := &plan{languageIndex: ix, exists: exists, settings: u.site.settingsOf(ix), newSettings: true, dimensions: noDimensions}
	var held map[recordID]vectorHash
	if exists {
		settings, err := u.settings(ctx, ix.uid)
		if err != nil {
			return nil, err
		}
		if held, p.remove, err = u.ids(ctx, ix.uid, ix.sections); err != nil {
			return nil, err
		}
		p.embedders = embeddersOf(settings)
		p.copyVectors = u.site.keepVectors(p.settings, p.embedders, u.content.restored)
		p.newSettings = settingsDiffer(settings, p.settings, u.site.options.Embedder != "")
	}
	if e, ok := p.settings.Embedders[vectorName]; ok {
		p.dimensions = e.Dimensions
	}
	if e, ok := p.embedders[u.site.options.Embedder]; ok && u.site.options.Embedder != "" && e.source != userProvided {
		p.dimensions = 0
	}
	add, remove := u.content.changes(ix, held, func(v, vector vectorHash) bool {
		p.missingVectors = p.missingVectors || v == withoutVector && u.content.restored && u.site.options.Embedder == ""
		return v == vectorFailed && p.dimensions == 0 || !u.content.restored && v != vector && (v != vectorFailed || vector != withoutVector)
	})
	p.add, p.remove = add, append(p.remove, remove...)
	if u.site.options.Embedder == "" {
		n := len(p.add) + len(p.remove)
		p.rebuild = p.newSettings || n > rebuildFrom && float64(n) > rebuildShare*float64(ix.sections)
	} // else the embedder's secret can't be copied to a new index
	if u.rewrite {
		p.rebuild = p.rebuild || u.site.options.Embedder == ""
		p.add = u.content.all(ix)
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

// records makes records, a page at a time, each of which finish may change.
func (u *update) records(p *plan, list []location, finish func(*record)) iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		var d *retrieval.Document
		var vectors [][]float32
		var words []embedded.Words
		for i, at := range list {
			if i == 0 || list[i-1].page != at.page {
				var err error
				if d, err = u.site.store.whole(u.content.outlines[at.page]); err != nil {
					yield(nil, err)
					return
				}
				_, words = embedded.Analyze(d)
				if vectors = nil; u.content.vectors != nil {
					vectors = u.content.vectors(at.page)
				}
			}
			state := &u.content.pages[at.page]
			r := newRecord(d, at.section, state.Traits, words)
			if p.languageIndex.dimensions > 0 {
				r.Vectors[vectorName] = nil // the server requires a value for every record
				if at.section < len(vectors) {
					if v := unit(vectors[at.section]); v != nil {
						r.embed(&vector{Embeddings: [][]float32{v}}, state.vector(at.section).String())
					}
				}
			}
			finish(r)
			if !yield(r, nil) {
				return
			}
		}
	}
}

// setOrigins gives a record an entry for each of an index's embedders: none for
// one that expects vectors from this process and gets none, and a request to
// make the vector for own, the embedder that is used.
func (r *record) setOrigins(embedders map[string]embedder, own string) {
	for name, e := range embedders {
		_, given := r.Vectors[name]
		switch {
		case given:
		case e.source == userProvided:
			r.Vectors[name] = nil
			if name == own {
				r.Vector = failedVector
			}
		case name == own:
			r.Vectors[name] = &vector{Regenerate: true}
		}
	}
}
