package access

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func newRecent(t testing.TB, max int, window time.Duration) *Recent {
	t.Helper()
	r, err := NewRecent(max, window)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecentAllowsItsNumberAndTellsHowLongToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecent(t, 9000, 24*time.Hour)
		for i := range 9000 {
			if ok, _ := r.Take("a"); !ok {
				t.Fatalf("event %d refused", i+1)
			}
			time.Sleep(time.Second)
		}
		ok, wait := r.Take("a")
		if ok {
			t.Fatal("event 9001 allowed")
		}
		if ok, _ := r.Take("b"); !ok {
			t.Fatal("another client refused")
		}
		time.Sleep(wait - time.Nanosecond)
		if ok, _ := r.Take("a"); ok {
			t.Fatal("allowed before the time told")
		}
		time.Sleep(time.Nanosecond)
		if ok, _ := r.Take("a"); !ok {
			t.Fatal("refused at the time told")
		}
	})
}

func TestRecentAgainstExactLog(t *testing.T) {
	for _, window := range []time.Duration{time.Second, time.Minute, 24 * time.Hour, 7*time.Hour + 13*time.Nanosecond} {
		t.Run(window.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const max = 50
				r := newRecent(t, max, window)
				rnd := rand.New(rand.NewPCG(1, 2))
				var taken []time.Time
				refused := 0
				for range 20_000 {
					time.Sleep(time.Duration(rnd.Int64N(int64(window / 30))))
					now := time.Now()
					in, nearly := 0, 0 // in the window, and in one a slot longer
					for i := len(taken) - 1; i >= 0; i-- {
						age := now.Sub(taken[i])
						if age <= window {
							in++
						}
						if age > window+2*r.slot {
							break
						}
						nearly++
					}
					ok, wait := r.Take("c")
					if ok {
						taken = append(taken, now)
						if in >= max {
							t.Fatalf("%d events within %s", in+1, window)
						}
						continue
					}
					refused++
					if nearly < max {
						t.Fatalf("refused after %d events", nearly)
					}
					if wait <= 0 || wait > window+r.slot {
						t.Fatalf("wait %s", wait)
					}
				}
				if refused == 0 {
					t.Fatal("the test refused nothing, so it shows nothing")
				}
			})
		})
	}
}

func TestRecentForgetsClientsThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecent(t, 10, time.Hour)
		for i := range 5000 {
			r.Take(strconv.Itoa(i))
		}
		for range 40 { // others go on for two hours
			time.Sleep(3 * time.Minute)
			for i := range 1000 {
				r.Take("stays" + strconv.Itoa(i))
			}
		}
		if n := r.Clients(); n != 1000 {
			t.Fatalf("%d clients are held, want the 1000 that came lately", n)
		}
		time.Sleep(10 * 365 * 24 * time.Hour) // slot numbers wrap
		for i := range 1000 {
			if ok, _ := r.Take("stays" + strconv.Itoa(i)); !ok {
				t.Fatal("refused after ten quiet years")
			}
		}
		for i := range r.shards {
			held := 0
			for _, c := range r.shards[i].clients {
				held += len(c.slots)
			}
			if held != r.shards[i].slots {
				t.Fatalf("shard %d counts %d slots, holds %d", i, r.shards[i].slots, held)
			}
		}
	})
}

func TestRecentKeepsBusyClientsWhenFull(t *testing.T) {
	r := newRecent(t, 100, time.Hour)
	r.maxClients, r.maxSlots = 50, 1000
	for range 100 {
		r.Take("busy")
	}
	for i := range 100_000 {
		r.Take(strconv.Itoa(i))
		if i%997 == 0 {
			if ok, _ := r.Take("busy"); ok {
				t.Fatalf("after %d others the busy client was forgotten", i)
			}
		}
	}
	if n := r.Clients(); n > 50*recentShards {
		t.Fatalf("%d clients held, more than the bound", n)
	}
}

func TestRecentBoundsTheMemoryOfBusyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecent(t, 1_000_000, time.Hour)
		r.maxSlots = 20
		for range 100 {
			time.Sleep(r.slot)
			for i := range 200 {
				r.Take(strconv.Itoa(i))
			}
		}
		for i := range r.shards {
			if n := r.shards[i].slots; n > r.maxSlots+100 { // one client's more at most
				t.Fatalf("%d slots in a shard", n)
			}
		}
	})
}

func TestRecentRefusesNumbersItCannotKeep(t *testing.T) {
	for _, tt := range []struct {
		max    int
		window time.Duration
	}{{0, time.Hour}, {-1, time.Hour}, {1 << 31, time.Hour}, {5, 0}, {5, -time.Hour}, {5, time.Second - 1}} {
		if _, err := NewRecent(tt.max, tt.window); err == nil {
			t.Errorf("%d in %s accepted", tt.max, tt.window)
		}
	}
}

func TestRecentMemory(t *testing.T) {
	for _, tt := range []struct {
		clients, events int
		most            uint64
	}{{100_000, 1, 20 << 20}, {MaxRecentClients + 200_000, 1, 140 << 20}} {
		t.Run(fmt.Sprintf("%d clients", tt.clients), func(t *testing.T) {
			r := newRecent(t, 9000, 24*time.Hour)
			before := heap()
			for i := range tt.clients {
				for range tt.events {
					r.Take(strconv.Itoa(i))
				}
			}
			used := heap() - before
			t.Logf("%.1f MB, %d bytes a client", float64(used)/1e6, used/uint64(r.Clients()))
			if used > tt.most {
				t.Errorf("%d bytes of heap, want at most %d", used, tt.most)
			}
			if r.Clients() > MaxRecentClients {
				t.Errorf("%d clients held", r.Clients())
			}
			runtime.KeepAlive(r)
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkRecentTake(b *testing.B) {
	for _, clients := range []int{1, 100_000} {
		b.Run(fmt.Sprintf("%d clients", clients), func(b *testing.B) {
			r := newRecent(b, 9000, 24*time.Hour)
			names := make([]string, clients)
			for i := range names {
				names[i] = "192.0.2." + strconv.Itoa(i)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				r.Take(names[i%clients])
				i++
			}
		})
	}
}
