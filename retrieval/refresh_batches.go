package retrieval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// embedAll embeds the texts in batches, some at once. It returns the first
// error that says the embedder is down.
func (e *embedding) embedAll(ctx context.Context, wants []want) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	batches := make(chan []want)
	var group sync.WaitGroup
	for range batchesAtOnce {
		group.Go(func() {
			for batch := range batches {
				if err := e.embed(ctx, batch); err != nil {
					cancel(err)
				}
			}
		})
	}
	published := time.Now()
	for len(wants) > 0 && ctx.Err() == nil {
		n := batchLen(wants, e.batch.texts())
		select {
		case batches <- wants[:n]:
			wants = wants[n:]
		case <-ctx.Done():
		}
		if time.Since(published) > republishEvery && len(wants) > 0 && ctx.Err() == nil {
			if err := e.republish(ctx, published); err != nil {
				cancel(err)
			}
			published = time.Now()
		}
	}
	close(batches)
	group.Wait()
	return context.Cause(ctx)
}

func batchLen(wants []want, texts int) int {
	size := 0
	for i, w := range wants {
		if size += len(w.text); i == texts || i > 0 && size > maxBatchBytes {
			return i
		}
	}
	return len(wants)
}

// batchSize is how many texts go into one request: fewer where answers take
// long. A model on a processor may need a second a text, and a full batch
// would run into the time limit again and again.
type batchSize struct{ n atomic.Int64 }

func (b *batchSize) texts() int {
	if n := b.n.Load(); n > 0 {
		return int(n)
	}
	return maxBatchTexts
}

// took adapts the size to how long a batch of n texts took.
func (b *batchSize) took(n int, d time.Duration) {
	now := b.texts()
	switch {
	case d > slowBatch:
		b.n.Store(int64(max(now/2, minBatchTexts)))
	case d < fastBatch && n >= now:
		b.n.Store(int64(min(now*2, maxBatchTexts)))
	}
}

// embed embeds one batch. Where the endpoint refuses the batch but not a
// word that no model minds, the texts are at fault: they are tried apart,
// then shortened, then given up. An error means that the embedder is down.
func (e *embedding) embed(ctx context.Context, batch []want) error {
	vectors, err := e.ask(ctx, texts(batch), batchAttempts)
	if err == nil {
		keys := make([]VectorKey, len(batch))
		for i, w := range batch {
			keys[i] = w.key
		}
		err := e.cache.Put(keys, vectors)
		e.mu.Lock()
		first := err != nil && !e.putFailed
		e.putFailed = err != nil
		e.mu.Unlock()
		if first {
			e.r.log.Warn("vectors can't be written to disk and are kept in memory", "error", err)
		}
		e.update(func(s *EmbeddingStatus) { s.Done = min(s.Done+len(batch), s.Total) })
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	if _, probe := e.ask(ctx, []string{probeText}, 1); probe != nil {
		return err
	}
	if len(batch) > 1 {
		half := len(batch) / 2
		return errors.Join(e.embed(ctx, batch[:half]), e.embed(ctx, batch[half:]))
	}
	if text := batch[0].text; len(text) > maxEmbedText/16 {
		return e.embed(ctx, []want{{batch[0].key, cut(text, len(text)/2)}})
	}
	e.mu.Lock()
	e.refused[batch[0].key] = true
	e.mu.Unlock()
	e.r.log.Warn("a section is refused by the embedder", "text", cut(batch[0].text, 80), "error", err)
	return nil
}

func texts(batch []want) []string {
	list := make([]string, len(batch))
	for i, w := range batch {
		list[i] = w.text
	}
	return list
}

// ask calls the embedder, again with growing pauses if it fails.
func (e *embedding) ask(ctx context.Context, texts []string, attempts int) (vectors [][]float32, err error) {
	pause := batchPause
	for try := range attempts {
		if try > 0 {
			wait(ctx, pause)
			pause *= 2
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		timed, cancel := context.WithTimeout(ctx, batchTimeout)
		began := time.Now()
		vectors, err = e.r.o.Embedder.Embed(timed, texts)
		cancel()
		took := time.Since(began)
		e.batch.took(len(texts), took)
		if err == nil {
			err = checkVectors(vectors, len(texts))
		}
		if err == nil {
			return vectors, nil
		}
		if took > slowBatch && len(texts) > minBatchTexts {
			return nil, err // the same again would take as long
		}
	}
	return nil, err
}

// checkVectors refuses what would spoil every comparison.
func checkVectors(vectors [][]float32, texts int) error {
	if len(vectors) != texts {
		return fmt.Errorf("the embedder gave %d vectors for %d texts", len(vectors), texts)
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return errors.New("the embedder gave vectors of different lengths")
		}
		for _, x := range v {
			if x64 := float64(x); math.IsNaN(x64) || math.IsInf(x64, 0) {
				return errors.New("the embedder gave a vector with a number that is none")
			}
		}
	}
	return nil
}
