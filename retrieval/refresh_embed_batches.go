package retrieval

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/caddy-docs/caddy-docs/retrieval/disk"
	"github.com/caddy-docs/caddy-docs/short"
)

// Limits of the requests to an embedder.
const (
	// maxBatchTexts is halved, for the life of the process, when a request
	// takes longer than slowBatch: a model on a CPU may need a second for each
	// text.
	maxBatchTexts = 64
	maxBatchBytes = 100_000
	slowBatch     = 20 * time.Second
	// concurrentBatches is small enough for servers on CPUs.
	concurrentBatches = 2
	batchTimeout      = 2 * time.Minute
	// probeText finds out whether an embedder that refuses a batch refuses
	// every text.
	probeText = "documentation"
)

// text is a section without a vector.
type text struct {
	key      disk.Key
	document *Document // or its outline
	section  int
}

// embedAll embeds texts in batches. It returns the first error that means
// that the embedder is down.
func (e *embeddings) embedAll(ctx context.Context, texts []text) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentBatches)
	published := time.Now()
	var last *Document // of outlines, one document is in memory
	for len(texts) > 0 && groupCtx.Err() == nil {
		keys, batch, err := e.batch(groupCtx, texts, &last)
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		texts = texts[len(batch):]
		group.Go(func() error { return e.embed(groupCtx, keys, batch) })
		if time.Since(published) > e.publishAfter() && len(texts) > 0 && groupCtx.Err() == nil {
			if err := e.publish(groupCtx); err != nil {
				return errors.Join(err, group.Wait())
			}
			published = time.Now()
		}
	}
	return group.Wait()
}

// storedBatch is how many vectors are read at once from an index that has some.
const storedBatch = 500

// stored takes the vectors of texts that the index or others have already, and
// returns the texts to embed.
func (e *embeddings) stored(ctx context.Context, texts []text) (others []text) {
	known := e.refresher.options.Vectors
	remote, ok := e.refresher.options.Index.(Remote)
	if !ok && known == nil {
		return texts
	}
	for batch := range slices.Chunk(texts, storedBatch) {
		var pages []string
		var sections []int
		all := make([]disk.Key, len(batch))
		for i, t := range batch {
			pages, sections, all[i] = append(pages, t.document.Page), append(sections, t.section), t.key
		}
		var found [][]float32
		if known != nil {
			found = known(ctx, all)
		} else {
			found = remote.Vectors(ctx, pages, sections)
		}
		var keys []disk.Key
		var vectors [][]float32
		for i, v := range found {
			if v == nil || disk.CheckVectors([][]float32{v}, 1) != nil {
				others = append(others, batch[i])
			} else {
				keys, vectors = append(keys, batch[i].key), append(vectors, v)
			}
		}
		if len(keys) > 0 {
			e.put(keys, vectors)
		}
	}
	if known != nil {
		return nil // the others will have them
	}
	return others
}

// batch returns the first texts, as many as are embedded at once. last is the
// document that was loaded last.
func (e *embeddings) batch(ctx context.Context, texts []text, last **Document) (keys []disk.Key, batch []string, err error) {
	size := 0
	for _, t := range texts[:min(len(texts), int(e.batchSize.Load()))] {
		d := t.document
		if d.Outline {
			if *last == nil || (*last).Page != d.Page {
				if *last, err = e.whole(ctx, d); err != nil {
					return nil, nil, err
				}
			}
			d = *last
		}
		text := sectionText(d, &d.Sections[t.section])
		if size += len(text); len(batch) > 0 && size > maxBatchBytes {
			break
		}
		keys, batch = append(keys, t.key), append(batch, text)
	}
	return keys, batch, nil
}

// embed embeds one batch. If the embedder refuses the batch but not
// probeText, it tries smaller batches, then shorter texts, and then leaves the
// text out. An error means that the embedder is down.
func (e *embeddings) embed(ctx context.Context, keys []disk.Key, texts []string) error {
	vectors, err := e.request(ctx, texts)
	if err == nil {
		e.put(keys, vectors)
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	if _, probe := e.request(ctx, []string{probeText}); probe != nil {
		return err
	}
	if half := len(texts) / 2; half > 0 {
		return errors.Join(e.embed(ctx, keys[:half], texts[:half]), e.embed(ctx, keys[half:], texts[half:]))
	}
	if length := len(texts[0]); length > maxSectionText/16 {
		return e.embed(ctx, keys, []string{short.Bytes(texts[0], length/2)})
	}
	e.mu.Lock()
	e.refused[keys[0]] = true
	e.mu.Unlock()
	e.refresher.log.Warn("the embedder refuses a section", "text", short.Bytes(texts[0], 80), "error", err)
	return nil
}

// put stores new vectors in the cache.
func (e *embeddings) put(keys []disk.Key, vectors [][]float32) {
	err := e.cache.Put(keys, vectors)
	e.mu.Lock()
	first := err != nil && !e.putFailed
	e.putFailed = err != nil
	e.mu.Unlock()
	e.setStatus(func(s *EmbeddingStatus) { s.Done = min(s.Done+len(keys), s.Total) })
	if first {
		e.refresher.log.Warn("vectors can't be written to disk; they are kept in memory", "error", err)
	}
}

// request calls the embedder, which tries again itself where that helps.
func (e *embeddings) request(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	began := time.Now()
	vectors, err := e.refresher.options.Embedder.Embed(ctx, texts)
	if n := e.batchSize.Load(); time.Since(began) > slowBatch && int64(len(texts)) >= n {
		e.batchSize.CompareAndSwap(n, max(n/2, 1))
	}
	if err == nil {
		err = disk.CheckVectors(vectors, len(texts))
	}
	return vectors, err
}
