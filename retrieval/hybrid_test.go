package retrieval_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// wordEmbedder is a deterministic embedder: a text's vector counts its
// letters. Tests slow it down or break it.
type wordEmbedder struct {
	mu    sync.Mutex
	calls [][]string
	delay time.Duration
	fail  error
	// refuse, where not nil, says which texts are refused.
	refuse func(text string) bool
	model  string
	length int
}

func (e *wordEmbedder) Model() string { return "letters" + e.model }

func (e *wordEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	e.calls = append(e.calls, texts)
	delay, fail, refuse, length := e.delay, e.fail, e.refuse, max(e.length, 4)
	e.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if fail != nil {
		return nil, fail
	}
	var vectors [][]float32
	for _, text := range texts {
		if refuse != nil && refuse(text) {
			return nil, errors.New("400: input is too large")
		}
		v := make([]float32, length)
		for _, c := range text {
			v[int(c)%length]++
		}
		vectors = append(vectors, v)
	}
	return vectors, nil
}

func (e *wordEmbedder) set(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
}

func (e *wordEmbedder) count() (calls, texts int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.calls {
		texts += len(c)
	}
	return len(e.calls), texts
}

// vectorIndex records the vector of the last query.
type vectorIndex struct {
	memoryIndex
	last []float32
}

func (x *vectorIndex) Search(_ context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last = q.Vector
	return []retrieval.Hit{}, nil
}

