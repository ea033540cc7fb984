package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// idleQueries find each page of sample.
var idleQueries = []retrieval.Query{{Text: "install"}, {Text: "télécharger"}, {Text: "設定"}, {Text: "caddyfil"}, {Text: "beginner setup"}}

// hashed are the pages of sample as an Ingester makes them.
func hashed() []*retrieval.Document {
	docs, _ := sample()
	for _, d := range docs {
		d.Hash = "hash of " + d.Page
	}
	return docs
}

func TestAnIndexThatNobodySearchesLeavesMemory(t *testing.T) {
	docs := hashed()
	stays := opened(t, Options{Dir: t.TempDir()}, docs...)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		x := opened(t, Options{Dir: dir, Idle: time.Minute}, docs...)
		same := func(when string) {
			t.Helper()
			for _, q := range idleQueries {
				got, want := search(t, x, q), search(t, stays, q)
				if len(got) != len(want) {
					t.Fatalf("%s, %q: %d hits, want %d", when, q.Text, len(got), len(want))
				}
				for i := range got {
					if !reflect.DeepEqual(*got[i].Document, *want[i].Document) || got[i].Section != want[i].Section || got[i].Score != want[i].Score {
						t.Errorf("%s, %q: hit %d is %+v, want %+v", when, q.Text, i, got[i], want[i])
					}
				}
				const text = "Download the binary, install it and write a Caddyfile: 設定ファイル"
				if got, want := x.Mark(q)(text), stays.Mark(q)(text); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, %q: marks %v, want %v", when, q.Text, got, want)
				}
			}
		}
		away := func() bool { return x.current.Load() == nil }
		if !away() {
			t.Error("the index is in memory before the first search")
		}
		same("at first")
		for range 5 { // used now and then
			time.Sleep(40 * time.Second)
			search(t, x, retrieval.Query{Text: "install"})
			if away() {
				t.Fatal("the index left memory 40 s after a search")
			}
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if !away() {
			t.Error("the index is in memory a minute after the last search")
		}
		same("later")

		// One more page, and the outlines of the others.
		time.Sleep(2 * time.Minute)
		added := page("new", "New", "Novelty", "A page about novelty.")
		next := append(x.Documents(), added)
		stays = opened(t, Options{Dir: t.TempDir()}, append(docs, added)...)
		if err := x.Replace(context.Background(), next, nil); err != nil {
			t.Fatal(err)
		}
		if !away() {
			t.Error("the index is in memory after its pages changed")
		}
		same("with another page")
		if err := x.Replace(context.Background(), x.Documents(), nil); err != nil {
			t.Fatal(err)
		}
		same("replaced while in memory")
		if p, err := x.Page(context.Background(), "guide/start"); err != nil || p.Outline || p.Sections[1].Text != docs[0].Sections[1].Text {
			t.Errorf("Page: %v, %+v", err, p)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		if x = opened(t, Options{Dir: dir, Idle: time.Minute}); !away() {
			t.Error("the index is in memory after a restart")
		}
		same("after a restart")
		x.Close()
	})
	if o := opened(t, Options{Dir: dir}); o.current.Load() == nil || o.idle.outlines.Load() != nil {
		t.Error("an index that stays in memory doesn't read the snapshot of one that doesn't")
	}
}

func TestAnIndexWithoutIdleNeverLeavesMemory(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		x := opened(t, Options{Dir: dir}, hashed()...)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if x.current.Load() == nil || x.idle.outlines.Load() != nil {
			t.Error("it left memory")
		}
	})
}

func TestALargeIndexStaysInMemory(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		x := opened(t, Options{Dir: dir, Idle: time.Minute}, hashed()...)
		large := library(300, 1)
		replace := func(docs []*retrieval.Document, stays bool) {
			t.Helper()
			if err := x.Replace(context.Background(), docs, nil); err != nil {
				t.Fatal(err)
			}
			search(t, x, retrieval.Query{Text: "install"})
			time.Sleep(time.Hour)
			synctest.Wait()
			if got := x.current.Load() != nil; got != stays {
				t.Errorf("an index of %d pages is in memory: %v, want %v", len(docs), got, stays)
			}
		}
		replace(large, true)
		replace(hashed(), false)
		replace(append(x.Documents(), large...), true)
		if d, err := x.Page(context.Background(), x.Documents()[0].Page); err != nil || d.Outline || d.Sections[0].Text == "" {
			t.Errorf("its documents have no texts: %+v, %v", d, err)
		}
		x.Close()
	})
}

