package site

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
	"github.com/caddy-docs/caddy-docs/retrieval/source"
	"github.com/caddy-docs/caddy-docs/store"
)

// Index is a site's index, which is refreshed in the background, and the
// search in it. Configurations that agree on everything that shapes it share
// one, so that a reload does not index again. Replies in progress hold it too.
type Index struct {
	retrieval.Index
	Dir       string // of the site's data
	Refresher *retrieval.Sources
	Embedder  retrieval.Embedder      // nil for none
	queries   *retrieval.QueryVectors // embeds queries, nil without an embedder
	markdown  *markdownPages
	Moved     *moved.Memory // the site's former addresses
	group     *groupSource  // nil for a site
	language  atomic.Pointer[pagesLanguage]
	cancel    context.CancelFunc
	// Looked is closed after the first refresh.
	Looked chan struct{}
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
func (c *Index) defaultLanguage() string {
	generation := c.Refresher.Generation() // counts after the index has the pages
	if known := c.language.Load(); known != nil && known.generation == generation {
		return known.language
	}
	documents := c.Index.Documents()
	known := &pagesLanguage{generation, ingest.DefaultLanguage(documents)}
	if len(documents) > 0 { // else the first pages would be searched without a language
		c.language.Store(known)
	}
	return known.language
}

// manySections is the number of sections from which on the memory that was used
// to build, load or send an index is returned to the system.
const manySections = 2000

// idleSite is how long after its last search the index of a site leaves memory if
// it is one of the folders of a pattern, of which there may be a thousand.
const idleSite = time.Minute

// reloadWait is how long a reload waits for the first pages of an index that has
// nothing on disk to load, while the running configuration still serves.
const reloadWait = 10 * time.Second

// IndexSettings are the options of NewIndex. Dir holds all data of the site.
type IndexSettings struct {
	options.IndexOptions
	Config    *options.Site
	Indexes   options.IndexOpener
	Embedders options.EmbedderOpener // nil for none
	Watcher   *source.Watcher
	// Members are the sites of a group, whose pages the index has; nil for a site.
	Members *Newest[func() []*Site]
	// Limit has room for the refreshes at a time, for a site of folders; nil for
	// others.
	Limit chan struct{}
	// Reload is true if the site is served already.
	Reload bool
	// Started ends once requests are accepted. Before that, nothing is loaded or
	// read, unless in a reload. nil: they are.
	Started <-chan struct{}
}

// NewIndex makes a site's index and begins to refresh it. It waits for that only
// in a reload, and not for servers.
func NewIndex(b IndexSettings) (*Index, error) {
	s, dir, log := b.Config, b.Dir, b.Log.With("site", b.Site)
	c := &Index{Dir: dir, Looked: make(chan struct{}), done: make(chan struct{}), markdown: &markdownPages{
		sources: make(map[string]*markdownSource), written: &store.Recent[[]byte]{Max: maxWritten / 2},
	}}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.Moved = moved.Open(filepath.Join(dir, "addresses.bin"), log)
	o := b.IndexOptions
	o.Dir, o.Synonyms, o.StopWords, o.Log = filepath.Join(dir, "index"), s.Synonyms, s.StopWords, log
	if b.Limit != nil && b.Embedders == nil { // embedding reads the texts
		o.Idle = idleSite
		o.Lost = func() { go func() { _, _ = c.Refresher.Refresh(ctx) }() } // its errors are in the log
	}
	var err error
	if b.Embedders != nil {
		if c.Embedder, err = b.Embedders.OpenEmbedder(log); err != nil {
			cancel()
			return nil, err
		}
		o.Model = c.Embedder.Model()
	}
	if c.Index, err = b.Indexes.OpenIndex(o); err != nil {
		cancel()
		return nil, err
	}
	var restore func(context.Context, func(done, total int))
	if x, ok := c.Index.(*embedded.Index); ok {
		restore = x.Restore
	}
	var names []string
	var refreshers []retrieval.RefresherOptions
	var unlooked atomic.Int64
	add := func(name, source, suffix string, o retrieval.RefresherOptions) {
		unlooked.Add(1)
		looked := sync.OnceFunc(func() {
			if unlooked.Add(-1) == 0 {
				close(c.Looked)
			}
		})
		o.Site, o.Index, o.Embedder, o.Restore, o.Limit, o.OnVectors = b.Site, c.Index, c.Embedder, restore, b.Limit, ReturnMemory
		o.Dir = filepath.Join(dir, "pages"+suffix)
		o.OnReport = func(report retrieval.Report, err error) {
			c.refreshed(b.Site, source, report, err)
			looked()
		}
		names, refreshers = append(names, name), append(refreshers, o)
	}
	if b.Members != nil {
		c.group = &groupSource{members: b.Members}
		add("group", "", "", retrieval.RefresherOptions{Source: c.group, Ingester: c.group, Vectors: c.group.vectors, Log: b.Log})
	}
	sources := s.AllSources()
	for i, named := range sources {
		in := ingest.New(ingest.Options{
			URL: s.URL, CleanURLs: s.CleanURLs, Anchors: s.Anchors,
			Versions: scopes(s.Versions), Languages: scopes(s.Languages), Kinds: scopes(s.Kinds),
			Include: s.Include, Exclude: s.Exclude,
		})
		src, err := named.OpenSource(options.SourceOptions{URL: s.URL, Wants: in.Wants, Page: c.markdown.pageOf, Watcher: b.Watcher, Log: log})
		if err != nil {
			cancel()
			_ = c.Index.Close()
			return nil, fmt.Errorf("source %s: %w", named.Name, err)
		}
		name, suffix, ownLog := "", "", b.Log // of the first, which may be the only one, today or later
		if len(sources) > 1 {
			ownLog = b.Log.With("source", named.Name)
		}
		if i > 0 {
			sum := sha256.Sum256([]byte(named.Name))
			name, suffix = named.Name, "-"+hex.EncodeToString(sum[:6])
		}
		add(named.Name, name, suffix, retrieval.RefresherOptions{
			Source: src, Origin: named.Describe(), Log: ownLog,
			Ingester: c.markdown.add(name, in, src, filepath.Join(dir, "markdown"+suffix), log),
			OnReplace: func(ctx context.Context, documents []*retrieval.Document) func() {
				before := c.Index.Documents()
				after := slices.DeleteFunc(slices.Clone(before), func(d *retrieval.Document) bool { return d.Source == name })
				return c.Moved.Replace(ctx, before, append(after, documents...), c.Index.Page)
			},
		})
	}
	c.Refresher = retrieval.NewSources(names, refreshers)
	if c.Embedder != nil {
		// Queries are not worth embedding while there are no vectors, nor if they
		// count for nothing.
		counts := b.SemanticRatio == nil || *b.SemanticRatio != 0
		c.queries = retrieval.NewQueryVectors(c.Embedder, func() bool { return counts && c.Refresher.HasVectors() }, log)
	}
	c.holders.Store(1)
	go func() {
		defer close(c.done)
		if b.Started != nil && !b.Reload {
			select {
			case <-b.Started:
			case <-time.After(time.Second): // Caddy calls the event experimental
			case <-ctx.Done():
				return
			}
		}
		if err := c.Refresher.Run(ctx); err != nil && ctx.Err() == nil {
			log.Error("refreshing the index has stopped; restart or reload Caddy", "error", err)
		}
	}()
	if b.Reload && b.Limit == nil && restore != nil && len(c.Index.Documents()) == 0 {
		select {
		case <-c.Looked:
		case <-time.After(reloadWait):
		}
	}
	return c, nil
}

// refreshed is called after each refresh of a source.
func (c *Index) refreshed(site, source string, report retrieval.Report, err error) {
	outcome := "unchanged"
	switch {
	case err != nil:
		outcome = "failed"
	case report.Published:
		outcome = "new"
	}
	observe.Metrics.Refreshes.WithLabelValues(site, outcome).Inc()
	observe.Metrics.Pages.WithLabelValues(site).Set(float64(len(c.Index.Documents())))
	if m, ok := c.Index.(*meilisearch.Index); ok {
		m.CheckSoon()
	}
	// The pages of other sources stay: what they have read may not be published yet.
	if s := c.markdown.sources[source]; report.Published && s != nil && s.fetched != nil {
		s.fetched.clean(c.Index.Documents())
	}
	if report.Published || err == nil && report.Generation == 0 {
		ReturnMemory(report.Sections)
	}
}

// ReturnMemory returns the memory that publishing a site with so many sections
// took.
func ReturnMemory(sections int) {
	if sections >= manySections {
		retrieval.ReturnMemory()
	}
}

func scopes(in []options.Scope) []ingest.Scope {
	out := make([]ingest.Scope, len(in))
	for i, s := range in {
		out[i] = ingest.Scope(s)
	}
	return out
}

// Loads returns where readers may get the API description that a document is of,
// and its bytes, nil for other documents. See reach.Options.
func (c *Index) Loads(d *retrieval.Document) (paths []string, data []byte) {
	s := c.markdown.sources[d.Source]
	if s == nil || s.api == nil {
		return nil, nil
	}
	if paths, data = s.api.Served(); data == nil {
		return nil, nil
	}
	for _, other := range c.markdown.sources {
		if other.folder == nil {
			continue
		}
		if rel, err := filepath.Rel(other.folder.Root, s.api.File); err == nil && filepath.IsLocal(rel) {
			paths = append(paths, other.folder.Below+filepath.ToSlash(rel))
		}
	}
	return paths, data
}

// hasLooked reports whether the first refresh has ended.
func (c *Index) hasLooked() bool {
	select {
	case <-c.Looked:
		return true
	default:
		return false
	}
}

// acquire holds the index unless it is closed.
func (c *Index) acquire() bool {
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

func (c *Index) release() {
	if c.holders.Add(-1) == 0 {
		_ = c.Index.Close()
	}
}

// Destruct ends the refreshing. The index closes once the last reply that
// holds it has ended.
func (c *Index) Destruct() error {
	c.cancel()
	<-c.done
	c.release()
	return nil
}

// ReadPage returns the file of a page, of a source that is a folder. made reports
// that the page was made of what the file has now, as far as is known: an index of
// an older release doesn't say.
func (c *Index) ReadPage(d *retrieval.Document) (data []byte, made bool, err error) {
	s := c.markdown.sources[d.Source]
	if s == nil || s.folder == nil {
		return nil, false, fs.ErrNotExist
	}
	data, err = s.folder.ReadPage(d.File)
	return data, err == nil && (d.FileSum == 0 || d.FileSum == retrieval.SumOf(data)), err
}

// Embeddings counts the queries for which an embedder, or one in the
// Meilisearch servers' settings, was to make a vector; ok is false where there
// is none.
func (c *Index) Embeddings() (counts retrieval.QueryVectorCounts, ok bool) {
	if c.queries != nil {
		return c.queries.Counts(), true
	}
	if x, ok := c.Index.(*meilisearch.Index); ok {
		return x.EmbedderCounts()
	}
	return counts, false
}
