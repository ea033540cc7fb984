package retrieval_test

import (
	"context"
	"errors"
	"log/slog"
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

func always() bool { return true }

func TestQueriesAreEmbedded(t *testing.T) {
	setup := func() (*retrieval.QueryVectors, *wordEmbedder, *logLines) {
		e, l := &wordEmbedder{}, &logLines{}
		return retrieval.NewQueryVectors(e, always, l.logger()), e, l
	}
	// embed returns how long it took and whether there was a vector.
	embed := func(t *testing.T, v *retrieval.QueryVectors, text string) (time.Duration, bool) {
		start := time.Now()
		q := v.WithVector(t.Context(), retrieval.Query{Text: text, Limit: 5})
		ok := q.Embedded() != nil
		return time.Since(start), ok
	}
	bubble := func(name string, test func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}

	bubble("a query has its vector, the same query again makes no call", func(t *testing.T) {
		v, e, _ := setup()
		for _, text := range []string{"how to proxy", "  how  to proxy ", "other"} {
			if _, ok := embed(t, v, text); !ok {
				t.Errorf("no vector for %q", text)
			}
		}
		if calls, _ := e.count(); calls != 2 {
			t.Errorf("%d calls", calls)
		}
		if c := v.Counts(); c.Embedded != 2 || c.Cached != 1 {
			t.Errorf("counts %+v", c)
		}
	})
	bubble("a query that brings its vector, or an index without any, asks for none", func(t *testing.T) {
		e := &wordEmbedder{}
		v := retrieval.NewQueryVectors(e, func() bool { return false }, slog.Default())
		embed(t, v, "a")
		v, _, _ = setup()
		if q := v.WithVector(t.Context(), retrieval.Query{Text: "a", Vector: []float32{1}}); len(q.Embedded()) != 1 {
			t.Errorf("the query's own vector became %v", q.Vector)
		}
		embed(t, v, "   ")
		if calls, _ := e.count(); calls != 0 {
			t.Errorf("%d calls", calls)
		}
	})
	bubble("an embedder that is late costs the deadline, then nothing, until it has recovered", func(t *testing.T) {
		v, e, l := setup()
		e.set(func() { e.delay = time.Hour })
		for i := range 3 {
			if took, ok := embed(t, v, strings.Repeat("a", i+1)); ok || took != 300*time.Millisecond {
				t.Errorf("query %d took %v, vector %v", i, took, ok)
			}
		}
		for range 20 {
			if took, ok := embed(t, v, "b"); ok || took != 0 {
				t.Errorf("took %v, vector %v", took, ok)
			}
		}
		if c := v.Counts(); c.Late != 3 || c.Skipped != 20 {
			t.Errorf("counts %+v", c)
		}
		if n := strings.Count(l.String(), "level=WARN"); n != 1 {
			t.Errorf("%d log lines:\n%s", n, l)
		}
		waited := 0
		for i := range 100 {
			time.Sleep(time.Second)
			if took, _ := embed(t, v, strings.Repeat("c", i+1)); took != 0 {
				waited++
			}
		}
		if waited < 5 || waited > 8 {
			t.Errorf("%d of 100 queries in 100 seconds tried the embedder", waited)
		}
		e.set(func() { e.delay = 0 })
		for ok := false; !ok; {
			time.Sleep(10 * time.Second)
			_, ok = embed(t, v, "d")
		}
		if n := strings.Count(l.String(), "level=WARN"); n != 1 || !strings.Contains(l.String(), "has recovered") {
			t.Errorf("log:\n%s", l)
		}
	})
	bubble("a reader that leaves says nothing about the embedder", func(t *testing.T) {
		v, e, _ := setup()
		e.set(func() { e.delay = 200 * time.Millisecond })
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			q := v.WithVector(ctx, retrieval.Query{Text: "a"})
			q.Embedded()
			cancel()
		}
		if c := v.Counts(); c != (retrieval.QueryVectorCounts{}) {
			t.Errorf("counts %+v", c)
		}
	})
	bubble("an error is a keyword search", func(t *testing.T) {
		v, e, _ := setup()
		e.set(func() { e.fail = errors.New("401") })
		if _, ok := embed(t, v, "a"); ok {
			t.Error("a vector came from nowhere")
		}
		if c := v.Counts(); c.Failed != 1 {
			t.Errorf("counts %+v", c)
		}
	})
	bubble("a hanging embedder gets a limited number of calls", func(t *testing.T) {
		v, e, _ := setup()
		e.set(func() { e.delay = time.Hour })
		var group sync.WaitGroup
		for i := range 200 {
			group.Go(func() { embed(t, v, strings.Repeat("x", i+1)) })
		}
		group.Wait()
		if calls, _ := e.count(); calls > 16 {
			t.Errorf("%d calls in progress at once", calls)
		}
	})
	bubble("the cache is bounded", func(t *testing.T) {
		v, e, _ := setup()
		for i := range 1001 {
			embed(t, v, strings.Repeat("y", i+1))
		}
		embed(t, v, strings.Repeat("y", 1001))
		if calls, _ := e.count(); calls != 1001 {
			t.Errorf("%d calls after the last query came again", calls)
		}
		embed(t, v, "y")
		if calls, _ := e.count(); calls != 1002 {
			t.Errorf("%d calls: the oldest vector was kept", calls)
		}
	})
}

// panicking is another plugin's embedder, with a bug.
type panicking struct{ *wordEmbedder }

func (panicking) EmbedQuery(context.Context, string) ([]float32, error) { panic("a bug") }

func TestAnEmbedderThatPanicsLeavesAKeywordSearch(t *testing.T) {
	v := retrieval.NewQueryVectors(panicking{&wordEmbedder{}}, always, slog.Default())
	q := v.WithVector(t.Context(), retrieval.Query{Text: "rocket"})
	if got := q.Embedded(); got != nil || v.Counts().Failed != 1 {
		t.Errorf("%v, %+v", got, v.Counts())
	}
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
	v := retrieval.NewQueryVectors(prefixEmbedder{&wordEmbedder{}}, always, slog.Default())
	q := v.WithVector(t.Context(), retrieval.Query{Text: "rocket"})
	got := q.Embedded()
	plain, err := (&wordEmbedder{}).Embed(t.Context(), []string{"query: rocket"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, plain[0]) {
		t.Errorf("the query's vector is %v, want that of the prefixed text %v", got, plain[0])
	}
}
