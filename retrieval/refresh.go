package retrieval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Bounds and rhythm of a Refresher. Their sum keeps a change within two
// seconds of the reader: quiet or maxBurst, one listing, one new generation.
const (
	// quiet is how long nothing must change before a refresh begins, so that
	// a build that writes a thousand files makes one generation, not many.
	quiet = 250 * time.Millisecond
	// maxBurst is when it begins though files keep changing.
	maxBurst = time.Second
	// firstRetry and lastRetry are the pauses after a refresh that failed,
	// firstPageRetry and lastPageRetry those where only pages did.
	firstRetry     = 2 * time.Second
	lastRetry      = 5 * time.Minute
	firstPageRetry = time.Minute
	lastPageRetry  = time.Hour
	// youngFor is the age below which a file without a version gets one
	// soon, and youngRetry when that is looked for: without, the next change
	// would have to read all files of a deploy again.
	youngFor   = 10 * time.Second
	youngRetry = 3 * time.Second
	// maxSwaps is how often a refresh starts over because a deploy replaced
	// the folder while it was read.
	maxSwaps = 5
)

// RefresherOptions are a Refresher's parts. Source, Ingester and Index are
// required.
type RefresherOptions struct {
	// Site names the site in logs.
	Site     string
	Source   Source
	Ingester Ingester
	Index    Index
	// Embedder, where not nil, makes vectors for the sections.
	Embedder Embedder
	// Dir keeps what a restart need not do again: the table of files read
	// and the vectors. "": nothing is kept. It is created if missing and must
	// be the site's own.
	Dir string
	// Log; nil: slog.Default().
	Log *slog.Logger
	// OnReport, where not nil, is called after each refresh that ended (for
	// metrics), OnStatus after each step of progress, at most a few times a
	// second. They must not block.
	OnReport func(Report, error)
	OnStatus func(Status)
	// Workers read pages at once. Default: one core is left to serving, at
	// least one works.
	Workers int
}

// Refresher keeps an index like its source: it lists the source, reads what
// changed, and swaps in a new generation whole. Pages that can't be read are
// named and left out, the rest goes on; where the source itself fails, or
// lost most of its pages, the generation of before serves on.
//
// Vectors are made after a generation is published, never before: until they
// are there, search answers by keywords.
type Refresher struct {
	o   RefresherOptions
	log *slog.Logger

	// turn is held by whoever works on the index: one at a time.
	turn chan struct{}

	mu      sync.Mutex
	base    context.Context // Run's, while it runs
	waiting *refreshCall    // asked for, not yet begun
	serving sync.WaitGroup  // refreshes of base
	status  Status

	// The following belong to the holder of turn.
	pages    *pageTable
	current  []*Document
	loaded   bool
	hold     hold
	problems map[problemKey]pageProblem
	// young: files were read whose time stamps prove nothing yet.
	young bool
	// saveFailed: the table couldn't be kept, which was logged.
	saveFailed bool
	vectors    *embedding
}

// refreshCall is one refresh and those who wait for it.
type refreshCall struct {
	done   chan struct{}
	report Report
	err    error
}

// NewRefresher returns a Refresher that has done nothing yet.
func NewRefresher(o RefresherOptions) *Refresher {
	r := &Refresher{o: o, log: o.Log, turn: make(chan struct{}, 1)}
	if r.log == nil {
		r.log = slog.Default()
	}
	if o.Site != "" {
		r.log = r.log.With("site", o.Site)
	}
	r.status = Status{State: Idle, Ready: len(o.Index.Documents()) > 0}
	if o.Embedder != nil {
		r.vectors = newEmbedding(r)
	}
	return r
}

// Status returns what the Refresher is doing and what it has to say.
func (r *Refresher) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	if r.vectors != nil {
		e := r.vectors.status()
		s.Embeddings = &e
		if s.State == Idle && e.Done < e.Total && e.Error == "" {
			s.State, s.Done, s.Total = Embedding, e.Done, e.Total
		}
	}
	return s
}

// update changes the status and tells OnStatus.
func (r *Refresher) update(change func(*Status)) {
	r.mu.Lock()
	change(&r.status)
	r.mu.Unlock()
	if r.o.OnStatus != nil {
		r.o.OnStatus(r.Status())
	}
}

