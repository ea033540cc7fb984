package retrieval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// progressEvery is the least time between two steps of progress told.
const progressEvery = 200 * time.Millisecond

// pageProblem is a Problem and whether it may pass by itself.
type pageProblem struct {
	Problem
	temporary bool
}

// problemKey tells problems apart: one that stays is logged once.
type problemKey struct{ file, reason string }

// page is what became of one file in a refresh.
type page struct {
	file     File
	document *Document // nil: not in the index
	entry    pageEntry
	known    bool // entry is to be kept
	read     bool
	problem  *pageProblem
}

// attempt lists the source, reads what changed and publishes it.
func (r *Refresher) attempt(ctx context.Context) (Report, error) {
	r.update(func(s *Status) { s.State, s.Done, s.Total = Scanning, 0, 0 })
	snapshot, err := r.o.Source.Snapshot(ctx)
	if err != nil {
		return Report{}, err
	}
	defer snapshot.Close()
	files := r.choose(snapshot.Files())

	report := Report{Pages: len(r.current), Sections: countSections(r.current)}
	if report.Held = r.hold.judge(r.current, files, time.Now()); report.Held != "" {
		return report, nil
	}

	pages, err := r.readAll(ctx, snapshot, files)
	if err != nil {
		return report, err
	}
	if !snapshot.Current() {
		return report, errSwapped
	}

	documents := make([]*Document, 0, len(pages))
	entries := make(map[string]pageEntry, len(pages))
	names := make(map[string]bool, len(pages))
	for _, p := range pages {
		// A page may name itself otherwise than its file does; an index
		// holds each name once.
		if p.document != nil && !names[p.document.Page] {
			names[p.document.Page] = true
			documents = append(documents, p.document)
		}
		if p.known {
			entries[p.file.Path] = p.entry
		}
		if p.read {
			report.Read++
		}
	}
	documents = r.o.Ingester.Complete(documents)
	r.compare(&report, documents)
	report.Problems = r.note(snapshot.Problems(), pages)

	saved := r.pages.equal(entries)
	r.pages.Files = entries
	if report.Added+report.Removed+report.Changed > 0 || r.pages.fresh || !r.Status().Ready || r.vectors == nil && r.pages.Vectors != "" {
		if err := r.publish(ctx, documents); err != nil {
			return report, err
		}
		report.Published = true
		report.Pages, report.Sections = len(documents), countSections(documents)
		r.pages.fresh, saved = false, false
	}
	if !saved {
		r.save()
	}
	if r.vectors != nil {
		r.vectors.wake()
	}
	return report, nil
}

// choose keeps the files that are pages, one a page: HTML wins, being what
// is served, then the shorter name. Of two files of one kind the first by
// name wins.
func (r *Refresher) choose(files []File) []File {
	byPage := make(map[string]int, len(files))
	chosen := make([]File, 0, len(files))
	for _, f := range files {
		if !r.o.Ingester.Wants(f.Path) {
			continue
		}
		name := r.o.Ingester.Page(f.Path)
		at, twice := byPage[name]
		switch {
		case !twice:
			byPage[name] = len(chosen)
			chosen = append(chosen, f)
		case r.o.Ingester.Prefer(f.Path, chosen[at].Path):
			chosen[at] = f
		}
	}
	return chosen
}

// readAll reads the files that changed, several at once.
func (r *Refresher) readAll(ctx context.Context, snapshot Snapshot, files []File) ([]page, error) {
	before := make(map[string]*Document, len(r.current))
	for _, d := range r.current {
		before[d.File] = d
	}
	r.young = false
	now := time.Now()
	pages := make([]page, len(files))
	var todo []int
	for i, f := range files {
		pages[i] = page{file: f}
		if f.Version == "" && now.Sub(f.Modified).Abs() < youngFor {
			r.young = true
		}
		entry, known := r.pages.Files[f.Path]
		if known && f.Version != "" && entry.Version == f.Version && entry.fits(before[f.Path]) {
			pages[i].reuse(entry, before[f.Path])
			continue
		}
		todo = append(todo, i)
	}
	if len(todo) == 0 {
		return pages, ctx.Err()
	}
	r.update(func(s *Status) { s.State, s.Done, s.Total = Indexing, 0, len(todo) })

	workers := r.o.Workers
	if workers <= 0 {
		workers = max(1, runtime.GOMAXPROCS(0)-1, snapshot.Workers())
	}
	var next, done atomic.Int64
	var told atomic.Int64
	var group sync.WaitGroup
	for range min(workers, len(todo)) {
		group.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(todo) {
					return
				}
				p := &pages[todo[n]]
				r.readPage(ctx, snapshot, p, before[p.file.Path])
				finished := int(done.Add(1))
				now := time.Now().UnixNano()
				if last := told.Load(); now-last > int64(progressEvery) && told.CompareAndSwap(last, now) {
					r.update(func(s *Status) { s.Done = max(s.Done, finished) })
				}
				// Requests come first: a big page must not be followed by
				// the next one before they had their turn.
				runtime.Gosched()
			}
		})
	}
	group.Wait()
	return pages, ctx.Err()
}

