package retrieval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/caddy-docs/caddy-docs/retrieval/disk"
)

const (
	// quiet is how long nothing must change before a refresh begins, so that
	// a build that writes a thousand files makes one generation. maxBurst is
	// when it begins even if files keep changing.
	quiet    = 250 * time.Millisecond
	maxBurst = time.Second
	// Pauses before the next refresh, doubled up to the maximum: after a
	// refresh that failed, and after one that could not read some pages.
	refreshRetry    = 2 * time.Second
	maxRefreshRetry = 5 * time.Minute
	pageRetry       = time.Minute
	maxPageRetry    = time.Hour
	// A file without a version that is younger than youngAge has one soon. It
	// is looked at again after youngRetry; otherwise the next change would
	// read all files of a deploy again.
	youngAge   = 10 * time.Second
	youngRetry = 3 * time.Second
	// maxAttempts is how often a refresh starts over because a deploy replaced
	// the folder meanwhile.
	maxAttempts = 5
)

// RefresherOptions are the options of a Refresher. Source, Ingester and Index
// are required.
type RefresherOptions struct {
	// Site is the site's name in the log.
	Site   string
	Source Source
	// Origin names what Source reads: a folder or a URL. The files of another
	// one are not those of the last run, so that none of them is missing.
	Origin   string
	Ingester Ingester
	Index    Index
	// Embedder, if not nil, makes vectors for the sections.
	Embedder Embedder
	// Vectors, if not nil, returns those of texts that others have, nil for those
	// that they don't have yet. Embedder is then asked for none.
	Vectors func(ctx context.Context, keys []disk.Key) [][]float32
	// Dir is where the Refresher keeps its state between runs; "" keeps none.
	// It is created if missing and must not be shared with another site.
	Dir string
	// Restore, if not nil, loads what an earlier run left in Index, which may
	// take seconds, before the first refresh. It ends when ctx is done.
	Restore func(ctx context.Context, progress func(done, total int))
	// Limit, if not nil, has room for the refreshes at a time of the Refreshers
	// that share it.
	Limit chan struct{}
	// Log; nil: slog.Default().
	Log *slog.Logger
	// OnReplace, if not nil, is called when documents are about to replace those of
	// Index, and what it returns once they have.
	OnReplace func(ctx context.Context, documents []*Document) (replaced func())
	// OnReport, if not nil, is called after each refresh. It must not block.
	OnReport func(Report, error)
	// OnVectors, if not nil, is called after new vectors of a site with so many
	// sections were published. It must not block.
	OnVectors func(sections int)

	part *part // Index, of a site with several sources
}

// Refresher keeps an index up to date with its source: it lists the source,
// reads what changed and publishes a new generation as a whole. Pages that
// can't be read are reported and left out. If the source itself fails, or
// lost most of its pages, the previous generation stays.
//
// Vectors are made after a generation is published. Until then, search uses
// keywords.
type Refresher struct {
	options    RefresherOptions
	log        *slog.Logger
	embeddings *embeddings // nil without an embedder

	mu      sync.Mutex
	status  Status
	running context.Context // Run's; nil before
	next    *refreshCall    // requested, not begun
	again   bool            // the next refresh is a rebuild
	calls   sync.WaitGroup  // refreshes in progress

	// lock is held while the index is changed or the fields below are used.
	lock       *semaphore.Weighted
	table      *pageTable // nil before the first refresh
	documents  []*Document
	hold       hold
	moved      bool                  // the index has the pages of another Origin
	rebuild    bool                  // all pages are read and published
	problems   map[Problem]time.Time // by when each was found
	saveFailed bool
}

// refreshCall is one refresh, for all who requested it.
type refreshCall struct {
	done   chan struct{}
	report Report
	err    error
}

// NewRefresher returns a Refresher for an index.
func NewRefresher(o RefresherOptions) *Refresher {
	r := &Refresher{options: o, log: cmp.Or(o.Log, slog.Default()), lock: semaphore.NewWeighted(1), status: Status{State: Idle}}
	if o.Site != "" {
		r.log = r.log.With("site", o.Site)
	}
	if o.Embedder != nil {
		r.embeddings = newEmbeddings(r)
	}
	return r
}

