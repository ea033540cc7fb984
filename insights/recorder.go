package insights

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// buffered is how many events wait at most.
	buffered = 10_000
	// A batch has up to batchSize events, those of batchTime.
	batchSize = 1000
	batchTime = 2 * time.Second

	// storeTimeout bounds one attempt to open the store or to write a batch.
	storeTimeout = 30 * time.Second
	// firstPause and longestPause are between attempts while the store fails.
	firstPause   = time.Second
	longestPause = 30 * time.Second

	firstPrune = time.Minute
	pruneEvery = time.Hour
)

// ErrLost is wrapped by errors of a store that must be opened again.
var ErrLost = errors.New("the store must be opened again")

// keeper is what a Recorder needs of a Store.
type keeper interface {
	comparable
	Append(ctx context.Context, id string, events []Event) error
	Check(context.Context) error
	Prune(ctx context.Context, now time.Time, retention time.Duration) (int64, error)
	Close() error
}

// Recorder takes events without making anyone wait, and stores them in
// batches. While the store fails it tries again; what does not fit into its
// buffer meanwhile is dropped and counted. It is safe for concurrent use.
type Recorder[S keeper] struct {
	open      func(context.Context) (S, error)
	outlet    func(lines []byte) error
	retention time.Duration
	log       *slog.Logger

	events  chan func() (e Event, keep bool) // each cleans its event
	closing context.Context                  // ends when Close is called
	close   context.CancelFunc
	giveUp  context.Context // ends when Close has waited long enough
	cancel  context.CancelFunc
	done    sync.WaitGroup

	adding sync.RWMutex // held to add, and to close

	stored, dropped atomic.Uint64

	opening chan struct{} // held while the store is opened

	mu     sync.Mutex
	store  S
	failed error // of the last attempt
	since  time.Time
	outErr error // of the outlet, for the last batch
}

// RecorderStatus is the state of a Recorder.
type RecorderStatus struct {
	// Stored and Dropped count events.
	Stored  uint64 `json:"stored"`
	Dropped uint64 `json:"dropped"`
	// Buffered is about how many events wait.
	Buffered int `json:"buffered"`
	// Error is why nothing can be stored now, "" while all is well.
	Error string `json:"error,omitempty"`
	// Since is when that began.
	Since time.Time `json:"since,omitzero"`
	// OutletError is the last error of the outlet.
	OutletError string `json:"outlet_error,omitempty"`
}

// NewRecorder returns a running Recorder, which Close ends. It opens the store
// at the first event or query, and again after ErrLost. The outlet, if not nil,
// gets every event but those of missing pages before the store; events are kept for the retention.
func NewRecorder[S keeper](
	open func(context.Context) (S, error), outlet func(lines []byte) error, retention time.Duration, log *slog.Logger,
) *Recorder[S] {
	r := &Recorder[S]{
		open: open, outlet: outlet, retention: retention, log: log,
		events: make(chan func() (Event, bool), buffered), opening: make(chan struct{}, 1),
	}
	r.giveUp, r.cancel = context.WithCancel(context.Background()) //nolint:gosec // Close calls both
	r.closing, r.close = context.WithCancel(r.giveUp)             //nolint:gosec
	r.done.Go(r.run)
	if retention > 0 {
		r.done.Go(r.prune)
	}
	return r
}

// Add takes an event. It never waits: if the buffer is full, it drops the
// event and returns false.
func (r *Recorder[S]) Add(e Event, p Privacy) bool {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	r.adding.RLock()
	defer r.adding.RUnlock()
	// Anyone can ask for pages that don't exist: half of the buffer is for readers.
	crowded := e.Missing != nil && len(r.events) >= buffered/2
	if r.closing.Err() == nil && !crowded {
		select {
		case r.events <- func() (Event, bool) { keep := p.Clean(&e); return e, keep }:
			return true
		default:
		}
	}
	r.dropped.Add(1)
	return false
}

// Store returns the store for queries, and opens it if need be.
func (r *Recorder[S]) Store(ctx context.Context) (s S, err error) {
	var none S
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	select {
	case r.opening <- struct{}{}:
		defer func() { <-r.opening }()
	case <-ctx.Done():
		return s, fmt.Errorf("%w: %w", errOpening, ctx.Err())
	}
	r.mu.Lock()
	s = r.store
	r.mu.Unlock()
	if s != none {
		return s, nil
	}
	if r.giveUp.Err() != nil {
		return s, errOpening
	}
	if s, err = r.open(ctx); err != nil {
		return none, fmt.Errorf("%w: %w", errOpening, err)
	}
	r.mu.Lock()
	r.store = s
	r.mu.Unlock()
	return s, nil
}

// Check returns an error if events can't be stored now.
func (r *Recorder[S]) Check(ctx context.Context) error {
	s, err := r.Store(ctx)
	if err != nil {
		return err
	}
	if err := s.Check(ctx); err != nil {
		r.lose(s, err)
		return err
	}
	return nil
}

