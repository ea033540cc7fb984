package thread

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errDown = errors.New("storage is down")
	reader  = Owner{"acme", "docs", "reader-1"}
)

// memory is a Store.
type memory struct {
	mu     sync.Mutex
	values map[string]string
	err    error         // of every call
	delay  time.Duration // of every call
	calls  int
}

func (m *memory) do(ctx context.Context, f func() error) error {
	m.mu.Lock()
	m.calls++
	delay := m.delay
	m.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	if m.values == nil {
		m.values = map[string]string{}
	}
	return f()
}

func (m *memory) Get(ctx context.Context, key string) (data []byte, err error) {
	err = m.do(ctx, func() error {
		v, ok := m.values[key]
		if !ok {
			return &fs.PathError{Op: "get", Path: key, Err: fs.ErrNotExist}
		}
		data = []byte(v)
		return nil
	})
	return data, err
}

func (m *memory) Put(ctx context.Context, key string, value []byte) error {
	return m.do(ctx, func() error { m.values[key] = string(value); return nil })
}

func (m *memory) Delete(ctx context.Context, key string) error {
	return m.do(ctx, func() error { delete(m.values, key); return nil })
}

func (m *memory) List(ctx context.Context, prefix string) (names []string, err error) {
	err = m.do(ctx, func() error {
		for name := range m.values {
			if strings.HasPrefix(name, prefix+"/") {
				names = append(names, name)
			}
		}
		if names == nil {
			return fs.ErrNotExist
		}
		return nil
	})
	return names, err
}

func (m *memory) set(err error, delay time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err, m.delay = err, delay
}

func (m *memory) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.values))
}

func answers(t *Thread) string {
	var s []string
	for _, turn := range t.Turns {
		s = append(s, turn.Answer)
	}
	return strings.Join(s, " ")
}

func add(t *testing.T, k *Conversations, id string, o Owner, answer string) {
	t.Helper()
	if err := k.Append(t.Context(), id, o, Turn{Question: "q", Answer: answer}, false); err != nil {
		t.Fatal(err)
	}
}

// begin makes a thread with one turn, "a".
func begin(t *testing.T, k *Conversations, o Owner) string {
	t.Helper()
	th, known := k.Open(t.Context(), "", o)
	if known || len(th.Turns) > 0 {
		t.Fatal("a thread without an id is known")
	}
	add(t, k, th.ID, o, "a")
	return th.ID
}

func TestAThreadGoesOnHereAndInOtherProcessesAndAfterARestart(t *testing.T) {
	store := &memory{}
	here, there := New(store, month, quiet), New(store, month, quiet)
	id := begin(t, here, reader)
	add(t, there, id, reader, "b")
	add(t, here, id, reader, "c")
	for name, k := range map[string]*Conversations{"here": here, "there": there, "after a restart": New(store, month, quiet)} {
		th, known := k.Open(t.Context(), id, reader)
		if !known || th.ID != id || answers(th) != "a b c" {
			t.Errorf("%s: known %v, %q", name, known, answers(th))
		}
	}
	if names := store.names(); len(names) != 1 || strings.Contains(fmt.Sprint(store.values), reader.Fingerprint) {
		t.Errorf("stored %v", store.values)
	}
}