// Run refreshes the index at once and after every change, until ctx is done.
// When it returns, nothing uses the index any more. Run can be called once.
func (r *Refresher) Run(ctx context.Context) error {
	r.mu.Lock()
	r.running = ctx
	r.mu.Unlock()
	var background sync.WaitGroup
	defer func() {
		background.Wait()
		r.calls.Wait()
	}()
	changes := make(chan struct{}, 1)
	background.Go(func() { r.watch(ctx, changes) })
	if r.embeddings != nil {
		background.Go(func() { r.embeddings.run(ctx) })
	}

	failures := 0 // in a row
	for {
		report, err := r.Refresh(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failures++
		var again <-chan time.Time
		switch {
		case err != nil:
			again = time.After(backoff(refreshRetry, maxRefreshRetry, failures))
		case report.Held != "":
			again, failures = time.After(holdFor), 0
		case report.incomplete:
			again = time.After(backoff(pageRetry, maxPageRetry, failures))
		case report.young:
			again, failures = time.After(youngRetry), 0
		default:
			failures = 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again:
		case <-changes:
			settle(ctx, changes)
		}
	}
}

// watch reports the source's changes. If watching fails, it starts again.
func (r *Refresher) watch(ctx context.Context, changes chan<- struct{}) {
	changed := func() {
		select {
		case changes <- struct{}{}:
		default: // one is waiting already
		}
	}
	for failures := 1; ctx.Err() == nil; failures++ {
		if err := r.options.Source.Watch(ctx, changed); err != nil && ctx.Err() == nil {
			r.log.Warn("watching for changes failed; will retry", "error", err)
		}
		Sleep(ctx, backoff(refreshRetry, maxRefreshRetry, failures))
	}
}

// settle returns when nothing has changed for quiet, at the latest after
// maxBurst.
func settle(ctx context.Context, changes <-chan struct{}) {
	latest := time.After(maxBurst)
	for {
		select {
		case <-ctx.Done():
			return
		case <-latest:
			return
		case <-time.After(quiet):
			return
		case <-changes:
		}
	}
}

// Refresh brings the index up to date and returns what it did. It joins a
// refresh that is requested but has not begun: one in progress may have missed
// the latest change. While Run runs, the refresh continues when ctx is done. A
// Report with Held set is not an error.
func (r *Refresher) Refresh(ctx context.Context) (Report, error) {
	r.mu.Lock()
	call := r.next
	if call == nil {
		call = &refreshCall{done: make(chan struct{})}
		r.next = call
		serveCtx := ctx
		if r.running != nil {
			serveCtx = r.running
		}
		r.calls.Go(func() { r.serve(serveCtx, call) })
	}
	r.mu.Unlock()
	select {
	case <-call.done:
		return call.report, call.err
	case <-ctx.Done():
		return Report{}, ctx.Err()
	}
}

// Rebuild is a Refresh that reads all pages again and publishes them even if
// none has changed.
func (r *Refresher) Rebuild(ctx context.Context) (Report, error) {
	r.mu.Lock()
	r.again = true
	r.mu.Unlock()
	return r.Refresh(ctx)
}

func (r *Refresher) serve(ctx context.Context, call *refreshCall) {
	defer close(call.done)
	err := r.lock.Acquire(ctx, 1)
	r.mu.Lock()
	r.next = nil
	r.mu.Unlock()
	if err != nil {
		call.err = err
		return
	}
	defer r.lock.Release(1)
	if r.options.Limit != nil {
		select {
		case r.options.Limit <- struct{}{}:
			defer func() { <-r.options.Limit }()
		case <-ctx.Done():
			call.err = ctx.Err()
			return
		}
	}
	call.report, call.err = r.refresh(ctx)
	if r.options.OnReport != nil {
		r.options.OnReport(call.report, call.err)
	}
}

// refresh does a whole refresh. The caller holds the lock.
func (r *Refresher) refresh(ctx context.Context) (Report, error) {
	started := time.Now()
	if r.table == nil {
		if r.options.Restore != nil {
			r.options.Restore(ctx, func(done, total int) {
				r.setStatus(func(s *Status) { s.State, s.Done, s.Total = Loading, done, total })
			})
		}
		if ctx.Err() != nil {
			return Report{}, ctx.Err()
		}
		r.load()
	}
	r.mu.Lock()
	r.rebuild, r.again = r.rebuild || r.again, false
	r.mu.Unlock()
	if r.rebuild {
		r.table.Files = map[string]pageEntry{}
	}
	report, err := r.attempt(ctx)
	for tries := 1; tries < maxAttempts && errors.Is(err, errReplaced); tries++ {
		Sleep(ctx, quiet)
		report, err = r.attempt(ctx)
	}
	if errors.Is(err, fs.ErrNotExist) && len(r.documents) > 0 {
		report.Held = fmt.Sprintf("the site's folder is missing; its %d pages are served until it returns", len(r.documents))
		report.Pages = len(r.documents)
	}
	report.Started, report.Took = started, time.Since(started)
	report.Generation = r.Status().Generation

	var before Status
	r.setStatus(func(s *Status) {
		before = *s
		s.State, s.Done, s.Total = Idle, 0, 0
		s.Last, s.Held, s.Error = report, report.Held, ""
		if err != nil {
			s.Error = err.Error()
		} else if report.Held == "" {
			s.Checked = time.Now()
		}
	})
	switch {
	case ctx.Err() != nil:
	case err != nil && before.Error != err.Error() && len(r.documents) == 0:
		r.log.Error("the site's pages can't be read; will retry", "error", err)
	case err != nil && before.Error != err.Error():
		r.log.Error("refreshing the index failed; the previous pages are served", "error", err, "pages", len(r.documents))
	case err == nil && report.Held != "" && before.Held == "":
		r.log.Warn("changes to the pages are held back", "reason", report.Held)
	case report.Published:
		r.log.Info("index refreshed",
			"pages", report.Pages, "sections", report.Sections, "added", report.Added, "removed", report.Removed,
			"changed", report.Changed, "problems", report.Problems, "generation", report.Generation, "took", report.Took)
	}
	return report, err
}

// load reads what an earlier run kept.
func (r *Refresher) load() {
	r.documents = r.options.Index.Documents()
	var err error
	if r.table, err = loadPageTable(r.tablePath(), r.options.Ingester.Fingerprint()); err != nil {
		r.log.Warn("the page table of the last run can't be used; all pages will be read again", "error", err)
	}
	r.options.Ingester.Use(r.table.Repeated)
	if r.moved = r.table.Origin != "" && r.table.Origin != r.options.Origin; r.moved {
		r.table.Files = map[string]pageEntry{}
	}
	if r.embeddings != nil {
		r.embeddings.load()
	}
	if p := r.options.part; p != nil {
		var vectors func(int) [][]float32
		if r.embeddings != nil && len(r.documents) > 0 {
			keys := r.embeddings.keys
			vectors = func(i int) [][]float32 { return r.embeddings.cache.Get(keys[i]) }
		}
		p.load(r.documents, vectors)
	}
	r.setStatus(func(s *Status) {
		s.Pages, s.Sections = len(r.documents), countSections(r.documents)
	})
}

func (r *Refresher) tablePath() string {
	if r.options.Dir == "" {
		return ""
	}
	return filepath.Join(r.options.Dir, tableName)
}

// save keeps the page table for the next run. Without it, the next run only
// takes longer.
func (r *Refresher) save() {
	if r.options.Dir == "" {
		return
	}
	err := r.table.save(r.tablePath())
	if err != nil && !r.saveFailed {
		r.log.Warn("the page table can't be written; the next run will read all pages again", "error", err)
	}
	r.saveFailed = err != nil
}
