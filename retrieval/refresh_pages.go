package retrieval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval/disk"
)

// errReplaced means that a deploy replaced the source while it was read.
var errReplaced = errors.New("the folder was replaced while it was read")

// page is the result of reading one file.
type page struct {
	document *Document  // nil: the file is not in the index
	entry    *pageEntry // nil: nothing is remembered of the file
	problem  string
	// temporary is true if the problem may pass by itself.
	temporary bool
	read      bool
}

// attempt lists the source, reads what changed and publishes it.
func (r *Refresher) attempt(ctx context.Context) (Report, error) {
	r.setStatus(func(s *Status) { s.State, s.Done, s.Total = Scanning, 0, 0 })
	snapshot, err := r.options.Source.Snapshot(ctx)
	if err != nil {
		return Report{}, err
	}
	if snapshot.Close != nil {
		defer func() { _ = snapshot.Close() }() // it was only read
	}
	files := r.selectFiles(snapshot.Files)
	if len(r.options.Index.Documents()) == 0 {
		r.documents = nil // also if the index has lost them
		if r.embeddings != nil {
			r.embeddings.keys = nil
		}
	}

	report := Report{Pages: len(r.documents), Sections: countSections(r.documents)}
	// Pages that the configuration no longer includes are not missing.
	wanted := slices.DeleteFunc(slices.Clone(r.documents), func(d *Document) bool { return r.moved || !r.options.Ingester.Wants(d.File) })
	if report.Held = r.hold.check(wanted, files, time.Now()); report.Held != "" {
		return report, nil
	}
	pages := r.readAll(ctx, snapshot, files)
	if ctx.Err() != nil {
		return report, ctx.Err()
	}
	if snapshot.Current != nil && !snapshot.Current() {
		return report, errReplaced
	}

	documents := make([]*Document, 0, len(pages))
	entries := make(map[string]pageEntry, len(pages))
	names := make(map[string]bool, len(pages))
	problems := slices.Clone(snapshot.Problems)
	for i, p := range pages {
		file := files[i]
		// A page may have another name than its file.
		if p.document != nil && !names[p.document.Page] {
			names[p.document.Page] = true
			documents = append(documents, p.document)
		}
		if p.entry != nil {
			entries[file.Path] = *p.entry
		}
		if p.problem != "" {
			problems = append(problems, Problem{File: file.Path, Reason: p.problem})
		}
		if p.read {
			report.Read++
		}
		report.incomplete = report.incomplete || p.temporary
		report.young = report.young || file.Version == "" && time.Since(file.Modified).Abs() < youngAge
	}
	documents = r.options.Ingester.Complete(documents)
	report.compare(r.documents, documents)
	report.Problems = r.setProblems(problems)

	changed := !maps.Equal(r.table.Files, entries)
	r.table.Files = entries
	if r.table.Origin != r.options.Origin {
		// Saved before the pages are published: a reload that follows at once
		// with another Origin must not take them for its own.
		r.table.Origin = r.options.Origin
		r.save()
	}
	if r.mustPublish(report) {
		if err := r.publish(ctx, documents); err != nil {
			return report, err
		}
		report.Published, changed, r.rebuild = true, true, false
		report.Pages, report.Sections = len(documents), countSections(documents)
	}
	if r.moved = false; changed {
		r.save()
	}
	if r.embeddings != nil {
		r.embeddings.wake()
	}
	return report, nil
}

// selectFiles returns the files that are pages, one for each page.
func (r *Refresher) selectFiles(files []File) []File {
	in := r.options.Ingester
	byPage := make(map[string]int, len(files))
	selected := make([]File, 0, len(files))
	for _, f := range files {
		if !in.Wants(f.Path) {
			continue
		}
		name := in.Page(f.Path)
		i, twice := byPage[name]
		switch {
		case !twice:
			byPage[name] = len(selected)
			selected = append(selected, f)
		case in.Prefer(f.Path, selected[i].Path):
			selected[i] = f
		}
	}
	return selected
}

