package app

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
	"github.com/caddy-docs/caddy-docs/retrieval/source"
)

// siteIndex is a site's index, which is refreshed in the background, and the
// search in it. Configurations that agree on everything that shapes it share
// one, so that a reload does not index again. Replies in progress hold it too.
type siteIndex struct {
	index     retrieval.Index
	queries   *retrieval.QueryVectors // embeds queries, nil without an embedder
	refresher *retrieval.Refresher
	written   *markdownPages
	language  atomic.Pointer[pagesLanguage]
	cancel    context.CancelFunc
	// looked is closed once the pages were looked at for the first time.
	looked chan struct{}
	done   chan struct{}

	// holders counts the pool and the replies in progress; at zero the index is
	// closed.
	holders atomic.Int64
}

// pagesLanguage is the default language of the pages of a generation.
type pagesLanguage struct {
	generation uint64
	language   string
}

// defaultLanguage is preferred if neither request nor configuration names one.
// It is that of the pages which are searched now.
func (c *siteIndex) defaultLanguage() string {
	generation := c.refresher.Generation() // counts after the index has the pages
	if known := c.language.Load(); known != nil && known.generation == generation {
		return known.language
	}
	documents := c.index.Documents()
	known := &pagesLanguage{generation, ingest.DefaultLanguage(documents)}
	if len(documents) > 0 { // else the first pages would be searched without a language
		c.language.Store(known)
	}
	return known.language
}

// sharedWatcher watches the folders of all sites. Configurations share it.
type sharedWatcher struct{ source.Watcher }

type watcherKey struct{}

// Destruct implements caddy.Destructor. The watcher ends with its last folder.
func (*sharedWatcher) Destruct() error { return nil }

type siteIndexKey struct{ hash string }

// manySections is from how many sections on the memory that it took to build,
// load or send an index is returned to the system at once. Go would take minutes,
// in which an operator would see twice what the site needs.
const manySections = 2000

// idleSite is how long after its last search the index of a site of folders,
// of which there may be a thousand, leaves memory.
const idleSite = time.Minute

// openIndex finds or makes a site's index.
func (a *App) openIndex(r *LiveSite) (*siteIndex, error) {
	shape := *r.Config // without what does not shape the index
	shape.Organization, shape.Name, shape.Instructions, shape.SupportURL = "", "", "", ""
	shape.AllowLinks, shape.StarterQuestions, shape.Suggestions, shape.SuggestionsFence, shape.Locks = nil, nil, false, false, ""
	hash, err := hashOf(a.DataDir, r.Name, shape, a.indexHash, a.embedderHash, r.folder != nil)
	if err != nil {
		return nil, err
	}
	return share(&r.holds, siteIndexKey{hash}, func() (*siteIndex, error) { return a.newSiteIndex(r) })
}

// newSiteIndex makes a site's index and begins to refresh it. It does not wait
// for that.
func (a *App) newSiteIndex(r *LiveSite) (*siteIndex, error) {
	s := r.Config
	log := a.ctx.Slogger().With("site", r.Name)
	dir := filepath.Join(a.DataDir, r.Name)
	in, err := ingest.New(ingest.Options{
		URL: s.URL, CleanURLs: s.CleanURLs, Anchors: s.Anchors,
		Versions: scopes(s.Versions), Languages: scopes(s.Languages), Kinds: scopes(s.Kinds),
		Include: s.Include, Exclude: s.Exclude,
	})
	if err != nil {
		return nil, err
	}
	src, err := openSource(s, in, &a.watcher.Watcher, log)
	if err != nil {
		return nil, err
	}
	c := &siteIndex{looked: make(chan struct{}), done: make(chan struct{}), written: &markdownPages{ingester: in}}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	o := IndexOptions{Site: r.Name, Dir: filepath.Join(dir, "index"), Synonyms: s.Synonyms, StopWords: s.StopWords, SemanticRatio: a.semanticRatio(), Locker: a.store, Log: log}
	_, o.Reload = shared.References(replySlotsKey{r.Name}) // which each live site has
	if r.folder != nil && a.embedders == nil { // embedding reads the texts
		o.Idle = idleSite
		o.Lost = func() { go func() { _, _ = c.refresher.Refresh(ctx) }() } // its errors are in the log
	}
	if c.index, err = a.indexes.OpenIndex(o); err != nil {
		cancel()
		return nil, err
	}
	var embedder retrieval.Embedder
	if a.embedders != nil {
		if embedder, err = a.embedders.OpenEmbedder(log); err != nil {
			cancel()
			c.index.Close()
			return nil, err
		}
	}
	var ingester retrieval.Ingester = in
	if folder, ok := src.(*source.Folder); ok {
		c.written.folder = folder
	} else {
		c.written.fetched = &fetchedPages{Ingester: in, dir: filepath.Join(dir, "markdown"), log: log}
		ingester = c.written.fetched
	}
	var limit chan struct{}
	if r.folder != nil {
		limit = a.refreshing
	}
	looked := sync.OnceFunc(func() { close(c.looked) })
	var restore func(context.Context, func(done, total int))
	if x, ok := c.index.(*embedded.Index); ok {
		restore = x.Restore
	}
	c.refresher = retrieval.NewRefresher(retrieval.RefresherOptions{
		Site: r.Name, Source: src, Origin: cmp.Or(s.Sitemap, s.Root), Ingester: ingester, Index: c.index, Embedder: embedder,
		Dir: filepath.Join(dir, "pages"), Restore: restore, Limit: limit, Log: a.ctx.Slogger(),
		OnReport: func(report retrieval.Report, err error) {
			c.refreshed(r.Name, report, err)
			looked()
		},
		OnVectors: returnMemory,
	})
	if embedder != nil {
		c.queries = retrieval.NewQueryVectors(retrieval.QueryVectorsOptions{Embedder: embedder, Ready: a.vectorsReady(c.refresher), Log: log})
	}
	c.holders.Store(1)
	go func() {
		defer close(c.done)
		if err := c.refresher.Run(ctx); err != nil && ctx.Err() == nil {
			log.Error("the index is no longer refreshed", "error", err)
		}
	}()
	return c, nil
}

