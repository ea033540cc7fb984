package retrieval

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval/disk"
	"github.com/caddy-docs/caddy-docs/short"
)

// Limits of embedding a site's sections.
const (
	// maxSectionText is the length of a section's text that is embedded, in
	// bytes. Models read 256 to 8,192 tokens.
	maxSectionText = 6000
	// After a failure of the embedder it is asked again after embedRetry,
	// doubled up to maxEmbedRetry.
	embedRetry    = 5 * time.Second
	maxEmbedRetry = 5 * time.Minute
	// remoteInterval is how often a Remote is asked.
	remoteInterval = 10 * time.Second
	// publishInterval is how often new vectors are published while others
	// are still being made.
	publishInterval = time.Minute
	// publishPause is how many times as long as publishing takes is waited at
	// least: an index in other servers may take many minutes.
	publishPause = 5
)

// EmbeddingStatus is the progress of embedding a site's sections.
type EmbeddingStatus struct {
	Model string `json:"model"`
	// Done of Total sections have a vector.
	Done  int `json:"done"`
	Total int `json:"total"`
	// Refused sections get no vector: the embedder refuses their text.
	Refused int `json:"refused,omitempty"`
	// Error is why embedding is paused, "" if it isn't.
	Error string `json:"error,omitempty"`
}

// embeddings makes the vectors of a Refresher's sections in the background.
type embeddings struct {
	refresher *Refresher
	model     string
	woken     chan struct{}
	// published is true if the served generation has vectors.
	published atomic.Bool
	took      atomic.Int64 // time.Duration of the latest publication
	batchSize atomic.Int64 // texts

	mu sync.Mutex
	// refused are texts that the embedder takes in no form. They are tried
	// again after a restart. Between batches, they are read without mu.
	refused   map[disk.Key]bool
	putFailed bool
	// notes are the keys of documents that were read since the last generation,
	// of which only the outline is at hand.
	notes map[string][]disk.Key // by Document.Key

	// The holder of the Refresher's lock uses these. cache is set once.
	cache *disk.Vectors
	keys  [][]disk.Key // of the sections of Refresher.documents
}

func newEmbeddings(r *Refresher) *embeddings {
	model := r.options.Embedder.Model()
	r.status.Embeddings = &EmbeddingStatus{Model: model}
	e := &embeddings{
		refresher: r, model: model, woken: make(chan struct{}, 1),
		refused: map[disk.Key]bool{}, notes: map[string][]disk.Key{},
	}
	e.batchSize.Store(maxBatchTexts)
	return e
}

// publishAfter returns how long after a publication the next one begins while
// vectors are still being made.
func (e *embeddings) publishAfter() time.Duration {
	return max(publishInterval, publishPause*time.Duration(e.took.Load()))
}

// load opens the cache. Each model has its own file, so that going back to a
// model costs nothing.
func (e *embeddings) load() {
	path := ""
	if dir := e.refresher.options.Dir; dir != "" {
		name := disk.KeyOf(e.model, "")
		path = filepath.Join(dir, "vectors-"+hex.EncodeToString(name[:6])+".bin")
	}
	var err error
	if e.cache, err = disk.OpenVectors(path); err != nil {
		e.refresher.log.Warn("the vectors of earlier runs can't be read; all sections will be embedded again", "error", err)
	}
	// Without a document, its keys are missing until it is read again.
	e.keys, err = e.keysOf(context.Background(), e.refresher.documents)
	if err != nil {
		e.refresher.documents = nil
	}
	if table := e.refresher.table; table.Model == e.model {
		e.published.Store(table.Vectors > 0)
		// What was lost, which the index may still have, is published again once
		// it is made.
		table.Vectors = min(table.Vectors, e.known(e.keys))
	}
}

func (e *embeddings) setStatus(change func(*EmbeddingStatus)) {
	e.refresher.setStatus(func(s *Status) { change(s.Embeddings) })
}

// wake makes run look for sections without a vector.
func (e *embeddings) wake() {
	select {
	case e.woken <- struct{}{}:
	default:
	}
}

// sectionText is what the model reads of a section.
func sectionText(d *Document, s *Section) string {
	var b strings.Builder
	b.WriteString(d.Title)
	for _, h := range append(slices.Clip(s.Path), s.Heading) {
		if h != "" && h != d.Title {
			b.WriteString(" > ")
			b.WriteString(h)
		}
	}
	b.WriteString("\n\n")
	b.WriteString(s.Text)
	return short.Bytes(b.String(), maxSectionText)
}

func (e *embeddings) keysOfDocument(d *Document) []disk.Key {
	keys := make([]disk.Key, len(d.Sections))
	for j := range d.Sections {
		keys[j] = disk.KeyOf(e.model, sectionText(d, &d.Sections[j]))
	}
	return keys
}

// note remembers the keys of a document that leaves memory.
func (e *embeddings) note(d *Document) {
	keys := e.keysOfDocument(d)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notes[d.Key()] = keys
}

