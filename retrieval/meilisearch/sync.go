package meilisearch

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

const (
	// syncTimeout ends an update of which nothing was done for so long. A whole
	// update may take hours.
	syncTimeout = 30 * time.Minute
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
	timer := time.AfterFunc(timeout, func() { cancel(fmt.Errorf("no progress for %v: %w", timeout, context.DeadlineExceeded)) })
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
func (x *Index) syncAll(ctx context.Context, c *content) error {
	errs := make([]error, len(x.servers))
	var group sync.WaitGroup
	for i, s := range x.servers {
		if !s.now().writable() {
			continue
		}
		group.Go(func() {
			u := update{replica: s, content: c}
			if errs[i] = u.sync(ctx); errs[i] != nil {
				x.log.Warn("the new pages could not be sent to a Meilisearch server; will retry", "server", s.url, "error", errs[i])
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if slices.ContainsFunc(x.servers, func(s *replica) bool { return !s.now().outdated }) {
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
	// rewrite writes everything, and to indexes of another owner.
	rewrite bool
	// found is what differed, and filled are the indexes that were swapped in.
	found, filled []string
}

// sync makes a server's indexes of the site equal to c. If it is interrupted,
// the previous indexes stay, and the next sync continues.
func (u *update) sync(ctx context.Context) (err error) {
	if err := u.probe(ctx); err != nil {
		return err
	}
	began := time.Now()
	u.note(func(k *known) { k.sending.began, k.sending.sent, k.sending.total = began, 0, 0 })
	defer func() {
		u.note(func(k *known) { k.sending.began = time.Time{} })
		if unavailable(err) || unauthorized(err) {
			u.failed(began, err)
		}
	}()
	m, err := u.claim(ctx)
	if err != nil {
		return err
	}
	if err := u.change(ctx); err != nil {
		return err
	}
	if err := u.finish(ctx, m); err != nil {
		return err
	}
	u.setOutdated(false)
	u.updates.Record(nil)
	for _, uid := range u.filled {
		// Filling left space unused. It stays so if the server can't give it
		// back, or the key does not permit that. Nobody waits for it.
		_, _ = u.start(ctx, http.MethodPost, "/indexes/"+uid+"/compact", nil)
	}
	return nil
}

// change changes what differs.
func (u *update) change(ctx context.Context) error {
	live, begun, views, err := u.list(ctx)
	if err != nil {
		return err
	}
	live = append(live, views...)
	var swaps []swap
	var failedEmbedder error
	dimensions, missingVectors := map[string]int{}, false
	for _, uid := range slices.Sorted(maps.Keys(u.content.indexes)) {
		p, err := u.plan(ctx, u.content.indexes[uid], slices.Contains(live, uid))
		if err != nil {
			return err
		}
		dimensions[uid], missingVectors = p.dimensions, missingVectors || p.missingVectors
		switch {
		case !p.exists:
			u.found = append(u.found, uid+" is missing")
		case p.newSettings:
			u.found = append(u.found, "the settings of "+uid+" differ")
		}
		if p.exists && p.different != "" {
			u.found = append(u.found, uid+" "+p.different)
		}
		if p.rebuild {
			next, err := u.continued(ctx, p, begun)
			if err != nil {
				return err
			}
			continues := next != ""
			next = cmp.Or(next, uid+"_"+strings.ToLower(rand.Text()))
			if err := u.fill(ctx, next, p, continues); err != nil { // the next update continues
				return fmt.Errorf("filling a new index for %s: %w", uid, err)
			}
			begun = slices.DeleteFunc(begun, func(old string) bool { return strings.HasPrefix(old, uid+"_") })
			swaps = append(swaps, swap{[]string{next, uid}, !p.exists})
			continue
		}
		if p.newSettings {
			if err := u.setUp(ctx, uid, p.settings); err != nil {
				return err
			}
		}
		if err := u.correct(ctx, p); errors.Is(err, errNoVectors) {
			failedEmbedder = err
		} else if err != nil {
			return fmt.Errorf("changing %s: %w", uid, err)
		}
	}
	if err := u.swap(ctx, swaps); err != nil {
		return err
	}
	for _, filled := range swaps {
		u.filled = append(u.filled, filled.Indexes[1])
	}
	unwanted := slices.DeleteFunc(live, func(uid string) bool {
		// A view is left alone until it is known which pages are public.
		return u.content.indexes[uid] != nil || slices.Contains(views, uid) && u.site.options.ViewKey != "" && u.site.public.Load() == nil
	})
	begun = slices.DeleteFunc(begun, func(uid string) bool {
		// An update that is continued soon after a start may have begun it.
		live, _, _ := strings.Cut(strings.TrimPrefix(uid, u.site.uidPrefix), "_")
		ix := u.content.indexes[u.site.uidPrefix+live]
		have, err := u.settings(ctx, uid)
		return u.content.restored && err == nil && ix != nil && !have.lacks(u.site.settingsOf(ix))
	})
	for _, uid := range append(unwanted, begun...) {
		if err := u.drop(ctx, uid); err != nil {
			return err
		}
	}
	u.note(func(k *known) { k.dimensions, k.missingVectors = dimensions, missingVectors })
	return failedEmbedder
}

// plan is what to change in one index of a server.
type plan struct {
	*languageIndex
	exists      bool
	settings    settings
	newSettings bool
	// rebuild: a new index is filled and swapped in.
	rebuild bool
	held    map[recordID]string
	add     []location
	// different is which sections differ, "" if none do.
	different string
	remove    []string // IDs
	// embedders are those of the index as it is.
	embedders map[string]embedder
	// dimensions and missingVectors: see replica.
	dimensions     int
	missingVectors bool
}

// plan compares an index of a server with ix.
func (u *update) plan(ctx context.Context, ix *languageIndex, exists bool) (*plan, error) {
	p := &plan{languageIndex: ix, exists: exists, settings: u.site.settingsOf(ix), newSettings: true, dimensions: noDimensions}
	own := u.site.options.Embedder
	var live settings
	if exists {
		var err error
		if live, err = u.settings(ctx, ix.uid); err != nil {
			return nil, err
		}
		if p.held, p.remove, err = u.ids(ctx, ix); err != nil {
			return nil, err
		}
		p.embedders = live.embedders()
		u.keepVectors(ix, p.settings, p.embedders)
		p.newSettings = live.lacks(p.settings)
	}
	if u.site.options.ServerRanking && !ix.view {
		p.settings.beginOrder(live)
	}
	p.settings.keep(live)
	if e, ok := p.settings["embedders"].(settings); ok {
		p.dimensions = e[vectorName].(settings)["dimensions"].(int)
	}
	if e, ok := p.embedders[own]; ok && own != "" && e.source != userProvided {
		p.dimensions = 0
	}
	c := u.content
	mark := u.site.vectorMark
	add, remove, missing := c.changes(ix, p.held, func(has string, wanted bool) bool {
		p.missingVectors = p.missingVectors || has == "" && wanted && c.restored
		switch {
		case ix.view:
			return false
		case own != "":
			return has != "" && (has != failedVector || p.dimensions == 0)
		case has != "" && has != failedVector && has != mark: // of another model
			return wanted && c.vectors != nil || u.site.options.Model != ""
		}
		return has != mark && wanted && c.vectors != nil
	})
	for _, at := range add { // records that were lost with their vectors
		p.missingVectors = p.missingVectors || c.restored && !ix.view && own == "" && c.pages[at.page].embedded(at.section)
	}
	p.add, p.remove = add, append(p.remove, remove...)
	if missing+len(p.remove) > 0 {
		p.different = fmt.Sprintf("lacks %d of %d sections and has %d others", missing, ix.sections, len(p.remove))
	}
	inPlace := own != "" || ix.view // an embedder's secret can't be copied to a new index
	if n := len(p.add) + len(p.remove); !inPlace {
		p.rebuild = !exists || p.newSettings || n > rebuildFrom && float64(n) > rebuildShare*float64(ix.sections)
	}
	if u.rewrite {
		p.rebuild, p.add = !inPlace, c.all(ix)
	}
	return p, nil
}

// keepVectors adds to the settings the embedder of the vectors that an index
// has, of sections of which this process has none.
func (s *replica) keepVectors(ix *languageIndex, want settings, embedders map[string]embedder) {
	e := embedders[vectorName]
	if s.site.options.Embedder == "" && !ix.view && want["embedders"] == nil && e.source == userProvided && e.dimensions > 0 {
		want.expectVectors(e.dimensions)
	}
}

// records makes the records of a list, which finish may change. A section of
// which this process has no vector keeps that of the live index.
func (u *update) records(ctx context.Context, p *plan, list []location, finish func(*record)) iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		at := location{page: -1}
		var d *retrieval.Document
		var vectors [][]float32
		var terms []words.SectionTerms
		for batch := range slices.Chunk(list, vectorPage) {
			stored, err := u.storedVectors(ctx, p, batch)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, next := range batch {
				if next.page != at.page {
					if d, err = u.site.stored(u.content.outlines[next.page]); err != nil {
						yield(nil, err)
						return
					}
					_, terms = words.Analyze(words.CountPage(d))
					if vectors = nil; u.content.vectors != nil {
						vectors = u.content.vectors(next.page)
					}
				}
				at = next
				r := newRecord(d, at.section, terms[at.section].Terms)
				if p.view {
					// The server neither filters by an empty value nor groups by it.
					r.Terms, r.Page = nil, cmp.Or(r.Page, "/")
				} else if p.dimensions > 0 {
					r.Vectors[vectorName] = nil // the server requires a value for every record
					v := stored[u.content.pages[at.page].IDs[at.section]]
					if u.content.pages[at.page].embedded(at.section) && at.section < len(vectors) {
						v = retrieval.Normalized(vectors[at.section])
					}
					if len(v) == p.dimensions {
						r.Vectors[vectorName], r.Vector = &vector{Embeddings: [][]float32{v}}, u.site.vectorMark
					}
				}
				finish(r)
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// storedVectors returns the vectors that a live index has of sections, of which
// this process has none.
func (u *update) storedVectors(ctx context.Context, p *plan, list []location) (map[recordID][]float32, error) {
	var ids []string
	for _, at := range list {
		state := &u.content.pages[at.page]
		if id := state.IDs[at.section]; p.held[id] == u.site.vectorMark && (u.content.vectors == nil || !state.embedded(at.section)) {
			ids = append(ids, formatID(id))
		}
	}
	return u.vectorsOf(ctx, p.uid, ids)
}

// vectorsOf returns the vectors of this process's model that an index has.
func (s *replica) vectorsOf(ctx context.Context, uid string, ids []string) (map[recordID][]float32, error) {
	found := make(map[recordID][]float32, len(ids))
	for list := range slices.Chunk(ids, vectorPage) {
		query := documentQuery{Limit: vectorPage, IDs: list, Fields: []string{"id", "vector"}, RetrieveVectors: true}
		err := documents(ctx, s.server, uid, query, func(r *record) {
			id, ok := parseID(r.ID)
			if v := r.Vectors[vectorName]; ok && v != nil && len(v.Embeddings) == 1 && r.Vector == s.site.vectorMark {
				found[id] = v.Embeddings[0]
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
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