// readPage reads one file, unless its bytes are those of before.
func (r *Refresher) readPage(ctx context.Context, snapshot Snapshot, p *page, before *Document) {
	entry, known := r.pages.Files[p.file.Path]
	p.read = true
	file := p.file
	if known && entry.Content != "" && entry.fits(before) {
		file.Tag = entry.Tag
	}
	content, err := snapshot.Read(ctx, file)
	switch {
	case errors.Is(err, ErrUnchanged) && file.Tag != "":
		p.reuse(entry, before)
		return
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrNotPage):
		return
	case errors.Is(err, ErrTemporary):
		reason := err.Error()
		if before != nil && known && entry.fits(before) {
			// The version of before stays that of the entry, so that the
			// page is read again.
			p.entry, p.known, p.document = entry, true, before
			p.entry.Version = ""
			reason += "; its last good version is served"
		}
		p.problem = &pageProblem{Problem{File: p.file.Path, Reason: reason}, true}
		return
	case err != nil:
		// Not kept in the table: a permission that is granted later changes
		// no version on some systems.
		p.problem = &pageProblem{Problem{File: p.file.Path, Reason: err.Error()}, false}
		return
	}
	sum := sha256.Sum256(content.Data)
	hash := hex.EncodeToString(sum[:16])
	if known && entry.Content == hash && entry.fits(before) {
		entry.Tag = content.Tag
		p.reuse(entry, before)
		return
	}
	p.entry, p.known = pageEntry{Version: p.file.Version, Tag: content.Tag, Content: hash}, true
	document, warnings, err := r.document(p.file.Path, content.Data)
	switch {
	case err != nil:
		p.entry.Problem = err.Error()
	case document != nil:
		p.entry.Hash = document.Hash
		p.document = document
		if len(warnings) > 0 {
			p.entry.Problem = warnings[0]
			if more := len(warnings) - 1; more > 0 {
				p.entry.Problem += fmt.Sprintf(" (and %d more)", more)
			}
		}
	}
	p.problem = p.entry.problem(p.file.Path)
}

// reuse takes what an earlier refresh made of the same content.
func (p *page) reuse(entry pageEntry, before *Document) {
	entry.Version = p.file.Version
	p.entry, p.known = entry, true
	p.document = entry.document(before)
	p.problem = entry.problem(p.file.Path)
}

// document guards against a page that a parser doesn't survive: one page's
// bytes must not end the server.
func (r *Refresher) document(file string, data []byte) (document *Document, warnings []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			document, err = nil, fmt.Errorf("reading it failed badly, please report this page: %v", p)
		}
	}()
	return r.o.Ingester.Document(file, data)
}

// compare counts what differs from the documents of before.
func (r *Refresher) compare(report *Report, documents []*Document) {
	before := make(map[string]string, len(r.current))
	for _, d := range r.current {
		before[d.Page] = d.Hash
	}
	for _, d := range documents {
		hash, known := before[d.Page]
		switch {
		case !known:
			report.Added++
		case hash != d.Hash:
			report.Changed++
		}
		delete(before, d.Page)
	}
	report.Removed = len(before)
}

// note keeps the problems of this refresh and logs those that are new.
func (r *Refresher) note(found []Problem, pages []page) int {
	problems := make(map[problemKey]pageProblem)
	add := func(p pageProblem) {
		key := problemKey{p.File, p.Reason}
		old, known := r.problems[key]
		if p.Since = old.Since; !known {
			p.Since = time.Now()
			if len(problems) < maxProblems {
				r.log.Warn("a page needs a look", "page", p.File, "reason", p.Reason)
			}
		}
		problems[key] = p
	}
	for _, p := range found {
		add(pageProblem{Problem: p})
	}
	for _, p := range pages {
		if p.problem != nil {
			add(*p.problem)
		}
	}
	r.problems = problems
	list := make([]Problem, 0, len(problems))
	for _, p := range problems {
		list = append(list, p.Problem)
	}
	slices.SortFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Reason, b.Reason))
	})
	r.update(func(s *Status) {
		s.ProblemCount = len(list)
		s.Problems = list[:min(len(list), maxProblems)]
	})
	return len(list)
}

// publish makes the documents the index's content, with the vectors that
// are known.
func (r *Refresher) publish(ctx context.Context, documents []*Document) error {
	var vectors [][][]float32
	stamp := ""
	if r.vectors != nil {
		var have int
		vectors, have = r.vectors.lookup(documents)
		stamp = r.vectors.stamp(have)
	}
	if err := r.o.Index.Replace(ctx, documents, vectors); err != nil {
		return fmt.Errorf("publishing %d pages: %w", len(documents), err)
	}
	r.current, r.pages.Vectors = documents, stamp
	if r.vectors != nil {
		r.vectors.published.Store(stamp != "")
	}
	r.update(func(s *Status) {
		s.Generation++
		s.Ready, s.Published = true, time.Now()
		s.Pages, s.Sections = len(documents), countSections(documents)
	})
	return nil
}

// save keeps the table for the next start; a full disk costs that start
// some time, and nothing else.
func (r *Refresher) save() {
	err := r.pages.save()
	if err != nil && !r.saveFailed {
		r.log.Warn("the table of pages read can't be kept; the next start will read all pages again", "error", err)
	}
	r.saveFailed = err != nil
}