// lose closes a store that must be opened again.
func (r *Recorder[S]) lose(s S, err error) {
	if !errors.Is(err, ErrLost) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store == s {
		r.store = *new(S)
		_ = s.Close()
	}
}

// Status returns the state.
func (r *Recorder[S]) Status() RecorderStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := RecorderStatus{Stored: r.stored.Load(), Dropped: r.dropped.Load(), Buffered: len(r.events)}
	if r.failed != nil {
		s.Error, s.Since = r.failed.Error(), r.since
	}
	if r.outErr != nil {
		s.OutletError = "writing events as JSON: " + r.outErr.Error()
	}
	return s
}

// Close stores what is buffered, as far as that is possible until ctx ends,
// and ends the Recorder.
func (r *Recorder[S]) Close(ctx context.Context) error {
	r.adding.Lock()
	r.close() // nothing is added from here on
	r.adding.Unlock()
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	r.done.Wait()
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.store
	if r.store = *new(S); s == r.store {
		return nil
	}
	return s.Close()
}

func (r *Recorder[S]) run() {
	for {
		batch, more := r.collect()
		if len(batch) > 0 {
			r.export(batch)
			r.keep(batch)
		}
		if !more {
			return
		}
	}
}

// collect returns a full batch, or the events within a time after its first
// one. more is false once the Recorder is closed and nothing is left.
func (r *Recorder[S]) collect() (batch []Event, more bool) {
	var due <-chan time.Time
	for len(batch) < batchSize {
		var clean func() (Event, bool)
		select {
		case clean = <-r.events:
		case <-due:
			return batch, true
		case <-r.closing.Done(): // nothing is added any more
			select {
			case clean = <-r.events:
			default:
				return batch, false
			}
		}
		e, keep := clean()
		if !keep {
			continue
		}
		batch = append(batch, e)
		if due == nil {
			due = time.After(batchTime)
		}
	}
	return batch, true
}

// export gives a batch to the outlet, as one line of JSON an event. What can't be
// written is left out there.
func (r *Recorder[S]) export(events []Event) {
	if r.outlet == nil {
		return
	}
	var b bytes.Buffer
	var err error
	for i := range events {
		if events[i].Missing == nil {
			err = errors.Join(err, WriteLine(&b, events[i]))
		}
	}
	if err == nil && b.Len() > 0 {
		err = r.outlet(b.Bytes())
	}
	r.mu.Lock()
	r.outErr = err
	r.mu.Unlock()
}

// attempts is how often a batch is tried on a store whose check passes,
// before it is written in halves: one event that the store can't take must
// not hold up all others.
const attempts = 5

// keep stores a batch, and tries again until it is stored or the Recorder has
// to end.
func (r *Recorder[S]) keep(events []Event) {
	id, pause, closing := rand.Text(), firstPause, r.closing.Done()
	for healthy := 0; ; {
		err := r.try(id, events)
		if err == nil {
			r.stored.Add(uint64(len(events)))
			return
		}
		if r.giveUp.Err() != nil {
			r.dropped.Add(uint64(len(events)))
			return
		}
		ctx, cancel := context.WithTimeout(r.giveUp, storeTimeout)
		if r.Check(ctx) == nil {
			healthy++
		}
		cancel()
		if healthy == attempts {
			if n := len(events); n > 1 {
				r.keep(events[:n/2])
				r.keep(events[n/2:])
				return
			}
			r.log.Error("an event can't be stored", "kind", events[0].Kind(), "error", err)
			r.dropped.Add(1)
			return
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		case <-closing:
			closing = nil
		case <-r.giveUp.Done():
		}
		if closing == nil {
			pause = 200 * time.Millisecond // the last attempts follow each other quickly
		}
	}
}

// try makes one attempt. It logs where failures begin and end, not each.
func (r *Recorder[S]) try(id string, events []Event) error {
	ctx, cancel := context.WithTimeout(r.giveUp, storeTimeout)
	defer cancel()
	s, err := r.Store(ctx)
	if err == nil {
		if err = s.Append(ctx, id, events); err != nil {
			r.lose(s, err)
		}
	}
	r.mu.Lock()
	first, again := err != nil && r.failed == nil, err == nil && r.failed != nil
	if first {
		r.since = time.Now()
	}
	r.failed = err
	since := r.since
	r.mu.Unlock()
	switch {
	case first && r.giveUp.Err() == nil:
		r.log.Error("insights can't be stored; requests are served, and events wait in memory", "error", err)
	case again:
		r.log.Info("insights are stored again", "after", time.Since(since).Round(time.Second), "dropped", r.dropped.Load())
	}
	return err
}

// prune deletes what is older than the retention, now and then.
func (r *Recorder[S]) prune() {
	next := time.After(firstPrune)
	for {
		select {
		case <-next:
		case <-r.closing.Done():
			return
		}
		next = time.After(pruneEvery)
		s, err := r.Store(r.closing)
		if err == nil {
			_, err = s.Prune(r.closing, time.Now(), r.retention)
		}
		if err != nil && r.closing.Err() == nil {
			r.log.Error("old insights could not be deleted", "error", err)
		}
	}
}
