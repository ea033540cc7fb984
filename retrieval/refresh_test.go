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

func (m *memorySource) Snapshot(context.Context) (retrieval.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone != nil {
		return nil, m.gone
	}
	return &memorySnapshot{m, m.files, m.epoch}, nil
}

type memorySnapshot struct {
	m     *memorySource
	files map[string]string
	epoch int
}

func (s *memorySnapshot) Files() []retrieval.File {
	var list []retrieval.File
	for name, text := range s.files {
		sum := sha256.Sum256([]byte(text))
		list = append(list, retrieval.File{Path: name, Size: int64(len(text)), Version: hex.EncodeToString(sum[:4]), Modified: time.Unix(int64(len(text)), int64(sum[0]))})
	}
	slices.SortFunc(list, func(a, b retrieval.File) int { return cmp.Compare(a.Path, b.Path) })
	return list
}
func (s *memorySnapshot) Problems() []retrieval.Problem { return nil }
func (s *memorySnapshot) Close() error                  { return nil }

func (s *memorySnapshot) Current() bool {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.epoch == s.m.epoch
}

func (s *memorySnapshot) Workers() int { return 0 }

func (s *memorySnapshot) Read(_ context.Context, f retrieval.File) (retrieval.Content, error) {
	s.m.mu.Lock()
	s.m.reads++
	err := s.m.failing[f.Path]
	onRead := s.m.onRead
	s.m.mu.Unlock()
	if onRead != nil {
		onRead()
	}
	if err != nil {
		return retrieval.Content{}, err
	}
	return retrieval.Content{Data: []byte(s.files[f.Path])}, nil
}

// lineIngester makes a section of each line.
type lineIngester struct{ fingerprint string }

func (lineIngester) Wants(file string) bool {
	return slices.Contains([]string{".md", ".html"}, path.Ext(file))
}
func (lineIngester) Page(file string) string { return strings.TrimSuffix(file, path.Ext(file)) }
func (lineIngester) Prefer(a, _ string) bool { return path.Ext(a) == ".html" }
func (i lineIngester) Fingerprint() string   { return i.fingerprint }

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

func (x *memoryIndex) Replace(_ context.Context, documents []*retrieval.Document, vectors [][][]float32) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fail != nil {
		return x.fail
	}
	x.documents, x.vectors = documents, vectors
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
	if got := log.String(); strings.Count(got, "level=INFO") != 2 || !strings.Contains(got, "acme: 2 pages (+1 −1 ~1), 0.0 s") {
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
		if n := strings.Count(log.String(), "folder is gone") + strings.Count(log.String(), "level=ERROR"); n != 1 {
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
