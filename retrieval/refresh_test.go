package retrieval_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// memorySource is a source whose files a test sets.
type memorySource struct {
	mu      sync.Mutex
	files   map[string]string
	failing map[string]error
	gone    error
	changed func()
	reads   int
	epoch   int
	onRead  func()
}

func newMemorySource(files map[string]string) *memorySource {
	return &memorySource{files: files, failing: map[string]error{}}
}

func (m *memorySource) set(change func(files map[string]string)) {
	m.mu.Lock()
	files := maps.Clone(m.files)
	change(files)
	m.files = files
	changed := m.changed
	m.mu.Unlock()
	if changed != nil {
		changed()
	}
}

func (m *memorySource) readCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads
}

func (m *memorySource) Watch(ctx context.Context, changed func()) error {
	m.mu.Lock()
	m.changed = changed
	m.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (m *memorySource) Snapshot(context.Context) (*retrieval.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone != nil {
		return nil, m.gone
	}
	files, epoch := m.files, m.epoch
	snapshot := &retrieval.Snapshot{
		Current: func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return epoch == m.epoch
		},
		Read: func(_ context.Context, f retrieval.File) (retrieval.Content, error) {
			m.mu.Lock()
			m.reads++
			err := m.failing[f.Path]
			onRead := m.onRead
			m.mu.Unlock()
			if onRead != nil {
				onRead()
			}
			if err != nil {
				return retrieval.Content{}, err
			}
			return retrieval.Content{Data: []byte(files[f.Path])}, nil
		},
	}
	for name, text := range files {
		sum := sha256.Sum256([]byte(text))
		snapshot.Files = append(snapshot.Files, retrieval.File{Path: name, Size: int64(len(text)), Version: hex.EncodeToString(sum[:4]), Modified: time.Unix(int64(len(text)), int64(sum[0]))})
	}
	slices.SortFunc(snapshot.Files, func(a, b retrieval.File) int { return cmp.Compare(a.Path, b.Path) })
	return snapshot, nil
}

// lineIngester makes a section of each line.
type lineIngester struct{ fingerprint string }

func (lineIngester) Wants(file string) bool {
	return slices.Contains([]string{".md", ".html"}, path.Ext(file))
}
func (lineIngester) Page(file string) string                                  { return strings.TrimSuffix(file, path.Ext(file)) }
func (lineIngester) Prefer(a, _ string) bool                                  { return path.Ext(a) == ".html" }
func (i lineIngester) Complete(d []*retrieval.Document) []*retrieval.Document { return d }
func (i lineIngester) Fingerprint() string                                    { return i.fingerprint }
func (i lineIngester) Learn(map[string][]byte) retrieval.Repeated             { return nil }
func (i lineIngester) Use(retrieval.Repeated)                                 {}

func (i lineIngester) Document(file string, data []byte) (*retrieval.Document, []string, error) {
	text := string(data)
	switch {
	case strings.HasPrefix(text, "draft"):
		return nil, nil, nil
	case strings.HasPrefix(text, "broken"):
		return nil, nil, errors.New("is broken")
	case strings.HasPrefix(text, "panic"):
		panic("no parser survives this")
	}
	sum := sha256.Sum256([]byte(i.fingerprint + file + text))
	d := &retrieval.Document{Page: i.Page(file), File: file, Title: file, Hash: hex.EncodeToString(sum[:8])}
	for line := range strings.Lines(text) {
		d.Sections = append(d.Sections, retrieval.Section{Text: strings.TrimSpace(line)})
	}
	var warnings []string
	if strings.Contains(text, "odd") {
		warnings = append(warnings, "has something odd")
	}
	return d, warnings, nil
}

// memoryIndex records the generations it was given.
type memoryIndex struct {
	mu          sync.Mutex
	documents   []*retrieval.Document
	vectors     [][][]float32
	generations int
	fail        error
	replaced    chan struct{}
}

func newMemoryIndex() *memoryIndex { return &memoryIndex{replaced: make(chan struct{}, 100)} }