// Run refreshes at once and then after every change, until ctx is done; it
// doesn't return before. Once it has returned, nothing uses the index.
func (r *Refresher) Run(ctx context.Context) error {
	r.mu.Lock()
	r.base = ctx
	r.mu.Unlock()
	var group sync.WaitGroup
	defer func() {
		r.mu.Lock()
		r.base = nil
		r.mu.Unlock()
		r.serving.Wait()
		group.Wait()
		r.unload()
	}()

	changes := make(chan struct{}, 1)
	group.Go(func() { r.watch(ctx, changes) })
	if r.vectors != nil {
		group.Go(func() { r.vectors.run(ctx) })
	}

	pause, pagePause := firstRetry, firstPageRetry
	for {
		report, err := r.Refresh(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var again <-chan time.Time
		switch {
		case err != nil:
			again = time.After(pause)
			pause = min(2*pause, lastRetry)
		case report.Held != "":
			again = time.After(holdFor)
		case r.has(r.incomplete):
			again = time.After(pagePause)
			pagePause = min(2*pagePause, lastPageRetry)
		case r.has(func() bool { return r.young }):
			again = time.After(youngRetry)
		default:
			pause, pagePause = firstRetry, firstPageRetry
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

// watch passes the source's changes on, and begins again if watching fails.
func (r *Refresher) watch(ctx context.Context, changes chan<- struct{}) {
	changed := func() {
		select {
		case changes <- struct{}{}:
		default: // one is waiting already
		}
	}
	for pause := firstRetry; ctx.Err() == nil; pause = min(2*pause, lastRetry) {
		if err := r.o.Source.Watch(ctx, changed); err != nil && ctx.Err() == nil {
			r.log.Warn("watching for changes failed; the folder is looked at every few minutes until it works again", "error", err)
		}
		wait(ctx, pause)
	}
}

// settle returns once nothing has changed for quiet, at the latest after
// maxBurst.
func settle(ctx context.Context, changes <-chan struct{}) {
	latest := time.NewTimer(maxBurst)
	defer latest.Stop()
	calm := time.NewTimer(quiet)
	defer calm.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-latest.C:
			return
		case <-calm.C:
			return
		case <-changes:
			calm.Reset(quiet)
		}
	}
}

// Refresh brings the index up to date and returns when that is done. It
// joins a refresh that is asked for but has not begun; one under way may
// have missed what changed just before the call, so the next one is waited
// for. While Run runs, the work goes on when ctx is done. A report with Held
// set is no error.
func (r *Refresher) Refresh(ctx context.Context) (Report, error) {
	r.mu.Lock()
	call := r.waiting
	if call == nil {
		call = &refreshCall{done: make(chan struct{})}
		r.waiting = call
		if base := r.base; base != nil {
			r.serving.Go(func() { r.serve(base, call) })
		} else {
			go r.serve(ctx, call)
		}
	}
	r.mu.Unlock()
	select {
	case <-call.done:
		return call.report, call.err
	case <-ctx.Done():
		return Report{}, ctx.Err()
	}
}

func (r *Refresher) serve(ctx context.Context, call *refreshCall) {
	defer close(call.done)
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	r.mu.Lock()
	r.waiting = nil
	r.mu.Unlock()
	call.report, call.err = r.refresh(ctx)
	if r.o.OnReport != nil {
		r.o.OnReport(call.report, call.err)
	}
}

// errSwapped: the source was replaced while it was read.
var errSwapped = errors.New("the folder was replaced while it was read")

// refresh is one whole refresh; the caller holds the turn.
func (r *Refresher) refresh(ctx context.Context) (Report, error) {
	started := time.Now()
	if !r.loaded {
		r.load()
	}
	var report Report
	var err error
	for range maxSwaps {
		if report, err = r.attempt(ctx); !errors.Is(err, errSwapped) {
			break
		}
		wait(ctx, quiet)
	}
	report.Started, report.Took = started, time.Since(started)
	report.Generation = r.Status().Generation
	r.finish(ctx, &report, err)
	return report, err
}

// finish tells status and log how a refresh ended.
func (r *Refresher) finish(ctx context.Context, report *Report, err error) {
	if errors.Is(err, fs.ErrNotExist) && len(r.current) > 0 {
		report.Held = fmt.Sprintf("the site's folder is gone; the %d pages of before are served until it is back", len(r.current))
		report.Pages = len(r.current)
	}
	var before Status
	r.update(func(s *Status) {
		before = *s
		s.State, s.Done, s.Total = Idle, 0, 0
		s.Last, s.Held, s.Error = *report, report.Held, ""
		if err != nil {
			s.Error = err.Error()
		} else if report.Held == "" {
			s.Checked = time.Now()
		}
	})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if before.Error != err.Error() {
			r.log.Error("refreshing the index failed; the pages of before are served", "error", err, "pages", len(r.current))
		}
	case report.Held != "":
		if before.Held == "" {
			r.log.Warn(report.Held)
		}
	case report.Published:
		r.log.Info(strings.TrimPrefix(r.o.Site+": ", ": ")+report.String(),
			"pages", report.Pages, "sections", report.Sections, "added", report.Added, "removed", report.Removed,
			"changed", report.Changed, "problems", report.Problems, "generation", report.Generation, "took", report.Took)
	}
}

// load takes up what an earlier process left: the index's documents and the
// table of the files they came from.
func (r *Refresher) load() {
	r.loaded = true
	r.current = r.o.Index.Documents()
	r.problems = map[problemKey]pageProblem{}
	path := ""
	if r.o.Dir != "" {
		path = filepath.Join(r.o.Dir, "pages.json")
	}
	var err error
	if r.pages, err = openPageTable(path); err != nil {
		r.log.Warn("the table of pages read can't be used; all pages are read again", "error", err)
	}
	if fingerprint := r.o.Ingester.Fingerprint(); r.pages.Fingerprint != fingerprint {
		r.pages.reset(fingerprint)
	}
	if r.vectors != nil {
		r.vectors.load()
		r.vectors.published.Store(strings.HasPrefix(r.pages.Vectors, r.vectors.model+": "))
	}
	r.update(func(s *Status) {
		s.Pages, s.Sections = len(r.current), countSections(r.current)
		s.Ready = s.Ready || len(r.current) > 0
	})
}

// HasVectors reports whether the current generation has vectors: whether
// embedding a query is worth its time.
func (r *Refresher) HasVectors() bool {
	return r.vectors != nil && r.vectors.published.Load()
}

// unload lets go of what load opened.
func (r *Refresher) unload() {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if r.loaded && r.vectors != nil {
		r.vectors.cache.Close()
	}
	r.loaded = false
}

// has asks a question about what belongs to the holder of the turn.
func (r *Refresher) has(what func() bool) bool {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	return what()
}

// incomplete reports whether pages failed in a way that may pass.
func (r *Refresher) incomplete() bool {
	for _, p := range r.problems {
		if p.temporary {
			return true
		}
	}
	return false
}

func countSections(documents []*Document) int {
	n := 0
	for _, d := range documents {
		n += len(d.Sections)
	}
	return n
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