func TestUnknownAndForeignIDsStartANewThread(t *testing.T) {
	k := New(&memory{}, month, quiet)
	id := begin(t, k, reader)
	anonymous := begin(t, k, Owner{"acme", "docs", Anonymous})
	for name, tt := range map[string]struct {
		id    string
		owner Owner
		known bool
	}{
		"its own":                          {id, reader, true},
		"another reader's":                 {id, Owner{"acme", "docs", "reader-2"}, false},
		"a reader's, by nobody":            {id, Owner{"acme", "docs", Anonymous}, false},
		"another site's":                   {id, Owner{"acme", "blog", "reader-1"}, false},
		"another organization's":           {id, Owner{"other", "docs", "reader-1"}, false},
		"an anonymous one, by nobody":      {anonymous, Owner{"acme", "docs", Anonymous}, true},
		"an anonymous one at another site": {anonymous, Owner{"acme", "blog", Anonymous}, false},
		"an anonymous one, by a reader":    {anonymous, reader, false},
		"unknown":                          {newID(noon), reader, false},
		"another service's":                {"thread-1", reader, false},
		"none":                             {"", reader, false},
		"a path":                           {"../../" + id, reader, false},
	} {
		t.Run(name, func(t *testing.T) {
			th, known := k.Open(t.Context(), tt.id, tt.owner)
			if known != tt.known || known != (th.ID == tt.id) || !ownID.MatchString(th.ID) || len(th.Turns) > 0 != known {
				t.Errorf("known %v, %+v", known, th)
			}
		})
	}
	if err := k.Append(t.Context(), id, Owner{"acme", "docs", "reader-2"}, Turn{}, false); err == nil {
		t.Error("a turn was added to another reader's thread")
	}
	if err := k.Append(t.Context(), "../x", reader, Turn{}, false); err == nil {
		t.Error("a turn was stored under a path")
	}
}

func TestAThreadIsKnownFromItsFirstReplyOn(t *testing.T) {
	store := &memory{}
	k := New(store, month, quiet)
	first, _ := k.Open(t.Context(), "", reader)
	// The client read the id in the stream, and asks before the turn is stored.
	second, known := k.Open(t.Context(), first.ID, reader)
	if !known || second.ID != first.ID {
		t.Error("the id that the client was given is unknown")
	}
	if _, known := k.Open(t.Context(), first.ID, Owner{"acme", "docs", "reader-2"}); known {
		t.Error("another reader has it")
	}
	if n := len(store.names()); n != 0 {
		t.Errorf("%d threads without a turn are stored", n)
	}
}

func TestTurnsOfOneThreadAtOnceAreAllKept(t *testing.T) {
	store := &memory{}
	k := New(store, month, quiet)
	id := begin(t, k, reader)
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			if err := k.Append(t.Context(), id, reader, Turn{Answer: fmt.Sprint(i)}, false); err != nil {
				t.Error(err)
			}
			k.Open(t.Context(), id, reader)
		})
	}
	wg.Wait()
	if th, _ := k.Open(t.Context(), id, reader); len(th.Turns) != 31 {
		t.Errorf("%d turns kept, want 31", len(th.Turns))
	}
}

func TestTheCallerMayChangeWhatItGets(t *testing.T) {
	k := New(&memory{}, month, quiet)
	id := begin(t, k, reader)
	th, _ := k.Open(t.Context(), id, reader)
	th.Turns[0].Answer = "changed"
	if th, _ := k.Open(t.Context(), id, reader); answers(th) != "a" {
		t.Error("a change got into the store")
	}
}

func TestThreadsExpireAfterTheirLastTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		k := New(store, 10*24*time.Hour, quiet)
		id, idle := begin(t, k, reader), begin(t, k, reader)
		for range 5 { // 40 days, in which only one goes on
			time.Sleep(8 * 24 * time.Hour)
			th, known := k.Open(t.Context(), id, reader)
			if !known || th.ID != id {
				t.Fatal("a thread in use expired")
			}
			add(t, k, id, reader, "b")
		}
		if th, known := k.Open(t.Context(), idle, reader); known || th.ID == idle {
			t.Error("an expired thread goes on")
		}
		store.values["docs/threads/acme/20000101/README"] = "not ours"
		deleted, err := k.sweep(t.Context())
		if err != nil || deleted != 1 {
			t.Errorf("%d deleted, %v; want the idle one", deleted, err)
		}
		if names := fmt.Sprint(store.names()); !strings.Contains(names, id) || strings.Contains(names, idle) || !strings.Contains(names, "README") {
			t.Errorf("left: %s", names)
		}
		if _, known := k.Open(t.Context(), id, reader); !known {
			t.Error("the thread in use was swept")
		}
		time.Sleep(10*24*time.Hour + time.Second)
		if deleted, err := k.sweep(t.Context()); err != nil || deleted != 1 {
			t.Errorf("%d deleted, %v; want the last", deleted, err)
		}
	})
}