// readAll reads the files that changed, several at once. The pages of the
// others are those of the last refresh.
func (r *Refresher) readAll(ctx context.Context, snapshot *Snapshot, files []File) []page {
	documents := make(map[string]*Document, len(r.documents))
	for _, d := range r.documents {
		documents[d.File] = d
	}
	pages := make([]page, len(files))
	var unread, changed []int // a file without a version may have changed
	for i, f := range files {
		entry, ok := r.table.Files[f.Path]
		if f.Version != "" || entry.Content == "" {
			changed = append(changed, i)
		}
		if ok && f.Version != "" && entry.Version == f.Version && entry.describes(documents[f.Path]) {
			pages[i] = unchanged(entry, f, documents[f.Path])
			changed = changed[:len(changed)-1]
		} else {
			unread = append(unread, i)
		}
	}
	if len(unread) == 0 {
		return pages
	}
	r.setStatus(func(s *Status) { s.State, s.Total = Indexing, len(unread) })
	sample := map[string]Content{}
	if 2*len(changed) >= len(files) {
		var differs bool
		if sample, differs = r.learn(ctx, snapshot, files, changed); differs && len(changed) < len(files) {
			for path, entry := range r.table.Files {
				r.table.Files[path] = pageEntry{Hash: entry.Hash, Problem: entry.Problem} // all are read again
			}
			return r.readAll(ctx, snapshot, files)
		}
	}
	parallel(ctx, snapshot, len(unread), func(n int) {
		i := unread[n]
		pages[i] = r.read(ctx, snapshot, files[i], documents[files[i].Path], sample)
		r.setStatus(func(s *Status) { s.Done++ })
	})
	return pages
}

// parallel calls do for 0 to n-1, several at once.
func parallel(ctx context.Context, snapshot *Snapshot, n int, do func(int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(max(1, runtime.GOMAXPROCS(0)-1, snapshot.Workers), n) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}

const (
	// sampleSize is how many pages are compared to learn what repeats, of at
	// most longestSample bytes each.
	sampleSize    = 300
	longestSample = 200 << 10
)

// learn lets the Ingester learn what repeats on the pages of a site most of
// which changed, from some of those. A single changed page doesn't change
// what was learned, so that the other pages stay as they are. It returns what it
// read, and whether something else repeats than before.
func (r *Refresher) learn(ctx context.Context, snapshot *Snapshot, files []File, changed []int) (sample map[string]Content, differs bool) {
	sample = map[string]Content{}
	texts := map[string][]byte{}
	var mu sync.Mutex
	step := max(1, (len(changed)+sampleSize-1)/sampleSize)
	parallel(ctx, snapshot, (len(changed)+step-1)/step, func(n int) {
		file := files[changed[n*step]]
		content, err := snapshot.Read(ctx, file)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && len(content.Data) <= longestSample {
			sample[file.Path], texts[file.Path] = content, content.Data
		}
	})
	if ctx.Err() != nil {
		return sample, false
	}
	found := r.options.Ingester.Learn(texts)
	if !maps.EqualFunc(found, r.table.Repeated, slices.Equal) {
		r.table.Repeated, differs = found, true
		r.options.Ingester.Use(found)
	}
	return sample, differs
}

// read reads one file, unless it is in the sample. before is the document that
// the index has of it, if any.
func (r *Refresher) read(ctx context.Context, snapshot *Snapshot, file File, before *Document, sample map[string]Content) page {
	entry, known := r.table.Files[file.Path]
	known = known && entry.describes(before)
	if known && entry.Content != "" {
		file.Tag = entry.Tag
	}
	var err error
	content, sampled := sample[file.Path]
	if !sampled {
		content, err = snapshot.Read(ctx, file)
	}
	switch {
	case err == nil:
	case errors.Is(err, ErrUnchanged) && file.Tag != "":
		p := unchanged(entry, file, before)
		p.read = true
		return p
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrNotPage):
		return page{read: true}
	case errors.Is(err, ErrTemporary):
		p := page{read: true, problem: err.Error(), temporary: true}
		if known && before != nil {
			entry.Version = "" // the page is read again
			p.entry, p.document = &entry, before
			p.problem += "; its last good version is served"
		}
		return p
	default:
		// Nothing is remembered: on some systems, a permission that is granted
		// later changes no version.
		return page{read: true, problem: err.Error()}
	}

	sum := sha256.Sum256(content.Data)
	hash := hex.EncodeToString(sum[:16])
	if known && entry.Content == hash {
		entry.Tag = content.Tag
		p := unchanged(entry, file, before)
		p.read = true
		return p
	}
	p := page{read: true, entry: &pageEntry{Version: file.Version, Tag: content.Tag, Content: hash}}
	document, warnings, err := r.ingest(file.Path, content.Data)
	switch {
	case err != nil:
		p.problem = err.Error()
	case document != nil:
		if p.document, err = r.options.Index.Keep(document); err != nil {
			return page{read: true, problem: err.Error(), temporary: true}
		}
		if r.embeddings != nil && p.document != document {
			r.embeddings.note(document)
		}
		p.entry.Hash = document.OwnHash()
		if len(warnings) > 0 {
			p.problem = warnings[0]
		}
		if more := len(warnings) - 1; more > 0 {
			p.problem += fmt.Sprintf(" (and %d more)", more)
		}
	}
	p.entry.Problem = p.problem
	return p
}

