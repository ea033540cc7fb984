// Package meilisearch is a search index in Meilisearch servers. The servers
// store the sections and find candidates by keywords and vectors, which this
// process scores and orders as the embedded index does. In memory it has a table
// of the site's words and the outlines of the pages, but no texts, unless it is
// the fallback.
package meilisearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/disk"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// Options are the options of an Index. URLs and Site are required.
type Options struct {
	// URLs are those of independent servers, valid and without keys. Each holds everything: all are
	// written, one is searched, and the next if that fails.
	URLs []string
	// Site is part of the names of the indexes, <Prefix>-<Site>-<language>.
	Site string
	// Prefix is the beginning of those names. Default: "docs".
	Prefix string
	// Key is the key for indexing. SearchKey, if not empty, is for searches.
	Key, SearchKey string
	// ViewKey, if not empty, is what other clients search the views with, which
	// are then kept: indexes of the public pages alone, see Index.SetPublic.
	ViewKey string
	// Model is the model of the vectors that are given to Replace; "" if none are.
	Model string
	// SemanticRatio is the share of vectors in a hybrid search, 0–1; nil: 0.5.
	SemanticRatio *float64
	// Embedder is the name of an embedder in the settings of the servers'
	// indexes, which then makes all vectors.
	Embedder string
	// ServerRanking leaves the order of results to the servers' own search.
	ServerRanking bool
	// Fallback makes this process answer searches when no server does.
	Fallback bool
	// Dir keeps the pages between runs. See embedded.Options.
	Dir string
	// Synonyms and StopWords are as in embedded.Options.
	Synonyms  [][]string
	StopWords []string
	// Owner, if not nil, returns who the indexes belong to. Those of another
	// owner are neither searched nor written.
	Owner func(ctx context.Context) (Owner, error)
	// CheckInterval is how often the servers are compared with what they should
	// hold. Default: a minute.
	CheckInterval time.Duration
	// Locker is the lock of all programs that write to the servers. Lock waits
	// until it is held or ctx is done. nil: no other program writes.
	Locker interface {
		Lock(ctx context.Context, name string) error
		Unlock(ctx context.Context, name string) error
	}
	// Timeouts limit calls that somebody waits for.
	Timeouts Timeouts
	// Log; nil: slog.Default().
	Log *slog.Logger
}

// Timeouts limit calls that somebody waits for. One that is zero has its
// default.
type Timeouts struct {
	// Probe is for a server's version, and for all that Open asks. Default: 1 s.
	Probe time.Duration
	// Search is for a search on all servers together. Default: 1.8 s.
	Search time.Duration
	// Server is for a search on one server if there is another one or a
	// fallback. Default: 0.8 s.
	Server time.Duration
	// Embedder is for a search with a server's embedder. Default:
	// retrieval.DefaultQueryDeadline.
	Embedder time.Duration
}

// Index implements retrieval.Index.
type Index struct {
	options               Options
	log                   *slog.Logger
	uidPrefix, viewPrefix string
	vectorMark            string
	ratio                 float64
	wording               *words.Wording
	store                 *disk.Log
	local                 *embedded.Index // the fallback; nil without one
	servers               []*replica

	// target is what the servers should hold, nil before the first pages.
	target atomic.Pointer[content]
	// public reports whether a page is public, nil until that is known.
	public atomic.Pointer[func(*retrieval.Document) bool]
	// lost is true if the data folder lacks documents of the target.
	lost atomic.Bool
	// noVectors is true if the fallback was filled without vectors.
	noVectors atomic.Bool
	// writing holds an element while a goroutine writes to the servers.
	writing chan struct{}

	narrowing sync.Mutex
	narrowed  []*narrowedSet // the latest first

	stop       context.CancelFunc
	background sync.WaitGroup

	embedder retrieval.EmbedderCalls // that of the servers

	mu     sync.Mutex
	counts Counts
	warned map[string]time.Time // by when a repeating warning was logged
}

// Counts counts searches by outcome, for metrics.
type Counts struct {
	// Answered searches were answered by a server, KeywordOnly ones, too, but
	// without the vectors that they should have used. Fallback ones were
	// answered by this process, and Failed ones not at all.
	Answered, KeywordOnly, Fallback, Failed uint64
}

