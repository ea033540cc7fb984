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
	"unicode/utf8"
)

// Bounds of embedding a site's sections.
const (
	// maxEmbedText cuts a section's text, in bytes: models read 256 to 8,192
	// tokens, and what a section is about stands at its start.
	maxEmbedText = 6000
	// A batch has at most so many texts and bytes, and so many batches are
	// under way at once: what small servers on CPUs take without time-outs.
	minBatchTexts = 4
	maxBatchTexts = 64
	// A batch answered within fastBatch makes the next larger, one that took
	// slowBatch smaller.
	fastBatch      = 3 * time.Second
	slowBatch      = 20 * time.Second
	maxBatchBytes  = 100_000
	batchesAtOnce  = 2
	batchTimeout   = 2 * time.Minute
	batchAttempts  = 4
	batchPause     = 500 * time.Millisecond // doubled with each attempt
	embedRetry     = 5 * time.Second        // after an outage, doubled up to:
	embedLastRetry = 5 * time.Minute
	// lostInterval is how often a VectorKeeper is asked.
	lostInterval = 10 * time.Second
	// republishEvery is how often vectors that are there are taken into use
	// while others are still being made.
	republishEvery = time.Minute
	// probeText asks whether an embedder that refused a batch is at fault,
	// or the batch.
	probeText = "documentation"
)

// EmbeddingStatus is how far a site's vectors are.
type EmbeddingStatus struct {
	Model string `json:"model"`
	// Done of Total sections have a vector.
	Done  int `json:"done"`
	Total int `json:"total"`
	// Refused are sections that the model's endpoint takes in no form.
	Refused int `json:"refused,omitempty"`
	// Error is why it doesn't go on, "" while it does.
	Error string `json:"error,omitempty"`
}

// embedding makes a Refresher's vectors.
type embedding struct {
	r     *Refresher
	model string
	woken chan struct{}
	// published: the generation served has vectors.
	published atomic.Bool

	mu    sync.Mutex
	state EmbeddingStatus
	batch batchSize
	// refused are texts that were given up; a restart tries them again.
	refused map[VectorKey]bool
	// putFailed: the cache couldn't be written, which was logged.
	putFailed bool

	// The following belong to the holder of the Refresher's turn.
	cache *VectorCache // set once, before run uses it
	keys  map[*Document][]VectorKey
}

func newEmbedding(r *Refresher) *embedding {
	model := r.o.Embedder.Model()
	return &embedding{
		r: r, model: model, woken: make(chan struct{}, 1),
		state:   EmbeddingStatus{Model: model},
		refused: map[VectorKey]bool{},
	}
}

// load opens the cache. Each model has its own file, so that going back to
// one costs nothing.
func (e *embedding) load() {
	path := ""
	if e.r.o.Dir != "" {
		name := KeyOf(e.model, "")
		path = filepath.Join(e.r.o.Dir, "vectors-"+hex.EncodeToString(name[:6])+".bin")
	}
	var err error
	if e.cache, err = OpenVectorCache(path); err != nil {
		e.r.log.Warn("vectors are kept in memory only", "error", err)
	}
}