func (x *memoryIndex) Keep(d *retrieval.Document) (*retrieval.Document, error) { return d, nil }

func (x *memoryIndex) Replace(_ context.Context, documents []*retrieval.Document, vectors func(int) [][]float32) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fail != nil {
		return x.fail
	}
	x.documents, x.vectors = documents, nil
	for i := 0; vectors != nil && i < len(documents); i++ {
		x.vectors = append(x.vectors, vectors(i))
	}
	x.generations++
	select {
	case x.replaced <- struct{}{}:
	default:
	}
	return nil
}

func (x *memoryIndex) Documents() []*retrieval.Document {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.documents
}

func (x *memoryIndex) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.generations
}

func (x *memoryIndex) texts() map[string]string {
	texts := map[string]string{}
	for _, d := range x.Documents() {
		var b []string
		for _, s := range d.Sections {
			b = append(b, s.Text)
		}
		texts[d.File] = strings.Join(b, "|")
	}
	return texts
}

func (x *memoryIndex) Page(_ context.Context, page string) (*retrieval.Document, error) {
	for _, d := range x.Documents() {
		if d.Page == page {
			return d, nil
		}
	}
	return nil, nil
}

func (x *memoryIndex) Search(_ context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	documents := x.Documents()
	if documents == nil {
		return nil, retrieval.ErrNotReady
	}
	var hits []retrieval.Hit
	for _, d := range documents {
		for i, s := range d.Sections {
			if strings.Contains(s.Text, q.Text) {
				hits = append(hits, retrieval.Hit{Document: d, Section: i, Score: 1})
			}
		}
	}
	return hits, nil
}

func (x *memoryIndex) Mark(retrieval.Query) retrieval.Marker {
	return func(string) []retrieval.Span { return nil }
}

func (x *memoryIndex) Close() error { return nil }

// logLines collects what is logged.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logLines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, nil))
}

func numbered(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("page%03d.md", i)] = fmt.Sprintf("text %d", i)
	}
	return files
}

func TestARefreshPublishesWhatChangedAndNothingElse(t *testing.T) {
	source := newMemorySource(map[string]string{"a.md": "one", "b.md": "two", "style.css": "x"})
	index := newMemoryIndex()
	var log logLines
	r := retrieval.NewRefresher(retrieval.RefresherOptions{
		Site: "acme", Source: source, Ingester: lineIngester{}, Index: index, Dir: t.TempDir(), Log: log.logger(),
	})
	refresh := func() retrieval.Report {
		t.Helper()
		report, err := r.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	if got := refresh(); got.Added != 2 || !got.Published || got.Generation != 1 {
		t.Fatalf("first refresh: %+v", got)
	}
	reads := source.readCount()
	if got := refresh(); got.Published || got.Read != 0 || index.count() != 1 {
		t.Fatalf("nothing changed, but: %+v", got)
	}
	source.set(func(f map[string]string) { f["a.md"] = "three"; delete(f, "b.md"); f["c.md"] = "four" })
	if got := refresh(); got.Added != 1 || got.Removed != 1 || got.Changed != 1 || got.Read != 2 {
		t.Fatalf("one of each: %+v", got)
	}
	if reads != 2 || source.readCount() != 4 {
		t.Fatalf("files read: %d, then %d", reads, source.readCount())
	}
	if want := map[string]string{"a.md": "three", "c.md": "four"}; !maps.Equal(index.texts(), want) {
		t.Fatalf("index has %v", index.texts())
	}
	if got := log.String(); strings.Count(got, "level=INFO") != 2 || !strings.Contains(got, `msg="index refreshed" site=acme pages=2 sections=2 added=1 removed=1 changed=1`) {
		t.Fatalf("log:\n%s", got)
	}
}

func TestAFolderThatVanishesKeepsItsPagesUntilItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		source, index := newMemorySource(numbered(12)), newMemoryIndex()
		var log logLines
		r := retrieval.NewRefresher(retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index, Log: log.logger()})
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()

		source.mu.Lock()
		source.gone = fmt.Errorf("opening: %w", fs.ErrNotExist)
		source.mu.Unlock()
		source.changed()
		time.Sleep(time.Hour)
		if s := r.Status(); !strings.Contains(s.Held, "12 pages") || index.count() != 1 {
			t.Errorf("status %+v after %d generations", s, index.count())
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
		source.mu.Lock()
		source.gone = nil
		source.mu.Unlock()
		source.set(func(f map[string]string) { f["new.md"] = "new" })
		time.Sleep(2 * time.Second)
		if s := r.Status(); s.Held != "" || s.Error != "" || s.Pages != 13 {
			t.Errorf("status %+v", s)
		}
		cancel()
		<-done
	})
}