var (
	_ retrieval.Index  = (*Index)(nil)
	_ retrieval.Remote = (*Index)(nil)
)

// Open returns the index of a site. It fails if a server answers and is too
// old. Servers that don't answer are tried again in the background.
func Open(o Options) (*Index, error) {
	o.Prefix = cmp.Or(o.Prefix, "docs")
	o.CheckInterval = cmp.Or(o.CheckInterval, defaultCheckInterval)
	t := &o.Timeouts
	t.Probe, t.Search = cmp.Or(t.Probe, time.Second), cmp.Or(t.Search, 1800*time.Millisecond)
	t.Server, t.Embedder = cmp.Or(t.Server, 800*time.Millisecond), cmp.Or(t.Embedder, retrieval.DefaultQueryDeadline)
	x := &Index{
		options: o, log: cmp.Or(o.Log, slog.Default()), uidPrefix: uidPrefix(o.Prefix, o.Site), viewPrefix: viewPrefix(o.Prefix, o.Site), vectorMark: vectorMark(o.Model), ratio: .5,
		writing: make(chan struct{}, 1), warned: map[string]time.Time{},
		embedder: retrieval.EmbedderCalls{Deadline: t.Embedder},
	}
	if o.SemanticRatio != nil {
		x.ratio = *o.SemanticRatio
	}
	for _, u := range o.URLs {
		x.servers = append(x.servers, newReplica(x, strings.TrimRight(u, "/")))
	}
	var err error
	if x.wording, err = words.NewWording(o.Synonyms, o.StopWords); err != nil {
		return nil, err
	}
	x.store = disk.NewLog(o.Dir)
	var restoring sync.WaitGroup
	restoring.Go(x.restore) // while the servers are asked
	err = x.checkServers()
	restoring.Wait()
	if err != nil {
		return nil, err
	}
	switch {
	case o.Fallback:
		if x.local, err = embedded.Open(embedded.Options{Dir: o.Dir, Synonyms: o.Synonyms, StopWords: o.StopWords, SemanticRatio: o.SemanticRatio, Log: x.log}); err != nil {
			return nil, err
		}
		x.local.Restore(context.Background(), func(int, int) {})
	case o.Dir != "":
		embedded.RemoveSnapshot(o.Dir) // of a fallback that is no longer configured
	}
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	if c := x.target.Load(); c != nil && x.local != nil && x.local.Documents() == nil {
		x.background.Go(func() { // an earlier run had no fallback
			if err := x.replaceFallback(ctx, c.outlines, nil); err != nil {
				x.log.Warn("the fallback index could not be filled; will retry when pages change", "error", err)
				return
			}
			x.noVectors.Store(c.mean != nil)
		})
	}
	for _, s := range x.servers {
		x.background.Go(func() { s.watch(ctx) })
		x.background.Go(func() { s.maintain(ctx) })
	}
	return x, nil
}