func (e *embedding) status() EmbeddingStatus {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

func (e *embedding) update(change func(*EmbeddingStatus)) {
	e.mu.Lock()
	change(&e.state)
	e.mu.Unlock()
	e.r.update(func(*Status) {})
}

// wake has run look for sections without a vector.
func (e *embedding) wake() {
	select {
	case e.woken <- struct{}{}:
	default:
	}
}

// embedText is what the model reads of a section.
func embedText(d *Document, s *Section) string {
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
	return cut(b.String(), maxEmbedText)
}

// cut shortens a text to at most n bytes, between two characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// keysOf returns the keys of the documents' sections; those of documents
// that stayed are known.
func (e *embedding) keysOf(documents []*Document) map[*Document][]VectorKey {
	keys := make(map[*Document][]VectorKey, len(documents))
	for _, d := range documents {
		if known, ok := e.keys[d]; ok {
			keys[d] = known
			continue
		}
		list := make([]VectorKey, len(d.Sections))
		for i := range d.Sections {
			list[i] = KeyOf(e.model, embedText(d, &d.Sections[i]))
		}
		keys[d] = list
	}
	e.keys = keys
	return keys
}

// lookup returns the vectors that are known, nil if none is, and their
// number. The caller holds the turn.
func (e *embedding) lookup(documents []*Document) ([][][]float32, int) {
	keys := e.keysOf(documents)
	vectors := make([][][]float32, len(documents))
	have, total := 0, 0
	for i, d := range documents {
		list := make([][]float32, len(d.Sections))
		for j, key := range keys[d] {
			if list[j] = e.cache.Get(key); list[j] != nil {
				have++
			}
		}
		vectors[i] = list
		total += len(list)
	}
	e.update(func(s *EmbeddingStatus) { s.Done, s.Total = have, total })
	if have == 0 {
		return nil, 0
	}
	return vectors, have
}

// stamp says which vectors a generation has.
func (e *embedding) stamp(have int) string {
	if have == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %d", e.model, have)
}

// want is a text without a vector.
type want struct {
	key  VectorKey
	text string
}

// missing lists the texts to embed, each once, and whether the index lacks
// vectors that are there.
func (e *embedding) missing() (wants []want, behind bool) {
	e.r.turn <- struct{}{}
	defer func() { <-e.r.turn }()
	if !e.r.loaded {
		return nil, false
	}
	documents := e.r.current
	keys := e.keysOf(documents)
	seen := map[VectorKey]bool{}
	have, total, refused := 0, 0, 0
	for _, d := range documents {
		for i, key := range keys[d] {
			total++
			switch {
			case e.cache.Has(key):
				have++
			case e.isRefused(key):
				refused++
			case !seen[key]:
				seen[key] = true
				wants = append(wants, want{key, embedText(d, &d.Sections[i])})
			}
		}
	}
	e.update(func(s *EmbeddingStatus) { s.Done, s.Total, s.Refused = have, total, refused })
	return wants, e.r.pages.Vectors != e.stamp(have) || have > 0 && e.lost()
}

// lost reports whether the index has lost vectors that it was given.
func (e *embedding) lost() bool {
	k, ok := e.r.o.Index.(VectorKeeper)
	return ok && k.LacksVectors()
}

func (e *embedding) isRefused(key VectorKey) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.refused[key]
}

// run makes the vectors that are missing, whenever woken, until ctx is done.
func (e *embedding) run(ctx context.Context) {
	pause := embedRetry
	look := time.NewTicker(lostInterval)
	defer look.Stop()
	for {
		var again, ask <-chan time.Time
		if e.status().Error != "" {
			again = time.After(pause)
			pause = min(2*pause, embedLastRetry)
		} else {
			pause, ask = embedRetry, look.C
		}
		select {
		case <-ctx.Done():
			return
		case <-e.woken:
		case <-again:
		case <-ask:
			if !e.lost() {
				continue
			}
		}
		err := e.work(ctx)
		if ctx.Err() != nil {
			return
		}
		before := e.status().Error
		e.update(func(s *EmbeddingStatus) {
			if s.Error = ""; err != nil {
				s.Error = err.Error()
			}
		})
		if err != nil && before == "" {
			e.r.log.Warn("embedding sections failed; those without a vector are found by keywords, and it is tried again",
				"model", e.model, "error", err)
		}
	}
}

// work embeds all that is missing and publishes it.
func (e *embedding) work(ctx context.Context) error {
	started := time.Now()
	wants, behind := e.missing()
	var failed error
	if len(wants) > 0 {
		failed = e.embedAll(ctx, wants)
		wants, behind = e.missing()
		if failed == nil && len(wants) > 0 {
			failed = fmt.Errorf("%d vectors are missing again: the length of the model's vectors has changed", len(wants))
		}
	}
	if behind && ctx.Err() == nil {
		if err := e.republish(ctx, started); err != nil {
			return errors.Join(failed, err)
		}
	}
	return failed
}

// republish gives the documents of now the vectors that are there.
func (e *embedding) republish(ctx context.Context, started time.Time) error {
	e.r.turn <- struct{}{}
	defer func() { <-e.r.turn }()
	if err := e.r.publish(ctx, e.r.current); err != nil {
		return err
	}
	e.r.save()
	live := map[VectorKey]bool{}
	for _, list := range e.keys {
		for _, key := range list {
			live[key] = true
		}
	}
	if err := e.cache.Compact(func(key VectorKey) bool { return live[key] }); err != nil {
		e.r.log.Warn("vectors of pages that are gone take up room", "error", err)
	}
	s := e.status()
	e.r.log.Info(strings.TrimPrefix(e.r.o.Site+": ", ": ")+fmt.Sprintf("vectors for %d of %d sections, %.1f s", s.Done, s.Total, time.Since(started).Seconds()),
		"model", e.model, "vectors", s.Done, "sections", s.Total, "took", time.Since(started))
	return nil
}
