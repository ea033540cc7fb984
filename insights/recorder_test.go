package insights

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeStore keeps batches in memory.
type fakeStore struct {
	mu      sync.Mutex
	fail    error  // of Append
	check   error  // of Check
	refuse  string // a query that no batch may have
	hang    bool   // Append waits for the end of its context
	tried   map[string]int
	batches [][]Event
	closed  int

	retentions []time.Duration // of Prune
}

func (f *fakeStore) Append(ctx context.Context, id string, events []Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tried == nil {
		f.tried = map[string]int{}
	}
	f.tried[id]++
	if f.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if f.fail != nil {
		return f.fail
	}
	if f.refuse != "" && slices.ContainsFunc(events, func(e Event) bool { return e.Search.Query == f.refuse }) {
		return errors.New("a value is refused")
	}
	f.batches = append(f.batches, events)
	return nil
}

func (f *fakeStore) Check(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.check
}

// ends is how often the store was closed.
func (f *fakeStore) ends() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

func (f *fakeStore) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	return nil
}

// set changes the store while it is in use.
func (f *fakeStore) set(change func(f *fakeStore)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeStore) sizes() (sizes []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

func (f *fakeStore) queries() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.batches {
		for _, e := range b {
			all = append(all, e.Search.Query)
		}
	}
	return all
}

// recording runs a test in a bubble, where time passes at once.
func recording(t *testing.T, f func(t *testing.T, s *fakeStore, r *Recorder[*fakeStore])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := new(fakeStore)
		r := NewRecorder(func(context.Context) (*fakeStore, error) { return s, nil }, nil, 0, slog.New(slog.DiscardHandler))
		defer func() { _ = r.Close(t.Context()) }()
		f(t, s, r)
	})
}

// add adds n searches and returns how many were taken.
func add(r *Recorder[*fakeStore], from, n int) (taken int) {
	for i := range n {
		if r.Add(Event{Search: &Search{Query: fmt.Sprint("q", from+i)}}, Privacy{}) {
			taken++
		}
	}
	return taken
}

func TestBatchesHaveAThousandEventsOrTwoSeconds(t *testing.T) {
	recording(t, func(t *testing.T, s *fakeStore, r *Recorder[*fakeStore]) {
		add(r, 0, 2500)
		synctest.Wait()
		if got := s.sizes(); !slices.Equal(got, []int{1000, 1000}) {
			t.Errorf("at once: %v", got)
		}
		time.Sleep(1900 * time.Millisecond)
		add(r, 2500, 1)
		synctest.Wait()
		if got := s.sizes(); len(got) != 2 {
			t.Errorf("after 1.9 s: %v", got)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if got := s.sizes(); !slices.Equal(got, []int{1000, 1000, 501}) {
			t.Errorf("after 2 s: %v", got)
		}
		if st := r.Status(); st.Stored != 2501 || st.Dropped != 0 || st.Error != "" {
			t.Errorf("%+v", st)
		}
	})
}

func TestWhileTheStoreFailsEventsWaitAndFurtherOnesAreCounted(t *testing.T) {
	recording(t, func(t *testing.T, s *fakeStore, r *Recorder[*fakeStore]) {
		s.set(func(s *fakeStore) { s.fail, s.check = errors.New("the disk is full"), errors.New("the disk is full") })
		first := add(r, 0, 1000) // the batch that is tried
		synctest.Wait()
		taken := add(r, 1000, 15_000)
		if first != 1000 || taken != 10_000 {
			t.Errorf("%d and %d events were taken", first, taken)
		}
		began := time.Now()
		time.Sleep(time.Hour)
		if st := r.Status(); st.Stored != 0 || st.Dropped != 5000 || st.Buffered != 10_000 || st.Error != "the disk is full" || st.Since.After(began) {
			t.Errorf("%+v", st)
		}
		s.set(func(s *fakeStore) { s.fail, s.check = nil, nil })
		time.Sleep(longestPause)
		synctest.Wait()
		got := s.queries()
		if len(got) != 11_000 || got[0] != "q0" || got[10_999] != "q10999" || !slices.IsSortedFunc(got, func(a, b string) int { return len(a) - len(b) }) {
			t.Errorf("%d events were stored", len(got))
		}
		if st := r.Status(); st.Stored != 11_000 || st.Dropped != 5000 || st.Error != "" || !st.Since.IsZero() {
			t.Errorf("afterwards: %+v", st)
		}
		// A batch keeps its id, by which a store knows one that it has.
		s.set(func(s *fakeStore) {
			if len(s.tried) != 11 {
				t.Errorf("%d ids of 11 batches", len(s.tried))
			}
		})
	})
}

func TestAnAddNeverWaits(t *testing.T) {
	recording(t, func(t *testing.T, s *fakeStore, r *Recorder[*fakeStore]) {
		s.set(func(s *fakeStore) { s.hang = true })
		began := time.Now()
		add(r, 0, 20_000)
		if d := time.Since(began); d != 0 {
			t.Errorf("it took %s", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_ = r.Close(ctx)
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("the end took %s", d)
		}
		if st := r.Status(); st.Stored != 0 || st.Dropped != 20_000 {
			t.Errorf("%+v", st)
		}
	})
}

func TestAnEventThatTheStoreRefusesHoldsUpNoOther(t *testing.T) {
	recording(t, func(t *testing.T, s *fakeStore, r *Recorder[*fakeStore]) {
		s.set(func(s *fakeStore) { s.refuse = "q345" })
		add(r, 0, 1000)
		time.Sleep(10 * time.Minute)
		if st := r.Status(); st.Stored != 999 || st.Dropped != 1 || st.Buffered != 0 {
			t.Errorf("%+v", st)
		}
		if got := s.queries(); len(got) != 999 || slices.Contains(got, "q345") {
			t.Errorf("%d events", len(got))
		}
	})
}

func TestTheEndStoresWhatIsBuffered(t *testing.T) {
	recording(t, func(t *testing.T, s *fakeStore, r *Recorder[*fakeStore]) {
		add(r, 0, 1500)
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.sizes(); !slices.Equal(got, []int{1000, 500}) || s.ends() != 1 {
			t.Errorf("%v, closed %d times", got, s.ends())
		}
		if add(r, 1500, 1) != 0 || r.Status().Dropped != 1 {
			t.Errorf("after the end: %+v", r.Status())
		}
		if err := r.Close(t.Context()); err != nil {
			t.Errorf("a second end: %v", err)
		}
	})
}

func TestAStoreThatIsLostIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh := &fakeStore{fail: fmt.Errorf("removed: %w", ErrLost)}, new(fakeStore)
		opened := 0
		r := NewRecorder(func(context.Context) (*fakeStore, error) {
			opened++
			switch opened {
			case 1:
				return old, nil
			case 2:
				return nil, errors.New("the folder is gone, too")
			}
			return fresh, nil
		}, nil, 0, slog.New(slog.DiscardHandler))
		add(r, 0, 10)
		time.Sleep(time.Minute)
		if old.ends() != 1 || len(fresh.queries()) != 10 {
			t.Errorf("closed %d times, %d events", old.ends(), len(fresh.queries()))
		}
		_ = r.Close(t.Context())
	})
}