// unchanged is the page of a file whose content is that of an entry.
func unchanged(entry pageEntry, file File, document *Document) page {
	entry.Version = file.Version
	p := page{entry: &entry, problem: entry.Problem}
	if entry.Hash != "" {
		p.document = document
	}
	return p
}

// ingest parses one page. A page that makes the parser panic must not end the
// server.
func (r *Refresher) ingest(file string, data []byte) (document *Document, warnings []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			document, err = nil, fmt.Errorf("the parser failed; please report this page: %v", p)
		}
	}()
	return r.options.Ingester.Document(file, data)
}

// compare counts the differences between the documents of two generations.
func (r *Report) compare(before, after []*Document) {
	hashes := make(map[string]string, len(before))
	for _, d := range before {
		hashes[d.Page] = d.Hash
	}
	for _, d := range after {
		hash, known := hashes[d.Page]
		switch {
		case !known:
			r.Added++
		case hash != d.Hash:
			r.Changed++
		}
		delete(hashes, d.Page)
	}
	r.Removed = len(hashes)
}

// setProblems puts the problems of a refresh into the status and logs those
// that are new. It returns their number.
func (r *Refresher) setProblems(problems []Problem) int {
	found := make(map[Problem]time.Time, len(problems))
	list := make([]Problem, 0, len(problems))
	for _, p := range problems {
		p.Since = time.Time{}
		since, known := r.problems[p]
		if !known {
			since = time.Now()
			if len(found) < maxProblems {
				if p.Do == "" {
					r.log.Warn("a page has a problem", "page", p.File, "reason", p.Reason)
				} else {
					r.log.Warn("pages are missing or outdated", "of", p.File, "reason", p.Reason, "do", p.Do)
				}
			}
		}
		if _, twice := found[p]; !twice {
			found[p] = since
			p.Since = since
			list = append(list, p)
		}
	}
	r.problems = found
	slices.SortFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Reason, b.Reason))
	})
	r.setStatus(func(s *Status) {
		s.ProblemCount = len(list)
		s.Problems = list[:min(len(list), maxProblems)]
	})
	return len(list)
}

// mustPublish reports whether the index must be replaced: its pages differ, or
// were made with other settings, or have vectors that are no longer wanted, or
// somebody asks for it.
func (r *Refresher) mustPublish(report Report) bool {
	return r.rebuild || report.Added+report.Removed+report.Changed > 0 || !r.Status().Ready ||
		r.table.Fingerprint != r.options.Ingester.Fingerprint() ||
		r.embeddings == nil && r.table.Vectors > 0
}

// publish replaces the index by the documents and the vectors that are known.
func (r *Refresher) publish(ctx context.Context, documents []*Document) error {
	if len(r.documents) == 0 { // later, readers wait for what changed
		defer SaveMemory()()
	}
	var keys [][]disk.Key
	known, model := 0, ""
	if r.embeddings != nil {
		var err error
		if keys, err = r.embeddings.keysOf(ctx, documents); err != nil {
			return err
		}
		known, model = r.embeddings.known(keys), r.embeddings.model
	}
	var vectors func(int) [][]float32
	if known > 0 {
		vectors = func(i int) [][]float32 { return r.embeddings.cache.Get(keys[i]) }
	}
	replaced := func() {}
	if r.options.OnReplace != nil {
		replaced = r.options.OnReplace(ctx, documents)
	}
	began := time.Now()
	if err := r.options.Index.Replace(ctx, documents, vectors); err != nil {
		return fmt.Errorf("publishing %d pages: %w", len(documents), err)
	}
	replaced()
	if known > 0 {
		known = r.embeddings.known(keys) // without those that were damaged
	}
	r.documents = documents
	if published := r.options.Index.Documents(); len(published) == len(documents) {
		r.documents = published // they may be outlines
	}
	r.table.Fingerprint, r.table.Vectors, r.table.Model = r.options.Ingester.Fingerprint(), known, model
	if r.embeddings != nil {
		r.embeddings.took.Store(int64(time.Since(began)))
		r.embeddings.keys = keys
		r.embeddings.published.Store(known > 0)
	}
	r.setStatus(func(s *Status) {
		s.Generation++
		s.Ready, s.Published = true, time.Now()
		s.Pages, s.Sections = len(documents), countSections(documents)
	})
	return nil
}

func countSections(documents []*Document) int {
	n := 0
	for _, d := range documents {
		n += len(d.Sections)
	}
	return n
}