// keysOf returns the keys of the sections of documents. Those of outlines are
// noted, or known from the current generation, or the document is loaded.
func (e *embeddings) keysOf(ctx context.Context, documents []*Document) ([][]disk.Key, error) {
	e.mu.Lock()
	notes := e.notes
	e.notes = map[string][]disk.Key{}
	e.mu.Unlock()
	for i, keys := range e.keys { // none before the first generation
		if d := e.refresher.documents[i]; d.Outline && notes[d.Key()] == nil {
			notes[d.Key()] = keys
		}
	}
	keys := make([][]disk.Key, len(documents))
	for i, d := range documents {
		if d.Outline {
			if keys[i] = notes[d.Key()]; keys[i] != nil || len(d.Sections) == 0 {
				continue
			}
			var err error
			if d, err = e.whole(ctx, d); err != nil {
				return nil, err
			}
		}
		keys[i] = e.keysOfDocument(d)
	}
	return keys, nil
}

// whole returns the document of an outline.
func (e *embeddings) whole(ctx context.Context, d *Document) (*Document, error) {
	if !d.Outline {
		return d, nil
	}
	full, err := e.refresher.options.Index.Page(ctx, d.Page)
	if err != nil {
		return nil, fmt.Errorf("reading page %q to embed it: %w", d.Page, err)
	}
	if full == nil || full.Key() != d.Key() || len(full.Sections) != len(d.Sections) {
		return nil, fmt.Errorf("page %q has changed", d.Page)
	}
	return full, nil
}

// known returns how many keys are in the cache.
func (e *embeddings) known(keys [][]disk.Key) (known int) {
	total := 0
	for _, k := range keys {
		total += len(k)
		for _, key := range k {
			if e.cache.Has(key) {
				known++
			}
		}
	}
	e.setStatus(func(s *EmbeddingStatus) { s.Done, s.Total = known, total })
	return known
}

// missing lists the texts to embed, each once, and reports whether the index
// lacks vectors that are known.
func (e *embeddings) missing(ctx context.Context) (texts []text, unpublished bool) {
	r := e.refresher
	if r.lock.Acquire(ctx, 1) != nil {
		return nil, false
	}
	defer r.lock.Release(1)
	if r.table == nil {
		return nil, false // the first refresh has not begun
	}
	seen := map[disk.Key]bool{}
	total, known, refused := 0, 0, 0
	for i, d := range r.documents {
		for j, key := range e.keys[i] {
			total++
			switch {
			case e.cache.Has(key):
				known++
			case e.refused[key]:
				refused++
			case !seen[key]:
				seen[key] = true
				texts = append(texts, text{key, d, j})
			}
		}
	}
	e.setStatus(func(s *EmbeddingStatus) { s.Done, s.Total, s.Refused = known, total, refused })
	unpublished = r.table.Vectors != known || known > 0 && (r.table.Model != e.model || e.lost())
	return texts, unpublished
}

// lost reports whether the index has lost vectors that it was given.
func (e *embeddings) lost() bool {
	k, ok := e.refresher.options.Index.(Remote)
	return ok && k.LacksVectors()
}

// run makes the vectors that are missing until ctx is done.
func (e *embeddings) run(ctx context.Context) {
	failures := 0 // in a row
	for {
		pause := remoteInterval
		if failures > 0 {
			pause = backoff(embedRetry, maxEmbedRetry, failures)
		}
		select {
		case <-ctx.Done():
			return
		case <-e.woken:
		case <-time.After(pause):
			if failures == 0 && !e.lost() {
				continue
			}
		}
		err := e.update(ctx)
		if ctx.Err() != nil {
			return
		}
		message := ""
		if err != nil {
			message = err.Error()
		}
		e.setStatus(func(s *EmbeddingStatus) { s.Error = message })
		switch {
		case err == nil:
			failures = 0
		case failures == 0:
			e.refresher.log.Warn("embedding sections failed; will retry", "model", e.model, "error", err)
			fallthrough
		default:
			failures++
		}
	}
}

// update embeds all texts that are missing and publishes their vectors.
func (e *embeddings) update(ctx context.Context) error {
	defer SaveMemory()()
	texts, unpublished := e.missing(ctx)
	var err error
	if len(texts) > 0 {
		err = e.embedAll(ctx, e.stored(ctx, texts))
		texts, unpublished = e.missing(ctx)
		if err == nil && len(texts) > 0 && e.refresher.options.Vectors == nil {
			err = fmt.Errorf("%d vectors are missing again: the length of the model's vectors has changed", len(texts))
		}
	}
	if unpublished && ctx.Err() == nil {
		err = errors.Join(err, e.publish(ctx))
	}
	return err
}

// publish gives the vectors that are known to the index.
func (e *embeddings) publish(ctx context.Context) error {
	r := e.refresher
	if err := r.lock.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.lock.Release(1)
	if err := r.publish(ctx, r.documents); err != nil {
		return err
	}
	r.save()
	live := map[disk.Key]bool{}
	for _, keys := range e.keys {
		for _, key := range keys {
			live[key] = true
		}
	}
	if err := e.cache.Compact(live); err != nil {
		r.log.Warn("could not free the space of removed pages' vectors", "error", err)
	}
	s := r.Status().Embeddings
	r.log.Info("vectors published", "model", e.model, "vectors", s.Done, "sections", s.Total)
	if r.options.OnVectors != nil {
		r.options.OnVectors(s.Total)
	}
	return nil
}