func TestQueriesAreEmbedded(t *testing.T) {
	setup := func() (*retrieval.HybridSearcher, *wordEmbedder, *vectorIndex, *logLines) {
		e, x, l := &wordEmbedder{}, &vectorIndex{}, &logLines{}
		return retrieval.NewHybridSearcher(retrieval.HybridOptions{Index: x, Embedder: e, Log: l.logger()}), e, x, l
	}
	// search returns how long it took and whether there was a vector.
	search := func(t *testing.T, h *retrieval.HybridSearcher, x *vectorIndex, text string) (time.Duration, bool) {
		t.Helper()
		start := time.Now()
		if _, err := h.Search(t.Context(), retrieval.Query{Text: text, Limit: 5}); err != nil {
			t.Fatal(err)
		}
		return time.Since(start), x.last != nil
	}
	bubble := func(name string, test func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}

	bubble("a query has its vector, the same query again makes no call", func(t *testing.T) {
		h, e, x, _ := setup()
		for _, text := range []string{"how to proxy", "  how  to proxy ", "other"} {
			if _, ok := search(t, h, x, text); !ok {
				t.Errorf("no vector for %q", text)
			}
		}
		if calls, _ := e.count(); calls != 2 {
			t.Errorf("%d calls", calls)
		}
		if c := h.Counts(); c.Embedded != 2 || c.Cached != 1 {
			t.Errorf("counts %+v", c)
		}
	})
	bubble("a query that brings its vector, or an index without any, asks for none", func(t *testing.T) {
		e, x := &wordEmbedder{}, &vectorIndex{}
		h := retrieval.NewHybridSearcher(retrieval.HybridOptions{Index: x, Embedder: e, Ready: func() bool { return false }})
		search(t, h, x, "a")
		h, _, _, _ = setup()
		if _, err := h.Search(t.Context(), retrieval.Query{Text: "a", Vector: []float32{1}}); err != nil {
			t.Fatal(err)
		}
		search(t, h, x, "   ")
		if calls, _ := e.count(); calls != 0 {
			t.Errorf("%d calls", calls)
		}
	})
	bubble("an embedder that is late costs the deadline, then nothing, until it has recovered", func(t *testing.T) {
		h, e, x, l := setup()
		e.set(func() { e.delay = time.Hour })
		for i := range 3 {
			if took, ok := search(t, h, x, strings.Repeat("a", i+1)); ok || took != 300*time.Millisecond {
				t.Errorf("query %d took %v, vector %v", i, took, ok)
			}
		}
		for range 20 {
			if took, ok := search(t, h, x, "b"); ok || took != 0 {
				t.Errorf("took %v, vector %v", took, ok)
			}
		}
		if c := h.Counts(); c.Late != 3 || c.Skipped != 20 {
			t.Errorf("counts %+v", c)
		}
		if n := strings.Count(l.String(), "level=WARN"); n != 1 {
			t.Errorf("%d log lines:\n%s", n, l)
		}
		waited := 0
		for i := range 100 {
			time.Sleep(time.Second)
			if took, _ := search(t, h, x, strings.Repeat("c", i+1)); took != 0 {
				waited++
			}
		}
		if waited < 5 || waited > 8 {
			t.Errorf("%d of 100 queries in 100 seconds tried the embedder", waited)
		}
		e.set(func() { e.delay = 0 })
		for ok := false; !ok; {
			time.Sleep(10 * time.Second)
			_, ok = search(t, h, x, "d")
		}
		if n := strings.Count(l.String(), "level=WARN"); n != 1 || !strings.Contains(l.String(), "has recovered") {
			t.Errorf("log:\n%s", l)
		}
	})
	bubble("a reader that leaves says nothing about the embedder", func(t *testing.T) {
		h, e, _, _ := setup()
		e.set(func() { e.delay = 200 * time.Millisecond })
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			h.Search(ctx, retrieval.Query{Text: "a"})
			cancel()
		}
		if c := h.Counts(); c != (retrieval.HybridCounts{}) {
			t.Errorf("counts %+v", c)
		}
	})
	bubble("an error is a keyword search", func(t *testing.T) {
		h, e, x, _ := setup()
		e.set(func() { e.fail = errors.New("401") })
		if _, ok := search(t, h, x, "a"); ok {
			t.Error("a vector came from nowhere")
		}
		if c := h.Counts(); c.Failed != 1 {
			t.Errorf("counts %+v", c)
		}
	})
	bubble("a hanging embedder gets a limited number of calls", func(t *testing.T) {
		h, e, _, _ := setup()
		e.set(func() { e.delay = time.Hour })
		var group sync.WaitGroup
		for i := range 200 {
			group.Go(func() { h.Search(t.Context(), retrieval.Query{Text: strings.Repeat("x", i+1)}) })
		}
		group.Wait()
		if calls, _ := e.count(); calls > 16 {
			t.Errorf("%d calls in progress at once", calls)
		}
	})
	bubble("the cache is bounded", func(t *testing.T) {
		h, e, x, _ := setup()
		for i := range 1001 {
			search(t, h, x, strings.Repeat("y", i+1))
		}
		search(t, h, x, strings.Repeat("y", 1001))
		if calls, _ := e.count(); calls != 1001 {
			t.Errorf("%d calls after the last query came again", calls)
		}
		search(t, h, x, "y")
		if calls, _ := e.count(); calls != 1002 {
			t.Errorf("%d calls: the oldest vector was kept", calls)
		}
	})
}

// prefixEmbedder embeds queries another way than passages.
type prefixEmbedder struct{ *wordEmbedder }

func (e prefixEmbedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := e.Embed(ctx, []string{"query: " + text})
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

func TestQueriesAreEmbeddedAsQueriesWhereTheModelTellsThemApart(t *testing.T) {
	index := &vectorIndex{}
	h := retrieval.NewHybridSearcher(retrieval.HybridOptions{Index: index, Embedder: prefixEmbedder{&wordEmbedder{}}})
	if _, err := h.Search(t.Context(), retrieval.Query{Text: "rocket"}); err != nil {
		t.Fatal(err)
	}
	plain, err := (&wordEmbedder{}).Embed(t.Context(), []string{"query: rocket"})
	if err != nil {
		t.Fatal(err)
	}
	if got := index.last; !slices.Equal(got, plain[0]) {
		t.Errorf("the query's vector is %v, want that of the prefixed text %v", got, plain[0])
	}
}