func TestAFolderThatLostMostPagesIsHeldBackUntilItIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, index := newMemorySource(numbered(20)), newMemoryIndex()
		var log logLines
		r, stop := running(t, retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index, Log: log.logger()})
		defer stop()

		// A deploy empties the folder and fills it again, slowly.
		source.set(func(f map[string]string) { clear(f); f["new0.md"] = "new" })
		for i := range 30 {
			time.Sleep(2 * time.Second)
			if index.count() != 1 || len(index.Documents()) != 20 {
				t.Fatalf("half a release was published: %d pages", len(index.Documents()))
			}
			if s := r.Status(); !strings.Contains(s.Held, "20 of 20 pages are missing") {
				t.Fatalf("status %+v", s)
			}
			source.set(func(f map[string]string) { f[fmt.Sprintf("new%d.md", i+1)] = "new" })
		}
		time.Sleep(8 * time.Second)
		if s := r.Status(); s.Held != "" || s.Pages != 31 || index.count() != 2 {
			t.Errorf("after it was quiet: %+v", s)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings:\n%s", n, &log)
		}

		// Pages that are gone for good are, too, believed in the end.
		source.set(func(f map[string]string) { clear(f); f["new0.md"] = "new" })
		time.Sleep(10 * time.Second)
		if s := r.Status(); s.Pages != 1 {
			t.Errorf("status %+v", s)
		}
		source.set(func(f map[string]string) { clear(f) })
		time.Sleep(2 * time.Second)
		if s := r.Status(); s.Pages != 0 || s.Held != "" {
			t.Errorf("the only page was deleted: %+v", s)
		}
	})
}

func TestAnEmptyFolderIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, index := newMemorySource(numbered(20)), newMemoryIndex()
		r, stop := running(t, retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index})
		defer stop()
		source.set(func(f map[string]string) { clear(f) })
		time.Sleep(24 * time.Hour)
		if s := r.Status(); index.count() != 1 || !strings.Contains(s.Held, "the site's folder has no pages") {
			t.Errorf("status %+v", s)
		}
		source.set(func(f map[string]string) { maps.Copy(f, numbered(20)) })
		time.Sleep(10 * time.Second)
		if s := r.Status(); s.Held != "" || index.count() != 1 {
			t.Errorf("status %+v, generation %d", s, index.count())
		}
	})
}