func TestAThreadThatWasDeletedIsForgotten(t *testing.T) {
	store := &memory{}
	k := New(store, month, quiet)
	id := begin(t, k, reader)
	name, _ := keyOf("acme", id)
	if err := store.Delete(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if _, known := k.Open(t.Context(), id, reader); known {
		t.Error("memory keeps what the operator deleted")
	}
}

func TestRepliesGoOnWhileStorageFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		store := &memory{}
		k := New(store, month, slog.New(slog.NewTextHandler(&log, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); k.Run(ctx) }()

		id := begin(t, k, reader)
		store.set(errDown, 0)
		if th, known := k.Open(t.Context(), id, reader); !known || answers(th) != "a" {
			t.Error("a thread in memory is unknown while the storage fails")
		}
		if err := k.Append(t.Context(), id, reader, Turn{Answer: "b"}, false); err == nil {
			t.Error("Append hides that nothing was stored")
		}
		if th, known := k.Open(t.Context(), id, reader); !known || answers(th) != "a b" {
			t.Errorf("the turn is lost: %q", answers(th))
		}
		elsewhere := newID(time.Now())
		if th, known := k.Open(t.Context(), elsewhere, reader); known || th.ID == elsewhere {
			t.Error("what can't be read is known")
		}
		if k.Failures() == 0 || !strings.Contains(log.String(), "storage is down") {
			t.Errorf("%d failures, log %q", k.Failures(), log.String())
		}
		if strings.Contains(log.String(), reader.Fingerprint) {
			t.Error("the log holds the fingerprint")
		}

		store.set(nil, 0)
		time.Sleep(time.Minute) // Run stores what is missing
		if th, known := New(store, month, quiet).Open(t.Context(), id, reader); !known || answers(th) != "a b" {
			t.Errorf("after the storage came back: known %v %q", known, answers(th))
		}
		cancel()
		<-done
	})
}

func TestAStorageThatHangsDelaysRepliesOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		k := New(store, month, quiet)
		id := begin(t, k, reader)
		store.set(nil, time.Hour)
		start := time.Now()
		for range 100 {
			if _, known := k.Open(t.Context(), id, reader); !known {
				t.Fatal("unknown")
			}
		}
		if took := time.Since(start); took > storeTimeout {
			t.Errorf("100 replies waited %s", took)
		}
	})
}

func TestAClientThatGoesAwayIsNoFailureOfTheStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{delay: time.Second}
		k := New(store, month, quiet)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		k.Open(ctx, newID(time.Now()), reader)
		if k.Failures() != 0 || k.paused.Load() != 0 {
			t.Error("counted as a failure")
		}
	})
}

func TestRunStoresAtItsEndWhatWasMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		k := New(store, month, quiet)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); k.Run(ctx) }()
		th, _ := k.Open(t.Context(), "", reader)
		store.set(errDown, 0)
		if err := k.Append(t.Context(), th.ID, reader, Turn{Answer: "a"}, false); err == nil {
			t.Fatal("stored")
		}
		store.set(nil, 0)
		time.Sleep(pause)
		cancel()
		<-done
		if len(store.names()) != 1 {
			t.Error("the turn is lost")
		}
	})
}

func TestRunSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		k := New(store, 24*time.Hour, quiet)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); k.Run(ctx) }()
		begin(t, k, reader)
		time.Sleep(23 * time.Hour)
		if len(store.names()) != 1 {
			t.Error("swept too early")
		}
		time.Sleep(2*24*time.Hour + sweepInterval)
		if len(store.names()) != 0 {
			t.Error("not swept")
		}
		store.set(errDown, 0)
		time.Sleep(sweepInterval) // logged, and no more
		cancel()
		<-done
	})
}