func TestSearchesOfAnIndexOnDiskLoadItOnce(t *testing.T) {
	x := opened(t, Options{Dir: t.TempDir(), Idle: time.Hour}, library(50, 1)...)
	for range 20 {
		x.replacing.Lock()
		x.current.Store(nil)
		x.replacing.Unlock()
		var group sync.WaitGroup
		var generations sync.Map
		for range 16 {
			group.Go(func() {
				if _, err := x.Search(context.Background(), retrieval.Query{Text: "install", Limit: 5}); err != nil {
					t.Error(err)
				}
				generations.Store(x.current.Load(), true)
			})
		}
		group.Go(func() { x.unload() })
		group.Go(func() {
			if err := x.Replace(context.Background(), x.Documents(), nil); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
	}
	x.Close()
}

func TestALostSnapshotIsIndexedAgain(t *testing.T) {
	for name, lose := range map[string]func(file string) error{
		"removed": os.Remove,
		"damaged": func(file string) error { return os.WriteFile(file, []byte("nonsense"), 0o600) },
		"replaced": func(file string) error {
			other := opened(t, Options{Dir: filepath.Dir(file)}, page("other", "Other", "Other", "Install nothing."))
			return other.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var lost atomic.Int32
			x := opened(t, Options{Dir: dir, Idle: time.Hour, Lost: func() { lost.Add(1) }}, hashed()...)
			outlines := x.Documents()
			if err := lose(filepath.Join(dir, snapshotFile)); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, err := x.Search(context.Background(), retrieval.Query{Text: "install"}); !errors.Is(err, retrieval.ErrNotReady) {
					t.Errorf("search: %v, want ErrNotReady", err)
				}
			}
			if lost.Load() != 1 || x.Documents() != nil {
				t.Errorf("Lost was called %d times, with %d documents left; want once, and none", lost.Load(), len(x.Documents()))
			}
			if err := x.Replace(context.Background(), outlines, nil); err == nil {
				t.Error("outlines without their documents were published")
			}
			if err := x.Replace(context.Background(), hashed(), nil); err != nil {
				t.Fatal(err)
			}
			if len(search(t, x, retrieval.Query{Text: "install"})) == 0 {
				t.Error("nothing is found after the site was indexed again")
			}
			x.Close()
		})
	}
}

func TestAnIndexThatCannotBeStoredStaysInMemory(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		x := opened(t, Options{Dir: filepath.Join(blocked, "below"), Idle: time.Minute}, hashed()...)
		for range 2 {
			if len(search(t, x, retrieval.Query{Text: "install"})) == 0 || search(t, x, retrieval.Query{Text: "install"})[0].Content() == "" {
				t.Fatal("nothing is found")
			}
			time.Sleep(time.Hour)
		}
		x.Close()
	})
}

// What an idle index no longer needs is free to be collected: the words of its
// pages, too.
func TestAnIdleIndexHoldsNoWords(t *testing.T) {
	x := opened(t, Options{Dir: t.TempDir(), Idle: time.Minute})
	for range 2 { // the second one has a generation to replace
		if err := x.Replace(t.Context(), library(30, 1), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Page(t.Context(), "p0"); err != nil {
			t.Fatal(err)
		}
	}
	words := weak.Make(x.current.Load().words[0])
	x.idle.used.Store(0)
	x.unload()
	runtime.GC()
	if x.current.Load() != nil || words.Value() != nil {
		t.Errorf("the generation is %p, the words of its first page %p", x.current.Load(), words.Value())
	}
	runtime.KeepAlive(x)
}
