package insights

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of a Recorder.
const (
	defaultBuffer = 10_000
	defaultBatch  = 1000
	defaultEvery  = 2 * time.Second

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

// RecorderOptions are the options of a Recorder.
type RecorderOptions struct {
	// Open opens the store. It is called at the first event or query, and
	// again after ErrLost.
	Open func(context.Context) (Store, error)
	// Outlet, if not nil, gets every event that the store gets, and before it.
	Outlet *Outlet
	// Retention is how long events are kept.
	Retention time.Duration
	Log       *slog.Logger

	// For tests; zero is the default.
	Buffer, Batch int
	Every, Pause  time.Duration
}

// Recorder takes events without making anyone wait, and stores them in
// batches. While the store fails it tries again; what does not fit into its
// buffer meanwhile is dropped and counted. It is safe for concurrent use.
type Recorder struct {
	o RecorderOptions

	events  chan recorded
	closing chan struct{}
	giveUp  context.Context // ends when Close has waited long enough
	cancel  context.CancelFunc
	done    sync.WaitGroup

	adding sync.RWMutex // held to add, and to close
	closed bool

	stored, dropped atomic.Uint64

	opening chan struct{} // held while the store is opened

	mu     sync.Mutex
	store  Store
	failed error // of the last attempt
	since  time.Time
}

type recorded struct {
	Event
	privacy Privacy
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

// NewRecorder returns a running Recorder. Close ends it.
func NewRecorder(o RecorderOptions) *Recorder {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Buffer == 0 {
		o.Buffer = defaultBuffer
	}
	if o.Batch == 0 {
		o.Batch = defaultBatch
	}
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	if o.Pause == 0 {
		o.Pause = firstPause
	}
	r := &Recorder{o: o, events: make(chan recorded, o.Buffer), closing: make(chan struct{}), opening: make(chan struct{}, 1)}
	r.giveUp, r.cancel = context.WithCancel(context.Background())
	r.done.Go(r.run)
	if o.Retention > 0 {
		r.done.Go(r.prune)
	}
	return r
}

// Add takes an event. It never waits: if the buffer is full, it drops the
// event and returns false.
func (r *Recorder) Add(e Event, p Privacy) bool {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	r.adding.RLock()
	defer r.adding.RUnlock()
	if !r.closed {
		select {
		case r.events <- recorded{e, p}:
			return true
		default:
		}
	}
	r.dropped.Add(1)
	return false
}

// Store returns the store for queries, and opens it if need be.
func (r *Recorder) Store(ctx context.Context) (Store, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	select {
	case r.opening <- struct{}{}:
		defer func() { <-r.opening }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errOpening, ctx.Err())
	}
	if s := r.opened(); s != nil {
		return s, nil
	}
	if r.giveUp.Err() != nil {
		return nil, errOpening
	}
	s, err := r.o.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errOpening, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store = s
	return s, nil
}

func (r *Recorder) opened() Store {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store
}

// Check returns an error if events can't be stored now.
func (r *Recorder) Check(ctx context.Context) error {
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
func (r *Recorder) lose(s Store, err error) {
	if !errors.Is(err, ErrLost) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store == s {
		r.store = nil
		_ = s.Close()
	}
}

// Status returns the state.
func (r *Recorder) Status() RecorderStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := RecorderStatus{Stored: r.stored.Load(), Dropped: r.dropped.Load(), Buffered: len(r.events)}
	if r.failed != nil {
		s.Error, s.Since = r.failed.Error(), r.since
	}
	if err := r.o.Outlet.Err(); err != nil {
		s.OutletError = err.Error()
	}
	return s
}

// Close stores what is buffered, as far as that is possible until ctx ends,
// and ends the Recorder.
func (r *Recorder) Close(ctx context.Context) error {
	r.adding.Lock()
	if r.closed {
		r.adding.Unlock()
		return nil
	}
	r.closed = true
	r.adding.Unlock()
	close(r.closing)
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	r.done.Wait()
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store == nil {
		return nil
	}
	err := r.store.Close()
	r.store = nil
	return err
}

// run collects batches and stores them.
func (r *Recorder) run() {
	for {
		batch, more := r.collect()
		if len(batch) > 0 {
			r.write(batch)
		}
		if !more {
			return
		}
	}
}

// collect returns a full batch, or the events within a time after its first
// one. more is false once the Recorder is closed and nothing is left.
func (r *Recorder) collect() (batch []Event, more bool) {
	var due <-chan time.Time
	for len(batch) < r.o.Batch {
		var e recorded
		select {
		case e = <-r.events:
		case <-due:
			return batch, true
		case <-r.closing: // nothing is added any more
			select {
			case e = <-r.events:
			default:
				return batch, false
			}
		}
		if !e.privacy.Clean(&e.Event) {
			continue
		}
		batch = append(batch, e.Event)
		if due == nil {
			due = time.After(r.o.Every)
		}
	}
	return batch, true
}

// attempts is how often a batch is tried on a store whose check passes,
// before it is written in halves: one event that the store can't take must
// not hold up all others.
const attempts = 5

// write stores a batch, and tries again until it is stored or the Recorder
// has to end.
func (r *Recorder) write(events []Event) {
	r.o.Outlet.Write(events)
	r.keep(events)
}

func (r *Recorder) keep(events []Event) {
	batch := Batch{ID: rand.Text(), Events: events}
	pause, closing := r.o.Pause, r.closing
	for healthy := 0; ; {
		err := r.try(batch)
		if err == nil {
			r.stored.Add(uint64(len(events)))
			return
		}
		if r.giveUp.Err() != nil {
			r.dropped.Add(uint64(len(events)))
			return
		}
		if ctx, cancel := context.WithTimeout(r.giveUp, storeTimeout); r.Check(ctx) == nil {
			healthy++
			cancel()
		} else {
			cancel()
		}
		if healthy == attempts {
			if n := len(events); n > 1 {
				r.keep(events[:n/2])
				r.keep(events[n/2:])
				return
			}
			r.o.Log.Error("an event can't be stored", "kind", events[0].Kind(), "error", err)
			r.dropped.Add(1)
			return
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		case <-closing:
			// The last attempts follow each other quickly.
			pause, closing = min(r.o.Pause, 200*time.Millisecond), nil
		case <-r.giveUp.Done():
		}
		if closing == nil {
			pause = min(r.o.Pause, 200*time.Millisecond)
		}
	}
}

// try makes one attempt. It logs where failures begin and end, not each.
func (r *Recorder) try(batch Batch) error {
	ctx, cancel := context.WithTimeout(r.giveUp, storeTimeout)
	defer cancel()
	s, err := r.Store(ctx)
	if err == nil {
		if err = s.Append(ctx, batch); err != nil {
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
		r.o.Log.Error("insights can't be stored; requests are served, and events wait in memory", "error", err)
	case again:
		r.o.Log.Info("insights are stored again", "after", time.Since(since).Round(time.Second), "dropped", r.dropped.Load())
	}
	return err
}

// prune deletes what is older than the retention, now and then.
func (r *Recorder) prune() {
	next := time.After(firstPrune)
	for {
		select {
		case <-next:
		case <-r.closing:
			return
		}
		next = time.After(pruneEvery)
		ctx, cancel := context.WithCancel(r.giveUp)
		ended := make(chan struct{})
		go func() { // the end of the Recorder does not wait for it
			select {
			case <-r.closing:
			case <-ended:
			}
			cancel()
		}()
		s, err := r.Store(ctx)
		if err == nil {
			_, err = s.Prune(ctx, time.Now(), r.o.Retention)
		}
		if err != nil && ctx.Err() == nil {
			r.o.Log.Error("old insights could not be deleted", "error", err)
		}
		close(ended)
	}
}
