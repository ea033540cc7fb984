// Package sourcetest tests sources of pages: modules of the namespace
// docs.source, also those of other projects.
package sourcetest

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Source is a source with at least two pages, and what can happen to it.
type Source struct {
	// Open returns the source, which nothing else uses.
	Open func(t *testing.T) retrieval.Source
	// Change changes the text of a page. The source notices it by itself.
	Change func(t *testing.T)
	// Break takes away what the source reads: its file, its server. Restore puts it
	// back.
	Break, Restore func(t *testing.T)
}

// patience bounds what a source may take to notice something.
const patience = 30 * time.Second

// Test runs all tests.
func (s Source) Test(t *testing.T) {
	t.Run("addresses are those of pages, sorted, each once", s.addresses)
	t.Run("every page can be read, several at once and again", s.reading)
	t.Run("a page that is not listed can't be read", s.unlisted)
	t.Run("what ends the context ends each call", s.ending)
	t.Run("a change is noticed, and changes the version", s.changing)
	t.Run("a source that is gone is an error and no empty list", s.failing)
}

func (s Source) snapshot(t *testing.T, src retrieval.Source) *retrieval.Snapshot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	snapshot, err := src.Snapshot(ctx)
	if err != nil {
		t.Fatalf("Snapshot: %v", err)
	}
	t.Cleanup(func() {
		if err := closed(snapshot); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return snapshot
}

func closed(snapshot *retrieval.Snapshot) error {
	if snapshot.Close == nil {
		return nil
	}
	return snapshot.Close()
}

func (s Source) addresses(t *testing.T) {
	files := s.snapshot(t, s.Open(t)).Files
	if len(files) < 2 {
		t.Fatalf("%d pages; the test needs two", len(files))
	}
	for i, f := range files {
		if i > 0 && files[i-1].Path >= f.Path {
			t.Errorf("%q comes before %q; sort them, each once", files[i-1].Path, f.Path)
		}
		if f.Size < -1 || f.Size > retrieval.MaxPage {
			t.Errorf("%s has the size %d; -1 is for unknown ones, and %d is the most that is read", f.Path, f.Size, retrieval.MaxPage)
		}
		u, err := url.Parse(f.Path)
		if err != nil {
			t.Errorf("%q is no address: %v", f.Path, err)
			continue
		}
		if u.Scheme == "http" || u.Scheme == "https" {
			continue
		}
		p, _, _ := strings.Cut(f.Path, "#")
		if strings.HasPrefix(p, "/") || path.Clean(p) != p || strings.HasPrefix(p, "../") {
			t.Errorf("%q must be a clean path without a slash at its beginning", f.Path)
		}
		if !slices.Contains([]string{".html", ".htm", ".md", ".mdx"}, path.Ext(p)) {
			t.Errorf("%q ends in none of .html, .htm, .md and .mdx, which say what Read returns", f.Path)
		}
	}
}

func (s Source) reading(t *testing.T) {
	snapshot := s.snapshot(t, s.Open(t))
	files := snapshot.Files
	texts := make([]string, len(files))
	for round := range 2 {
		var group sync.WaitGroup
		for i, f := range files {
			group.Go(func() {
				content, err := snapshot.Read(t.Context(), f)
				switch {
				case err != nil && !errors.Is(err, retrieval.ErrNotPage):
					t.Errorf("Read(%s): %v", f.Path, err)
				case round > 0 && string(content.Data) != texts[i]:
					t.Errorf("%s differs when it is read again", f.Path)
				default:
					texts[i] = string(content.Data)
				}
				if content.Tag == "" || err != nil {
					return
				}
				f.Tag = content.Tag
				if again, err := snapshot.Read(t.Context(), f); !errors.Is(err, retrieval.ErrUnchanged) && (err != nil || string(again.Data) != texts[i]) {
					t.Errorf("with its tag, %s is read with the error %v; it may be ErrUnchanged", f.Path, err)
				}
			})
		}
		group.Wait()
	}
	if snapshot.Current != nil && !snapshot.Current() {
		t.Error("the source is not Current, although nothing has changed")
	}
}

func (s Source) unlisted(t *testing.T) {
	snapshot := s.snapshot(t, s.Open(t))
	file := snapshot.Files[0]
	dir, name := path.Split(file.Path)
	file.Path, file.Version = dir+"no-such-page-"+name, ""
	if _, err := snapshot.Read(t.Context(), file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v; it must wrap fs.ErrNotExist", err)
	}
}

func (s Source) ending(t *testing.T) {
	src := s.Open(t)
	ctx, cancel := context.WithCancel(t.Context())
	watching := make(chan error, 1)
	go func() { watching <- src.Watch(ctx, func() {}) }()
	cancel()
	select {
	case err := <-watching:
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Watch returns %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Watch goes on after its context has ended")
	}
	listed := make(chan struct{})
	go func() {
		defer close(listed)
		if snapshot, err := src.Snapshot(ctx); err == nil { // what takes no time need not look at it
			_ = closed(snapshot)
		}
	}()
	select {
	case <-listed:
	case <-time.After(patience):
		t.Fatal("Snapshot goes on after its context has ended")
	}
}

func (s Source) changing(t *testing.T) {
	src := s.Open(t)
	type page struct{ version, text string }
	read := func() map[string]page {
		snapshot, pages := s.snapshot(t, src), map[string]page{}
		for _, f := range snapshot.Files {
			if content, err := snapshot.Read(t.Context(), f); err == nil {
				pages[f.Path] = page{f.Version, string(content.Data)}
			}
		}
		return pages
	}
	before := read()
	ctx, cancel := context.WithCancel(t.Context())
	changes, watching := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		watching <- src.Watch(ctx, func() {
			select {
			case changes <- struct{}{}:
			default:
			}
		})
	}()
	defer func() {
		cancel()
		<-watching //nolint:errcheck // one that matters is reported below
	}()
	s.Change(t)
	deadline := time.After(patience)
	for {
		select {
		case <-changes:
		case err := <-watching:
			watching <- err
			t.Fatalf("Watch returns %v before its context has ended", err)
		case <-deadline:
			t.Fatal("no change was noticed")
		}
		for name, now := range read() {
			then, known := before[name]
			switch {
			case known && now.text == then.text:
			case known && now.version != "" && now.version == then.version:
				t.Fatalf("%s has another text, and the same version %q", name, now.version)
			default:
				return
			}
		}
	}
}

func (s Source) failing(t *testing.T) {
	src := s.Open(t)
	before := s.snapshot(t, src)
	files := before.Files
	s.Break(t)
	if snapshot, err := src.Snapshot(t.Context()); err == nil {
		if len(snapshot.Files) == 0 {
			t.Error("Snapshot returns an empty list, and all pages would be removed; return an error")
		}
		for _, f := range snapshot.Files {
			if _, err := snapshot.Read(t.Context(), f); err != nil && !errors.Is(err, retrieval.ErrTemporary) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Read(%s): %v; an error that may pass wraps retrieval.ErrTemporary, so that the page stays", f.Path, err)
			}
		}
		_ = closed(snapshot)
	}
	for _, f := range files[:1] { // from a snapshot of before, also that must end
		_, _ = before.Read(t.Context(), f)
	}
	s.Restore(t)
	if got := s.snapshot(t, src).Files; len(got) != len(files) {
		t.Errorf("once it is back, it has %d pages, and had %d", len(got), len(files))
	}
}