func TestSweepReturnsFailures(t *testing.T) {
	store := &memory{}
	k := New(store, time.Nanosecond, quiet)
	begin(t, k, reader)
	store.set(errDown, 0)
	if _, err := k.sweep(t.Context()); !errors.Is(err, errDown) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store.set(nil, 0)
	if _, err := k.sweep(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n, err := New(&memory{}, month, quiet).sweep(t.Context()); n != 0 || err != nil {
		t.Error("an empty store", n, err)
	}
}

func TestWhatCannotBeReadStartsANewThreadAndIsSweptInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		store := &memory{values: map[string]string{}}
		k := New(store, 24*time.Hour, slog.New(slog.NewTextHandler(&log, nil)))
		for _, data := range []string{"", "{", "null", "[]", `{"id":"other"}`, strings.Repeat("x", maxBytes+1)} {
			id := newID(time.Now())
			name, _ := keyOf("acme", id)
			store.values[name] = data
			if th, known := k.Open(t.Context(), id, reader); known || th.ID == id {
				t.Errorf("%.20q is a thread", data)
			}
		}
		if !strings.Contains(log.String(), "can't be read") {
			t.Error("not logged")
		}
		time.Sleep(3 * 24 * time.Hour)
		if n, err := k.sweep(t.Context()); n != 6 || err != nil {
			t.Error(n, err)
		}
	})
}

func TestThreadsOffKeepsNothingButIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		k := New(store, 0, quiet)
		th, known := k.Open(t.Context(), "", reader)
		if known || !ownID.MatchString(th.ID) {
			t.Errorf("%v %q", known, th.ID)
		}
		if err := k.Append(t.Context(), th.ID, reader, Turn{Answer: "a"}, false); err != nil {
			t.Error(err)
		}
		again, known := k.Open(t.Context(), th.ID, reader)
		if known || again.ID != th.ID || len(again.Turns) > 0 {
			t.Errorf("%v %+v", known, again)
		}
		if bad, _ := k.Open(t.Context(), "../x", reader); !ownID.MatchString(bad.ID) {
			t.Errorf("id %q", bad.ID)
		}
		if _, err := k.sweep(t.Context()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go k.Run(ctx)
		time.Sleep(24 * time.Hour)
		cancel()
		synctest.Wait()
		if store.calls != 0 {
			t.Errorf("%d calls of the store", store.calls)
		}
		if th, _ := New(nil, 0, quiet).Open(t.Context(), "", reader); th == nil {
			t.Error("no store is not off")
		}
	})
}

func TestMemoryForThreadsIsBounded(t *testing.T) {
	var log bytes.Buffer
	store := &memory{}
	k := New(store, month, slog.New(slog.NewTextHandler(&log, nil)))
	k.cache.max = 100_000
	var ids []string
	for range 1000 {
		ids = append(ids, begin(t, k, reader))
	}
	if k.cache.bytes > 100_000 || k.cache.order.Len() != len(k.cache.byKey) {
		t.Errorf("%d bytes, %d and %d entries", k.cache.bytes, k.cache.order.Len(), len(k.cache.byKey))
	}
	if _, known := k.Open(t.Context(), ids[0], reader); !known {
		t.Error("a thread that left memory is unknown")
	}
	if log.Len() > 0 {
		t.Errorf("losses are logged: %s", log.String())
	}
	store.set(errDown, 0)
	for range 1000 {
		th, _ := k.Open(t.Context(), "", reader)
		_ = k.Append(t.Context(), th.ID, reader, Turn{Answer: "lost"}, false)
	}
	if !strings.Contains(log.String(), "turns were lost") {
		t.Error("losses are not logged")
	}
}