func TestMissingPagesLeavePlaceForReadersAndAreInNoOutlet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("the disk is full")
		s, lines := &fakeStore{fail: full, check: full}, new(strings.Builder)
		r := NewRecorder(func(context.Context) (*fakeStore, error) { return s, nil }, func(b []byte) error { lines.Write(b); return nil }, 0, slog.New(slog.DiscardHandler))
		missed := func(n int) (taken int) {
			for range n {
				if r.Add(Event{Missing: &Missing{Path: "/wp-login.php"}}, Privacy{}) {
					taken++
				}
			}
			return taken
		}
		missed(1000) // the batch that is tried
		synctest.Wait()
		if taken := missed(10_000); taken != buffered/2 {
			t.Errorf("%d of 10,000 were taken", taken)
		}
		if taken := add(r, 0, 5000); taken != 5000 {
			t.Errorf("%d of 5,000 searches were taken", taken)
		}
		s.set(func(s *fakeStore) { s.fail, s.check = nil, nil })
		_ = r.Close(t.Context())
		if st := r.Status(); st.Stored != 11_000 {
			t.Errorf("%+v", st)
		}
		if got := lines.String(); strings.Count(got, "\n") != 5000 || strings.Contains(got, "wp-login") {
			t.Errorf("%d lines", strings.Count(got, "\n"))
		}
	})
}

func TestEventsAreCleanedBeforeStoreAndOutlet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, lines := new(fakeStore), new(strings.Builder)
		r := NewRecorder(func(context.Context) (*fakeStore, error) { return s, nil }, func(b []byte) error { lines.Write(b); return nil }, 0, slog.New(slog.DiscardHandler))
		r.Add(Event{Search: &Search{Query: "Mail jane@example.com"}}, Privacy{})
		r.Add(Event{Search: &Search{Query: "hidden"}}, Privacy{NoTexts: true})
		r.Add(Event{Click: &Click{Query: "hidden", Path: "a"}}, Privacy{NoClicks: true})
		_ = r.Close(t.Context())
		if got := s.queries(); !slices.Equal(got, []string{"mail [email]", ""}) {
			t.Errorf("%q", got)
		}
		if got := lines.String(); strings.Count(got, "\n") != 2 || strings.Contains(got, "jane") || strings.Contains(got, "hidden") {
			t.Errorf("%s", got)
		}
	})
}

func TestEventsAreDeletedAfterTheRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(fakeStore)
		r := NewRecorder(func(context.Context) (*fakeStore, error) { return p, nil }, nil, 30*24*time.Hour, slog.New(slog.DiscardHandler))
		time.Sleep(3*time.Hour + 2*time.Minute)
		synctest.Wait()
		if !slices.Equal(p.retentions, []time.Duration{720 * time.Hour, 720 * time.Hour, 720 * time.Hour, 720 * time.Hour}) {
			t.Errorf("in three hours: %v", p.retentions)
		}
		_ = r.Close(t.Context())
	})
}

func (p *fakeStore) Prune(_ context.Context, _ time.Time, retention time.Duration) (int64, error) {
	p.retentions = append(p.retentions, retention)
	return 0, nil
}

func TestTheStatusDoesNotWaitForAStoreThatOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecorder(func(ctx context.Context) (*fakeStore, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil, 0, slog.New(slog.DiscardHandler))
		go func() { _, _ = r.Store(context.Background()) }()
		synctest.Wait()
		began := time.Now()
		r.Status()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Check(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the check ends with %v", err)
		}
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("it waits %v", waited)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(storeTimeout)
	})
}