// vectorsReady reports whether queries are worth embedding: not while there are
// no vectors, nor if they count for nothing.
func (a *App) vectorsReady(refresher *retrieval.Refresher) func() bool {
	if ratio := a.semanticRatio(); ratio != nil && *ratio == 0 {
		return func() bool { return false }
	}
	return refresher.HasVectors
}

// refreshed follows a look at the pages.
func (c *siteIndex) refreshed(site string, report retrieval.Report, err error) {
	outcome := "unchanged"
	switch {
	case err != nil:
		outcome = "failed"
	case report.Published:
		outcome = "new"
	}
	collectors.refreshes.WithLabelValues(site, outcome).Inc()
	collectors.pages.WithLabelValues(site).Set(float64(report.Pages))
	if m, ok := c.index.(*meilisearch.Index); ok {
		m.CheckSoon()
	}
	if report.Published && c.written.fetched != nil {
		c.written.fetched.clean(c.index.Documents())
	}
	if report.Published || err == nil && report.Generation == 0 {
		returnMemory(report.Sections)
	}
}

// returnMemory returns the memory that publishing a site with so many sections
// took, in the background.
func returnMemory(sections int) {
	if sections >= manySections {
		go debug.FreeOSMemory()
	}
}

func scopes(in []Scope) []ingest.Scope {
	out := make([]ingest.Scope, len(in))
	for i, s := range in {
		out[i] = ingest.Scope{Value: s.Value, Paths: s.Paths}
	}
	return out
}

// openSource is the folder or the sitemap that a site's pages come from.
func openSource(s *Site, in *ingest.Ingester, watcher *source.Watcher, log *slog.Logger) (retrieval.Source, error) {
	if s.Sitemap != "" {
		if _, err := source.ParseSitemapURL(s.Sitemap); err != nil {
			return nil, err
		}
		return &source.Sitemap{
			URL: s.Sitemap, Site: s.URL, Wants: in.Wants, AllowPrivate: s.AllowPrivate,
			Interval: time.Duration(s.PollInterval), MaxPage: ingest.MaxBytes,
		}, nil
	}
	mode, err := source.ParseWatchMode(s.Watch)
	if err != nil {
		return nil, err
	}
	return &source.Folder{
		Root: s.Root, Wants: in.Wants, MaxPage: ingest.MaxBytes,
		Mode: mode, Interval: time.Duration(s.PollInterval), Watcher: watcher, Log: log,
	}, nil
}

// acquire holds the index unless it is closed.
func (c *siteIndex) acquire() bool {
	for {
		n := c.holders.Load()
		if n == 0 {
			return false
		}
		if c.holders.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (c *siteIndex) release() {
	if c.holders.Add(-1) == 0 {
		_ = c.index.Close()
	}
}

// Destruct ends the refreshing. The index closes once the last reply that
// holds it has ended.
func (c *siteIndex) Destruct() error {
	c.cancel()
	<-c.done
	c.release()
	return nil
}