func TestPagesThatCannotBeReadAreNamedAndTheRestGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, index := newMemorySource(map[string]string{
			"a.md": "one", "broken.md": "broken", "panic.md": "panic", "odd.md": "odd but fine", "draft.md": "draft", "closed.md": "x", "busy.md": "first",
		}), newMemoryIndex()
		source.failing["closed.md"] = errors.New("permission denied")
		var log logLines
		r, stop := running(t, retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index, Log: log.logger(), Dir: t.TempDir()})
		defer stop()
		reasons := func() map[string]string {
			m := map[string]string{}
			for _, p := range r.Status().Problems {
				m[p.File] = p.Reason
			}
			return m
		}
		want := map[string]string{"broken.md": "is broken", "panic.md": "no parser survives", "odd.md": "something odd", "closed.md": "permission denied"}
		got := reasons()
		for file, reason := range want {
			if !strings.Contains(got[file], reason) {
				t.Errorf("%s: %q, want %q", file, got[file], reason)
			}
		}
		if len(got) != len(want) || len(index.Documents()) != 3 {
			t.Errorf("problems %v, pages %v", got, index.texts())
		}
		warnings := strings.Count(log.String(), "level=WARN")
		reads := source.readCount()

		// A failure that may pass keeps the last good version. What fails for
		// good is not logged again.
		source.mu.Lock()
		source.failing["busy.md"] = fmt.Errorf("%w: the disk is busy", retrieval.ErrTemporary)
		source.mu.Unlock()
		source.set(func(f map[string]string) { f["busy.md"] = "second" })
		time.Sleep(2 * time.Second)
		if got := index.texts()["busy.md"]; got != "first" {
			t.Errorf("busy.md is %q", got)
		}
		if got := reasons()["busy.md"]; !strings.Contains(got, "last good version is served") {
			t.Errorf("busy.md: %q", got)
		}
		if n := strings.Count(log.String(), "level=WARN") - warnings; n != 1 {
			t.Errorf("%d more warnings:\n%s", n, &log)
		}
		if n := source.readCount() - reads; n != 2 { // closed.md may be open now
			t.Errorf("%d files read again", n)
		}
		source.mu.Lock()
		delete(source.failing, "busy.md")
		source.mu.Unlock()
		time.Sleep(2 * time.Minute) // there is no event for it
		if got := index.texts()["busy.md"]; got != "second" {
			t.Errorf("busy.md is %q", got)
		}
		if _, still := reasons()["busy.md"]; still {
			t.Error("the problem is still named")
		}
	})
}

func TestOfTwoFilesOfOnePageHTMLWins(t *testing.T) {
	source, index := newMemorySource(map[string]string{"a.md": "markdown", "a.html": "html", "b.md": "markdown"}), newMemoryIndex()
	r := retrieval.NewRefresher(retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index})
	if _, err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"a.html": "html", "b.md": "markdown"}; !maps.Equal(index.texts(), want) {
		t.Errorf("pages %v", index.texts())
	}
}

// menuIngester leaves out the lines that all pages of a sample have. It keeps
// their text by its length, which is used as a hash.
type menuIngester struct {
	lineIngester
	learned int
	menu    retrieval.Repeated
}

func (i *menuIngester) Learn(sample map[string][]byte) retrieval.Repeated {
	i.learned++
	on := map[uint64]int{}
	for _, data := range sample {
		for line := range strings.Lines(string(data)) {
			on[uint64(len(line))]++
		}
	}
	found := retrieval.Repeated{}
	for line, n := range on {
		if n == len(sample) {
			found[""] = append(found[""], line)
		}
	}
	return found
}

func (i *menuIngester) Use(found retrieval.Repeated) { i.menu = found }

func (i *menuIngester) Document(file string, data []byte) (*retrieval.Document, []string, error) {
	text := ""
	for line := range strings.Lines(string(data)) {
		if !slices.Contains(i.menu[""], uint64(len(line))) {
			text += line
		}
	}
	return i.lineIngester.Document(file, []byte(text))
}

