package retrieval_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// several returns the Sources of an index, named "folder 0" and so on.
func several(index retrieval.Index, dir string, embedder retrieval.Embedder, sources ...retrieval.Source) *retrieval.Sources {
	var names []string
	var options []retrieval.RefresherOptions
	for i, s := range sources {
		names = append(names, fmt.Sprintf("folder %d", i))
		own := ""
		if dir != "" {
			own = fmt.Sprintf("%s/%d", dir, i)
		}
		options = append(options, retrieval.RefresherOptions{Source: s, Origin: names[i], Ingester: lineIngester{}, Index: index, Embedder: embedder, Dir: own})
	}
	return retrieval.NewSources(names, options)
}

func TestEachSourceKeepsItsPagesWhileOthersChangeOrFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newMemorySource(map[string]string{"a.md": "a", "both.md": "first"}), newMemorySource(map[string]string{"b.md": "b", "both.md": "second"})
		index, dir := newMemoryIndex(), t.TempDir()
		s := several(index, dir, nil, one, two)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		expect := func(what string, want ...string) {
			t.Helper()
			time.Sleep(10 * time.Minute)
			var got []string
			for file, text := range index.texts() {
				got = append(got, file+" "+text)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s: pages %q, want %q", what, got, want)
			}
			if n := s.Status().Pages; n != len(want) {
				t.Errorf("%s: the status counts %d pages", what, n)
			}
		}
		expect("at first", "a.md a", "b.md b", "both.md first")
		st := s.Status()
		if p := st.Problems; len(p) != 1 || p[0].File != "both.md" || !strings.Contains(p[0].Reason, "has the same URL as both.md, which comes from an earlier source") {
			t.Errorf("problems %+v", p)
		}
		if len(st.Sources) != 2 || st.Sources[1].Name != "folder 1" || st.Sources[1].Pages != 1 || st.Sources[0].Pages != 2 {
			t.Errorf("sources %+v", st.Sources)
		}

		two.mu.Lock()
		two.gone = fmt.Errorf("opening it: %w", fs.ErrNotExist)
		two.mu.Unlock()
		two.changed()
		one.set(func(f map[string]string) { f["a.md"] = "changed"; delete(f, "both.md") })
		expect("the second is gone", "a.md changed", "b.md b", "both.md second")
		if st := s.Status(); !strings.Contains(st.Error, "folder 1: opening it") || st.Sources[0].Error != "" || st.Sources[1].Error == "" || st.Checked != st.Sources[1].Checked {
			t.Errorf("status %+v", st)
		}
		two.mu.Lock()
		two.gone = nil
		two.mu.Unlock()
		two.set(func(f map[string]string) { f["b.md"] = "back" })
		expect("it is back", "a.md changed", "b.md back", "both.md second")

		// After a restart, each has its own pages, and nothing is read.
		cancel()
		<-done
		before, reads := index.count(), one.readCount()+two.readCount()
		s = several(index, dir, nil, one, two)
		if report, err := s.Refresh(t.Context()); err != nil || index.count() != before || one.readCount()+two.readCount() != reads || report.Pages != 3 {
			t.Errorf("after a restart: %+v, %v, %d generations", report, err, index.count()-before)
		}
		two.set(func(f map[string]string) { f["b.md"] = "again" })
		if _, err := s.Refresh(t.Context()); err != nil || len(index.texts()) != 3 || index.texts()["b.md"] != "again" {
			t.Errorf("pages %v, %v", index.texts(), err)
		}
	})
}

func TestASourceThatHangsDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, fast := newMemorySource(map[string]string{"slow.md": "slow"}), newMemorySource(map[string]string{"fast.md": "fast"})
		release := make(chan struct{})
		slow.onRead = func() { <-release }
		index := newMemoryIndex()
		s := several(index, "", nil, slow, fast)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(time.Second)
		fast.set(func(f map[string]string) { f["new.md"] = "new" })
		time.Sleep(time.Second)
		if st := s.Status(); len(index.Documents()) != 2 || !st.Ready || st.State != retrieval.Indexing {
			t.Errorf("%d pages, %+v", len(index.Documents()), st)
		}
		close(release)
		time.Sleep(time.Second)
		if len(index.Documents()) != 3 {
			t.Errorf("%d pages", len(index.Documents()))
		}
		cancel()
		<-done
	})
}

// A generation that one source publishes has the vectors of the others, also
// those of an earlier run.
func TestVectorsOfOtherSourcesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newMemorySource(map[string]string{"a.md": "apple"}), newMemorySource(map[string]string{"b.md": "banana"})
		index, dir := newMemoryIndex(), t.TempDir()
		run := func(during func(*retrieval.Sources)) {
			s := several(index, dir, &wordEmbedder{}, one, two)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			time.Sleep(10 * time.Minute)
			during(s)
			index.mu.Lock()
			defer index.mu.Unlock()
			for i, d := range index.documents {
				if len(index.vectors) != len(index.documents) || len(index.vectors[i]) != 1 || index.vectors[i][0] == nil {
					t.Errorf("%s has the vectors %v", d.File, index.vectors)
				}
			}
			cancel()
			<-done
		}
		run(func(s *retrieval.Sources) {
			if !s.HasVectors() {
				t.Error("there are no vectors")
			}
		})
		run(func(*retrieval.Sources) {
			two.set(func(f map[string]string) { f["b.md"] = "blueberry" })
			time.Sleep(10 * time.Minute)
		})
	})
}
