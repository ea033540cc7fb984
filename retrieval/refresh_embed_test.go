package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// embedded counts the sections that have a vector in the index.
func (x *memoryIndex) embedded() (have, sections int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, d := range x.documents {
		for j := range d.Sections {
			sections++
			if x.vectors != nil && x.vectors[i][j] != nil {
				have++
			}
		}
	}
	return have, sections
}

// running runs a Refresher in a bubble until the test ends.
func running(t *testing.T, o retrieval.RefresherOptions) (r *retrieval.Refresher, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	r = retrieval.NewRefresher(o)
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	synctest.Wait()
	return r, func() { cancel(); <-done }
}

func TestSectionsAreEmbedded(t *testing.T) {
	dir := t.TempDir()
	options := func(s *memorySource, x *memoryIndex, e retrieval.Embedder, l *logLines) retrieval.RefresherOptions {
		return retrieval.RefresherOptions{Site: "acme", Source: s, Ingester: lineIngester{}, Index: x, Embedder: e, Dir: dir, Log: l.logger()}
	}
	many := map[string]string{}
	for i := range 100 {
		many[fmt.Sprintf("p%d.md", i)] = fmt.Sprintf("first %d\nsecond %d", i, i)
	}
	source, index, embedder := newMemorySource(many), newMemoryIndex(), &wordEmbedder{delay: 10 * time.Second}
	t.Run("keywords don't wait for vectors", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var log logLines
			o := options(source, index, embedder, &log)
			var published []int
			o.OnVectors = func(sections int) { published = append(published, sections) }
			r, stop := running(t, o)
			defer stop()
			if have, sections := index.embedded(); have != 0 || sections != 200 || r.HasVectors() {
				t.Errorf("at once: %d of %d", have, sections)
			}
			if s := r.Status(); s.State != retrieval.Embedding || s.Total != 200 {
				t.Errorf("status %+v", s)
			}
			time.Sleep(time.Minute)
			if have, _ := index.embedded(); have != 200 || index.count() != 2 || !r.HasVectors() {
				t.Errorf("after a minute: %d in generation %d", have, index.count())
			}
			if calls, texts := embedder.count(); calls != 4 || texts != 200 {
				t.Errorf("%d calls for %d texts", calls, texts)
			}
			if s := r.Status(); s.State != retrieval.Idle || s.Embeddings.Done != 200 {
				t.Errorf("status %+v %+v", s, s.Embeddings)
			}
			if !strings.Contains(log.String(), `msg="vectors published" site=acme model=letters vectors=200 sections=200`) {
				t.Errorf("log:\n%s", &log)
			}
			if !slices.Equal(published, []int{200}) {
				t.Errorf("publications of vectors: %v", published)
			}
		})
	})
	t.Run("a changed section alone is embedded again, after a restart too", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var log logLines
			source.changed = nil
			source.set(func(f map[string]string) { f["p7.md"] = "first 7\nanother" })
			_, stop := running(t, options(source, index, embedder, &log))
			defer stop()
			if have, _ := index.embedded(); have != 199 {
				t.Errorf("%d vectors came from the cache", have)
			}
			time.Sleep(time.Minute)
			if have, _ := index.embedded(); have != 200 {
				t.Errorf("%d vectors in the end", have)
			}
			if calls, texts := embedder.count(); calls != 5 || texts != 201 {
				t.Errorf("%d calls for %d texts", calls, texts)
			}
		})
	})
	t.Run("nothing changed: no call, no generation", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source.changed = nil
			generations := index.count()
			r, stop := running(t, options(source, index, embedder, &logLines{}))
			defer stop()
			time.Sleep(time.Hour)
			if calls, _ := embedder.count(); calls != 5 || index.count() != generations || !r.HasVectors() {
				t.Errorf("%d calls, generation %d", calls, index.count())
			}
		})
	})
	t.Run("another model embeds all, and without one the vectors go", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source.changed = nil
			other := &wordEmbedder{model: "2", length: 8}
			_, stop := running(t, options(source, index, other, &logLines{}))
			time.Sleep(time.Minute)
			stop()
			if _, texts := other.count(); texts != 200 {
				t.Errorf("%d texts", texts)
			}
			if have, _ := index.embedded(); have != 200 || len(index.vectors[0][0]) != 8 {
				t.Errorf("%d vectors of length %d", have, len(index.vectors[0][0]))
			}
			_, stop = running(t, options(source, index, nil, &logLines{}))
			stop()
			if have, _ := index.embedded(); have != 0 {
				t.Errorf("%d vectors left", have)
			}
		})
	})
}

func TestAnEmbedderThatFailsIsTriedAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, index, embedder := newMemorySource(numbered(5)), newMemoryIndex(), &wordEmbedder{fail: errors.New("connection refused")}
		var log logLines
		r, stop := running(t, retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index, Embedder: embedder, Log: log.logger()})
		defer stop()
		time.Sleep(time.Hour)
		if s := r.Status(); s.State != retrieval.Idle || !strings.Contains(s.Embeddings.Error, "refused") || s.Pages != 5 {
			t.Errorf("status %+v %+v", s, s.Embeddings)
		}
		if calls, _ := embedder.count(); calls > 100 {
			t.Errorf("%d calls in an hour", calls)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings:\n%s", n, &log)
		}
		embedder.set(func() { embedder.fail = nil })
		time.Sleep(10 * time.Minute)
		if have, _ := index.embedded(); have != 5 {
			t.Errorf("%d vectors after it came back", have)
		}
		if s := r.Status(); s.Embeddings.Error != "" {
			t.Errorf("status %+v", s.Embeddings)
		}
	})
}