func TestWhatRepeatsIsLearnedWhenMostPagesAreRead(t *testing.T) {
	files := map[string]string{}
	for i := range 10 {
		files[fmt.Sprintf("p%d.md", i)] = "the menu\n" + strings.Repeat("x", 20+i) + "\n"
	}
	source, index, dir := newMemorySource(files), newMemoryIndex(), t.TempDir()
	refresh := func(i *menuIngester) retrieval.Report {
		t.Helper()
		r := retrieval.NewRefresher(retrieval.RefresherOptions{Source: source, Ingester: i, Index: index, Dir: dir})
		report, err := r.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	expect := func(file, want string) {
		t.Helper()
		if got := index.texts()[file]; got != want {
			t.Errorf("%s has %q, want %q", file, got, want)
		}
	}
	first := &menuIngester{}
	if report := refresh(first); first.learned != 1 || source.readCount() != 10 || report.Read != 10 {
		t.Errorf("learned %d times from %d reads: %+v", first.learned, source.readCount(), report)
	}
	expect("p3.md", strings.Repeat("x", 23))

	// After a restart, a page that changes is read as the others were.
	source.set(func(f map[string]string) { f["p3.md"] = "the menu\nnew" })
	second := &menuIngester{}
	if report := refresh(second); second.learned != 0 || report.Read != 1 {
		t.Errorf("learned %d times: %+v", second.learned, report)
	}
	expect("p3.md", "new")

	// Most pages lose the menu: it is the text of those that keep it.
	source.set(func(f map[string]string) {
		for i := range 6 {
			f[fmt.Sprintf("p%d.md", i)] = strings.Repeat("y", 40+i)
		}
	})
	third := &menuIngester{}
	if report := refresh(third); third.learned == 0 || report.Read != 10 {
		t.Errorf("learned %d times: %+v", third.learned, report)
	}
	expect("p9.md", "the menu|"+strings.Repeat("x", 29))
}

func TestARestartReadsOnlyWhatChanged(t *testing.T) {
	dir := t.TempDir()
	source, index := newMemorySource(numbered(50)), newMemoryIndex()
	start := func(i lineIngester, dir string) retrieval.Report {
		t.Helper()
		r := retrieval.NewRefresher(retrieval.RefresherOptions{Source: source, Ingester: i, Index: index, Dir: dir})
		report, err := r.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	start(lineIngester{}, dir)
	if got := start(lineIngester{}, dir); got.Read != 0 || got.Published || got.Generation != 0 {
		t.Errorf("nothing changed: %+v", got)
	}
	source.set(func(f map[string]string) { f["page007.md"] = "new" })
	if got := start(lineIngester{}, dir); got.Read != 1 || got.Changed != 1 {
		t.Errorf("one page changed: %+v", got)
	}
	if got := start(lineIngester{fingerprint: "2"}, dir); got.Read != 50 || got.Changed != 50 {
		t.Errorf("the options changed: %+v", got)
	}
	index.documents = index.documents[1:] // an index that lost a page
	if got := start(lineIngester{fingerprint: "2"}, dir); got.Read != 1 || got.Added != 1 {
		t.Errorf("the index lost a page: %+v", got)
	}
	// A table that is damaged, or can't be written, costs time alone.
	file := path.Join(dir, "pages.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := start(lineIngester{fingerprint: "2"}, dir); got.Read != 50 {
		t.Errorf("the table was damaged: %+v", got)
	}
	if got := start(lineIngester{fingerprint: "2"}, file); got.Read != 50 || !got.Published {
		t.Errorf("the folder can't be written: %+v", got)
	}
}

func TestAnIndexThatCannotReplaceKeepsItsGenerationAndIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, index := newMemorySource(numbered(3)), newMemoryIndex()
		var log logLines
		r, stop := running(t, retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index, Log: log.logger(), Dir: t.TempDir()})
		defer stop()
		index.mu.Lock()
		index.fail = errors.New("no space left on device")
		index.mu.Unlock()
		source.set(func(f map[string]string) { f["new.md"] = "new" })
		time.Sleep(time.Hour)
		if s := r.Status(); !strings.Contains(s.Error, "no space left") || s.Pages != 3 || len(index.Documents()) != 3 {
			t.Errorf("status %+v", s)
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, &log)
		}
		index.mu.Lock()
		index.fail = nil
		index.mu.Unlock()
		time.Sleep(10 * time.Minute)
		if s := r.Status(); s.Error != "" || s.Pages != 4 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestNoGenerationMixesTwoReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := func(n int) map[string]string {
			files := map[string]string{}
			for i := range 20 {
				files[fmt.Sprintf("p%d.md", i)] = fmt.Sprintf("release %d", n)
			}
			return files
		}
		source, index := newMemorySource(release(1)), newMemoryIndex()
		reads := 0
		source.onRead = func() { // the deploy comes in the middle of reading
			source.mu.Lock()
			defer source.mu.Unlock()
			if reads++; reads == 10 || reads == 35 {
				source.epoch++
				source.files = release(source.epoch + 1)
			}
		}
		r, stop := running(t, retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index})
		defer stop()
		time.Sleep(time.Minute)
		if index.count() != 1 || r.Status().Pages != 20 {
			t.Errorf("%d generations", index.count())
		}
		for file, text := range index.texts() {
			if text != "release 3" {
				t.Errorf("%s is of %s", file, text)
			}
		}
	})
}

func TestChangesAreGatheredButNeverForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, index := newMemorySource(numbered(3)), newMemoryIndex()
		_, stop := running(t, retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index})
		defer stop()
		for i := range 950 { // a build that writes for 1.9 seconds
			source.set(func(f map[string]string) { f[fmt.Sprintf("build%d.md", i)] = "x" })
			time.Sleep(2 * time.Millisecond)
		}
		if n := index.count(); n != 2 {
			t.Errorf("%d generations after 1.9 seconds of changes, want the first and one more", n)
		}
		time.Sleep(time.Second)
		if n := index.count(); n != 3 || len(index.Documents()) != 953 {
			t.Errorf("%d generations, %d pages", n, len(index.Documents()))
		}
		start := time.Now()
		source.set(func(f map[string]string) { f["single.md"] = "x" })
		for len(index.Documents()) != 954 {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(start); took > 300*time.Millisecond {
			t.Errorf("a single change took %v", took)
		}
	})
}

func TestRefreshesAskedForAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, index := newMemorySource(numbered(3)), newMemoryIndex()
		release := make(chan struct{})
		source.onRead = func() { <-release }
		reports := 0
		r := retrieval.NewRefresher(retrieval.RefresherOptions{
			Source: source, Ingester: lineIngester{}, Index: index,
			OnReport: func(retrieval.Report, error) { reports++ },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		if s := r.Status(); s.State != retrieval.Indexing || s.Total != 3 || s.Ready {
			t.Errorf("status %+v", s)
		}
		if _, err := index.Search(ctx, retrieval.Query{}); !errors.Is(err, retrieval.ErrNotReady) {
			t.Errorf("search before the first generation: %v", err)
		}
		// What changes now, the refresh in progress has missed.
		source.set(func(f map[string]string) { f["late.md"] = "late" })
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				if report, err := r.Refresh(ctx); err != nil || report.Pages != 4 {
					t.Errorf("%+v, %v", report, err)
				}
			})
		}
		impatient, leave := context.WithTimeout(ctx, time.Second)
		defer leave()
		if _, err := r.Refresh(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		close(release)
		group.Wait()
		if reports != 2 {
			t.Errorf("%d refreshes", reports)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
}

// youngSource has files that are too young for a version, for two seconds.
type youngSource struct {
	*memorySource
	born time.Time
}

func (y youngSource) Snapshot(ctx context.Context) (*retrieval.Snapshot, error) {
	s, err := y.memorySource.Snapshot(ctx)
	for i := range s.Files {
		if s.Files[i].Modified = y.born; time.Since(y.born) <= 2*time.Second {
			s.Files[i].Version = ""
		}
	}
	return s, err
}

func TestYoungFilesAreReadOnceMoreAndThenLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, index := youngSource{newMemorySource(numbered(10)), time.Now()}, newMemoryIndex()
		_, stop := running(t, retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index})
		defer stop()
		time.Sleep(time.Hour)
		source.changed()
		time.Sleep(time.Minute)
		if n := source.readCount(); n != 20 || index.count() != 1 {
			t.Errorf("%d files read, %d generations", n, index.count())
		}
	})
}