func TestStoredFormIsStable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		k := New(store, month, quiet)
		th, _ := k.Open(t.Context(), "", reader)
		turn := Turn{Question: "How?", Answer: "So.", Sources: []string{"https://acme.com/a"}, Answered: "yes", Model: "m", Partial: true}
		if err := k.Append(t.Context(), th.ID, reader, turn, false); err != nil {
			t.Fatal(err)
		}
		name, _ := keyOf("acme", th.ID)
		want := `{"id":"` + th.ID + `","organization":"acme","site":"docs","owner":"` + reader.Hash() + `",` +
			`"created":"2000-01-01T00:00:00Z","updated":"2000-01-01T00:00:00Z","turns":[{"at":"2000-01-01T00:00:00Z",` +
			`"question":"How?","answer":"So.","sources":["https://acme.com/a"],"answered":"yes","model":"m","partial":true}]}`
		if got := store.values[name]; got != want || !json.Valid([]byte(got)) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func BenchmarkTurn(b *testing.B) {
	k := New(&memory{}, month, quiet)
	th, _ := k.Open(b.Context(), "", reader)
	turn := Turn{Question: "How do I set it up?", Answer: strings.Repeat("word ", 300)}
	b.ReportAllocs()
	for b.Loop() {
		k.Open(b.Context(), th.ID, reader)
		if err := k.Append(b.Context(), th.ID, reader, turn, false); err != nil {
			b.Fatal(err)
		}
	}
}

// timed is a store that notes calls which may take longer than a reply waits.
// sweep and Delete call it under the lock that replies wait for.
type timed struct {
	*memory
	unlimited []string
}

func (s *timed) note(ctx context.Context, call string) {
	if end, ok := ctx.Deadline(); !ok || time.Until(end) > storeTimeout {
		s.unlimited = append(s.unlimited, call)
	}
}

func (s *timed) Get(ctx context.Context, key string) ([]byte, error) {
	s.note(ctx, "Get")
	return s.memory.Get(ctx, key)
}

func (s *timed) Delete(ctx context.Context, key string) error {
	s.note(ctx, "Delete")
	return s.memory.Delete(ctx, key)
}

func TestNoReplyWaitsLongerForTheStorageThanItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &timed{memory: &memory{}}
		k := New(store, time.Hour, quiet)
		id := begin(t, k, reader)
		begin(t, k, reader)
		if err := k.Delete(t.Context(), "acme", id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Hour)
		if deleted, err := k.sweep(t.Context()); err != nil || deleted != 1 {
			t.Fatalf("%d deleted, %v", deleted, err)
		}
		if len(store.unlimited) > 0 {
			t.Errorf("without a limit: %v", store.unlimited)
		}
		store.set(errDown, time.Minute)
		if err := k.Delete(t.Context(), "acme", id); err == nil {
			t.Error("a storage that hangs deletes")
		}
		began := time.Now()
		k.Open(t.Context(), id, reader) // the store is not asked right after it hung
		if waited := time.Since(began); waited > 0 {
			t.Errorf("the next reply waits %v", waited)
		}
	})
}

// month is the time that threads are kept by default.
const month = 30 * 24 * time.Hour

var quiet = slog.New(slog.DiscardHandler)

// What memory holds during an outage is stored after it: reading one thread makes
// no other leave.
func TestAllTurnsOfAnOutageAreStoredAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		k := New(store, month, slog.New(slog.DiscardHandler))
		store.set(errDown, 0)
		const threads = 480 // of 30 kB: close to the 16 MB of the memory
		for range threads {
			th, _ := k.Open(t.Context(), "", reader)
			_ = k.Append(t.Context(), th.ID, reader, Turn{Question: "q", Answer: strings.Repeat("x", 30_000)}, false)
		}
		store.set(nil, 0)
		time.Sleep(time.Minute)
		k.save(t.Context())
		if n := len(store.names()); n != threads {
			t.Errorf("%d of %d threads are stored", n, threads)
		}
	})
}