func TestATextThatTheEmbedderRefusesIsShortenedOrLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := numbered(30)
		files["long.md"] = strings.Repeat("long ", 1000)
		files["cursed.md"] = "cursed"
		source, index, embedder := newMemorySource(files), newMemoryIndex(), &wordEmbedder{}
		embedder.refuse = func(text string) bool { return len(text) > 2000 || strings.Contains(text, "cursed") }
		r, stop := running(t, retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index, Embedder: embedder})
		defer stop()
		time.Sleep(10 * time.Minute)
		if have, sections := index.embedded(); have != 31 || sections != 32 {
			t.Errorf("%d of %d sections have vectors", have, sections)
		}
		if s := r.Status(); s.Embeddings.Refused != 1 || s.Embeddings.Error != "" {
			t.Errorf("status %+v", s.Embeddings)
		}
		calls, _ := embedder.count()
		source.set(func(f map[string]string) { f["new.md"] = "new" })
		time.Sleep(10 * time.Minute)
		if now, _ := embedder.count(); now != calls+1 {
			t.Errorf("%d calls for one new page", now-calls)
		}
	})
}

// nullEmbedder returns vectors of zeros, as for null in JSON.
type nullEmbedder struct {
	*wordEmbedder
	null func(text string) bool
}

func (e nullEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := e.wordEmbedder.Embed(ctx, texts)
	for i := range vectors {
		if e.null(texts[i]) {
			clear(vectors[i])
		}
	}
	return vectors, err
}

// A vector of zeros is no vector: it is asked for again, and if a text never has
// another, all other texts have theirs.
func TestVectorsOfZerosAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := numbered(30)
		files["cursed.md"] = "cursed"
		var bad atomic.Bool
		bad.Store(true)
		embedder := nullEmbedder{&wordEmbedder{}, func(text string) bool { return bad.Load() || strings.Contains(text, "cursed") }}
		index := newMemoryIndex()
		r, stop := running(t, retrieval.RefresherOptions{Source: newMemorySource(files), Ingester: lineIngester{}, Index: index, Embedder: embedder})
		defer stop()
		if s := r.Status(); s.Embeddings.Error == "" || s.Embeddings.Done != 0 {
			t.Errorf("while all are zeros: %+v", s.Embeddings)
		}
		bad.Store(false)
		time.Sleep(10 * time.Minute)
		if have, sections := index.embedded(); have != 30 || sections != 31 {
			t.Errorf("%d of %d sections have vectors", have, sections)
		}
		if s := r.Status(); s.Embeddings.Refused != 1 || s.Embeddings.Error != "" {
			t.Errorf("status %+v", s.Embeddings)
		}
	})
}

// Vectors that are missing from the file after a restart are published once they
// are made again.
func TestLostVectorsArePublishedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, index, source := t.TempDir(), newMemoryIndex(), newMemorySource(numbered(3))
		for restart := range 2 {
			_, stop := running(t, retrieval.RefresherOptions{Source: source, Ingester: lineIngester{}, Index: index, Embedder: &wordEmbedder{}, Dir: dir})
			time.Sleep(10 * time.Minute)
			stop()
			if have, _ := index.embedded(); have != 3 {
				t.Errorf("after %d restarts, %d sections have vectors", restart, have)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "vectors-*.bin"))
			if len(files) != 1 || os.Remove(files[0]) != nil {
				t.Fatal(files)
			}
			clear(index.vectors[0])
		}
	})
}

// While lost vectors can't be made again, those of the index are still searched.
func TestLostVectorsAreSearchedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := retrieval.RefresherOptions{Source: newMemorySource(numbered(3)), Ingester: lineIngester{}, Index: newMemoryIndex(), Embedder: &wordEmbedder{}, Dir: t.TempDir()}
		_, stop := running(t, o)
		time.Sleep(10 * time.Minute)
		stop()
		files, _ := filepath.Glob(filepath.Join(o.Dir, "vectors-*.bin"))
		if len(files) != 1 || os.Remove(files[0]) != nil {
			t.Fatal(files)
		}
		o.Embedder = nullEmbedder{&wordEmbedder{}, func(string) bool { return true }}
		r, stop := running(t, o)
		defer stop()
		time.Sleep(10 * time.Minute)
		if s := r.Status(); !r.HasVectors() || s.Embeddings.Done != 0 || s.Embeddings.Error == "" {
			t.Errorf("has vectors: %t, status %+v", r.HasVectors(), s.Embeddings)
		}
	})
}

// slowEmbedder needs a second for each text and is given up after fifty.
type slowEmbedder struct{ *wordEmbedder }

func (e slowEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Second)
	defer cancel()
	select {
	case <-time.After(time.Duration(len(texts)) * time.Second):
		return e.wordEmbedder.Embed(ctx, texts)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestBatchesShrinkForASlowEmbedder(t *testing.T) {
	pages := map[string]string{}
	for i := range 150 {
		pages[fmt.Sprintf("p%d.md", i)] = fmt.Sprintf("word %d", i)
	}
	synctest.Test(t, func(t *testing.T) {
		var log logLines
		index := newMemoryIndex()
		_, stop := running(t, retrieval.RefresherOptions{
			Site: "acme", Source: newMemorySource(pages), Ingester: lineIngester{}, Index: index,
			Embedder: slowEmbedder{&wordEmbedder{}}, Log: log.logger(),
		})
		defer stop()
		time.Sleep(10 * time.Minute) // of the bubble's clock
		if have, sections := index.embedded(); have != sections || sections != 150 {
			t.Errorf("%d of %d sections have vectors", have, sections)
		}
	})
}