// checkServers fails if a server is too old, and logs what else is wrong.
func (x *Index) checkServers() error {
	ctx, cancel := context.WithTimeout(context.Background(), x.options.Timeouts.Probe)
	defer cancel()
	errs := make([]error, len(x.servers))
	var group sync.WaitGroup
	for i, s := range x.servers {
		group.Go(func() {
			err := s.probe(ctx)
			switch {
			case errors.Is(err, errTooOld):
				errs[i] = err
			case err != nil:
				x.log.Warn("a Meilisearch server is not responding yet; will retry", "server", s.url, "error", err)
			default:
				if s.version != "" && older(s.version, recommendedVersion) {
					x.log.Warn("a later version of Meilisearch is recommended", "server", s.url, "version", s.version, "recommended", recommendedVersion)
				}
				s.checkAccess(ctx, 0)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// checkKeys checks what the keys of a server permit, and logs it if that has
// changed.
func (s *replica) checkKeys(ctx context.Context) {
	before, began := s.now().lacking, time.Now()
	if err := s.checkRights(ctx, s.site.uidPrefix); err != nil {
		s.unavailable(began, err)
		return
	}
	switch lacking := s.now().lacking; {
	case lacking == nil && before != nil:
		s.site.log.Info("the configured keys now have all the permissions they need", "server", s.url)
	case lacking != nil && (before == nil || before.Error() != lacking.Error()):
		s.site.log.Error("a Meilisearch server refuses the configured keys", "server", s.url, "error", lacking, "do", lacking.remedy(s.site.uidPrefix))
	}
}

// Mark returns a Marker of the words of a query, as this process finds them.
func (x *Index) Mark(q retrieval.Query) retrieval.Marker {
	if c := x.target.Load(); c != nil {
		if n, err := x.narrow(context.Background(), c, q.Pages); err == nil {
			return n.statistics.Mark(q)
		}
	} else if x.local != nil {
		return x.local.Mark(q)
	}
	return func(string) []retrieval.Span { return nil }
}

// Page returns the document of a page, or nil if there is none. It is on disk
// unless this process has not read the site yet; then a server has it.
func (x *Index) Page(ctx context.Context, page string) (*retrieval.Document, error) {
	if c := x.target.Load(); c != nil {
		if at, ok := c.byPage[page]; ok {
			return x.whole(ctx, c, c.outlines[at])
		}
	}
	return nil, nil
}

// Documents returns outlines of the current documents. After some were lost
// from the data folder there are none, so that all are read again.
func (x *Index) Documents() []*retrieval.Document {
	if c := x.target.Load(); c != nil && !x.lost.Load() {
		return c.outlines
	}
	return nil
}

// LacksVectors reports whether, after a start, a server or the fallback has
// sections without vectors.
func (x *Index) LacksVectors() bool {
	c := x.target.Load()
	return x.noVectors.Load() || c != nil && c.restored && slices.ContainsFunc(x.servers, func(s *replica) bool { return s.now().missingVectors })
}

// Counts returns the counts of searches since the index was opened.
func (x *Index) Counts() Counts {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.counts
}

// EmbedderCounts returns the counts of queries that the servers' embedder was
// asked to embed. ok is false if this process embeds queries.
func (x *Index) EmbedderCounts() (counts retrieval.QueryVectorCounts, ok bool) {
	return x.embedder.Counts(), x.options.Embedder != ""
}

func (x *Index) count(n *uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	*n++
}

// warnInterval is the least time between two equal warnings about searches.
const warnInterval = time.Minute

// warn logs a warning that every search could repeat.
func (x *Index) warn(message, server string, err error) {
	x.mu.Lock()
	key, now := server+message, time.Now()
	recent := now.Sub(x.warned[key]) < warnInterval
	if !recent {
		x.warned[key] = now
	}
	x.mu.Unlock()
	if !recent {
		x.log.Warn(message, "server", server, "error", err)
	}
}

// Keep stores a document on disk, and returns its outline.
func (x *Index) Keep(d *retrieval.Document) (*retrieval.Document, error) {
	data, err := json.Marshal(d)
	if err == nil {
		err = x.store.Put(d.Key(), data)
	}
	if err != nil {
		return nil, fmt.Errorf("keeping the page %q on disk: %w", d.Page, err)
	}
	return d.NewOutline(), nil
}

// stored returns the document of an outline from disk.
func (x *Index) stored(d *retrieval.Document) (*retrieval.Document, error) {
	if !d.Outline {
		return d, nil
	}
	var full retrieval.Document
	data, err := x.store.Get(d.Key())
	if err == nil {
		err = jsonv2.Unmarshal(data, &full, lenient)
	}
	if err != nil {
		return nil, fmt.Errorf("page %q: %w", d.Page, err)
	}
	return d.Whole(&full), nil
}

// Replace makes documents the content of all servers. It returns when those that
// can be reached have it. The others get it when they are back. If none can be
// reached, that is not an error. If a server refuses the content, the previous
// content stays.
func (x *Index) Replace(ctx context.Context, documents []*retrieval.Document, vectors func(int) [][]float32) error {
	outlines := slices.Clone(documents)
	for i, d := range outlines {
		if d.Outline {
			continue
		}
		var err error
		if outlines[i], err = x.Keep(d); err != nil {
			return err
		}
	}
	sent := vectors
	if x.options.Embedder != "" {
		sent = nil // the servers make their own
	}
	public := x.public.Load()
	c, err := x.newContent(outlines, x.target.Load(), sent)
	if errors.Is(err, disk.ErrMissing) {
		x.lost.Store(true)
	}
	if err != nil {
		return err
	}
	if x.local != nil && x.local.Documents() == nil {
		// The first pages can be searched before the servers have them.
		if err := x.replaceFallback(ctx, outlines, vectors); err != nil {
			return err
		}
	}
	timed, cancel := withProgress(ctx, syncTimeout)
	defer cancel()
	reachable := false
	for _, s := range x.servers {
		s.setOutdated(true)
		s.updates.Record(nil) // new content is tried at once
		s.checkAccess(timed, 0)
		reachable = reachable || s.now().writable()
	}
	// The lock is held until the target has changed: no server may be brought
	// up to date with the previous one in between.
	var unlock func()
	if reachable {
		waiting, cancel := context.WithTimeout(timed, lockWait)
		defer cancel()
		if unlock, err = x.lockServers(waiting); timed.Err() != nil {
			return context.Cause(timed)
		} else if err != nil {
			x.log.Info("an update of the Meilisearch servers is already in progress; the new pages will be sent after it", "sections", c.sections, "lock", err)
			reachable = false
		}
	} else {
		x.log.Warn("no Meilisearch server accepts the new pages; they will be sent later", "sections", c.sections)
	}
	if unlock == nil {
		if unlock, err = x.lockProcess(timed); err != nil {
			return err
		}
	}
	defer unlock()
	if reachable {
		if err := x.syncAll(timed, c); err != nil {
			return err
		}
	}
	if x.local != nil {
		if err := x.replaceFallback(ctx, outlines, vectors); err != nil {
			return err
		}
	}
	x.target.Store(c)
	x.lost.Store(false)
	x.saveState(c)
	if now := x.public.Load(); now != public {
		x.SetPublic(*now)
	}
	return nil
}

// SetPublic tells which pages strangers can open. The views have these pages.
func (x *Index) SetPublic(public func(*retrieval.Document) bool) {
	if x.options.ViewKey == "" {
		return
	}
	x.public.Store(&public)
	for c := x.target.Load(); c.writes(); c = x.target.Load() {
		next := *c
		next.index(x)
		for uid, ix := range c.indexes {
			if !ix.view {
				next.indexes[uid] = ix // with its dimensions
			}
		}
		if maps.EqualFunc(c.indexes, next.indexes, func(a, b *languageIndex) bool { return slices.Equal(a.pages, b.pages) }) {
			return
		}
		if x.target.CompareAndSwap(c, &next) {
			for _, s := range x.servers {
				s.setOutdated(true)
			}
			return
		}
	}
}

// Vectors returns vectors that a server has of sections of the current pages, by
// their numbers in the list. There are none if no server has any.
func (x *Index) Vectors(ctx context.Context, pages []string, sections []int) (found [][]float32) {
	c := x.target.Load()
	found = make([][]float32, len(pages))
	if c == nil {
		return found
	}
	ids, at := map[string][]string{}, map[recordID]int{}
	for i, page := range pages {
		if n, ok := c.byPage[page]; ok && sections[i] < len(c.pages[n].IDs) {
			id, uid := c.pages[n].IDs[sections[i]], x.uidPrefix+baseLanguage(c.outlines[n].Language)
			ids[uid], at[id] = append(ids[uid], formatID(id)), i
		}
	}
	for _, s := range x.order() {
		for uid, list := range ids {
			vectors, err := s.vectorsOf(ctx, uid, list)
			if err != nil && !indexNotFound(err) {
				x.log.Warn("the vectors in a Meilisearch server can't be read", "server", s.url, "error", err)
			}
			for id, v := range vectors {
				found[at[id]] = v
			}
		}
	}
	return found
}

// replaceFallback gives the pages to the index inside the process.
func (x *Index) replaceFallback(ctx context.Context, outlines []*retrieval.Document, vectors func(int) [][]float32) error {
	documents := make([]*retrieval.Document, len(outlines))
	for i, d := range outlines {
		var err error
		if documents[i], err = x.stored(d); err != nil {
			return err
		}
	}
	x.noVectors.Store(false)
	return x.local.Replace(ctx, documents, vectors)
}

// Close ends the work in the background.
func (x *Index) Close() error {
	x.stop()
	x.background.Wait()
	for _, s := range x.servers {
		s.client.CloseIdleConnections()
	}
	x.store.Close()
	if x.local != nil {
		return x.local.Close()
	}
	return nil
}