func TestARefresherThatHasStoppedLeavesItsIndexAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, index := newMemorySource(numbered(3)), newMemoryIndex()
		r, stop := running(t, retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index})
		stop()
		source.set(func(f map[string]string) { f["new.md"] = "new" })
		if _, err := r.Refresh(t.Context()); !errors.Is(err, context.Canceled) || index.count() != 1 {
			t.Errorf("error %v, %d generations", err, index.count())
		}
	})
}

// After a change of the configuration the pages are of another folder: those
// of the one before are not missing, and a file of the same name and age is
// another one.
func TestPagesOfAnotherFolderAreNotHeldBack(t *testing.T) {
	for name, c := range map[string]struct {
		after map[string]string
		pages int
	}{
		"another folder":            {map[string]string{"new.md": "new", "page001.md": "other 1"}, 2},
		"an empty folder":           {map[string]string{}, 0},
		"the same pages, elsewhere": {numbered(20), 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, index := t.TempDir(), newMemoryIndex()
				open := func(origin string, files map[string]string) retrieval.Report {
					t.Helper()
					r := retrieval.NewRefresher(retrieval.RefresherOptions{Source: newMemorySource(files), Origin: origin, Ingester: lineIngester{}, Index: index, Dir: dir})
					report, err := r.Refresh(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					return report
				}
				open("/srv/one", numbered(20))
				if report := open("/srv/two", c.after); report.Held != "" || report.Pages != c.pages || report.Read != len(c.after) {
					t.Errorf("%+v", report)
				}
				if got := len(index.Documents()); got != c.pages {
					t.Errorf("%d pages are in the index", got)
				}
				// From then on, this folder is guarded as well.
				if report := open("/srv/two", map[string]string{}); (report.Held != "") != (c.pages >= 10) {
					t.Errorf("emptied: %+v", report)
				}
				if report := open("/srv/two", c.after); report.Read != 0 && c.pages == 20 {
					t.Errorf("as before: %+v", report)
				}
			})
		})
	}
}

// A reload may open the same directory as soon as the pages are published,
// before the refresh that published them has ended.
func TestPagesOfAnotherFolderAreNotHeldBackWhileTheFirstArePublished(t *testing.T) {
	dir, index := t.TempDir(), &observedIndex{memoryIndex: newMemoryIndex()}
	refresh := func(origin string, files map[string]string) retrieval.Report {
		t.Helper()
		r := retrieval.NewRefresher(retrieval.RefresherOptions{Source: newMemorySource(files), Origin: origin, Ingester: lineIngester{}, Index: index, Dir: dir})
		report, err := r.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	index.published = func() {
		index.published = func() {}
		if report := refresh("/srv/two", map[string]string{"new.md": "new"}); report.Held != "" || report.Pages != 1 {
			t.Errorf("%+v", report)
		}
	}
	refresh("/srv/one", numbered(20))
}

// observedIndex calls published after each Replace.
type observedIndex struct {
	*memoryIndex
	published func()
}

func (x *observedIndex) Replace(ctx context.Context, documents []*retrieval.Document, vectors func(int) [][]float32) error {
	err := x.memoryIndex.Replace(ctx, documents, vectors)
	x.published()
	return err
}

func TestWhatAnEarlierRunLeftIsLoadedInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, index := newMemorySource(numbered(3)), newMemoryIndex()
		released := make(chan struct{})
		r, stop := running(t, retrieval.RefresherOptions{
			Source: source, Ingester: lineIngester{}, Index: index,
			Restore: func(ctx context.Context, progress func(done, total int)) {
				progress(2, 3)
				select {
				case <-released:
				case <-ctx.Done():
				}
			},
		})
		defer stop()
		synctest.Wait()
		if s := r.Status(); s.State != retrieval.Loading || s.Done != 2 || s.Total != 3 || s.Ready || source.readCount() != 0 {
			t.Errorf("while it is loaded: %+v, %d files read", s, source.readCount())
		}
		close(released)
		synctest.Wait()
		if s := r.Status(); s.State != retrieval.Idle || s.Pages != 3 {
			t.Errorf("afterwards: %+v", s)
		}
	})
}
