package access

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// At random paces, a Limiter is compared with an exact log of time stamps.
func TestALimiterNeverExceedsItsLimitAndIsAtMostOneBucketLate(t *testing.T) {
	for seed, tt := range []struct {
		limit  int
		window time.Duration
	}{{1, time.Second}, {7, 24 * time.Second}, {20, time.Minute}, {200, time.Hour}, {10_000, 24 * time.Hour}} {
		t.Run(fmt.Sprintf("%d within %s", tt.limit, tt.window), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Buckets are whole nanoseconds, so 24 of them can be a few longer
				// than the window.
				late := tt.window/bucketsPerWindow + 2*bucketsPerWindow
				l := NewLimiter(tt.limit, tt.window)
				rnd := rand.New(rand.NewPCG(1, uint64(seed)))
				var taken []time.Time
				// since returns how long ago the nth of the last requests was taken.
				since := func(n int) time.Duration {
					if n > len(taken) {
						return math.MaxInt64
					}
					return time.Since(taken[len(taken)-n])
				}
				refused := 0
				for i := range 5 * max(tt.limit, 200) {
					pace := tt.window / time.Duration(tt.limit) / 3
					switch i / max(tt.limit, 20) % 3 {
					case 1:
						pace *= 20
					case 2:
						pace /= 20
					}
					time.Sleep(time.Duration(rnd.Int64N(int64(pace) + 1)))
					wait := take(l, "reader")
					if wait == 0 {
						taken = append(taken, time.Now())
						if since(tt.limit+1) <= tt.window {
							t.Fatalf("more than %d requests within the window", tt.limit)
						}
						continue
					}
					refused++
					exact := tt.window - since(tt.limit)
					if wait < exact || wait > exact+late {
						t.Fatalf("the wait is %s, with an exact limiter %s", wait, exact)
					}
				}
				if refused < 10 {
					t.Fatalf("only %d requests were refused", refused)
				}
			})
		})
	}
}

func TestAClientIsAllowedAfterItsWaitAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(3, time.Minute)
		time.Sleep(7 * time.Second)
		for range 3 {
			if wait := take(l, "reader"); wait != 0 {
				t.Fatal(wait)
			}
		}
		wait := take(l, "reader")
		time.Sleep(wait - 1)
		if again := take(l, "reader"); again != 1 {
			t.Errorf("1ns before the end of the wait, the wait is %s", again)
		}
		time.Sleep(1)
		if again := take(l, "reader"); again != 0 {
			t.Errorf("refused after its wait, for %s", again)
		}
	})
}

func TestRefusedRequestsSpendNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(2, time.Minute)
		take(l, "reader")
		take(l, "reader")
		for range 1000 {
			if take(l, "reader") == 0 {
				return // freed although it went on asking
			}
			time.Sleep(time.Minute / 500)
		}
		t.Error("a client that goes on asking is never allowed again")
	})
}

func TestAClientThatWasIdleHasItsWholeLimit(t *testing.T) {
	for _, idle := range []time.Duration{time.Hour + time.Hour/24, 3 * time.Hour, 1000 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter(50, time.Hour)
			for range 60 {
				take(l, "reader")
			}
			time.Sleep(idle)
			for i := range 50 {
				if wait := take(l, "reader"); wait != 0 {
					t.Fatalf("request %d after %s is refused for %s", i+1, idle, wait)
				}
			}
			if take(l, "reader") == 0 {
				t.Errorf("51 requests are allowed after %s", idle)
			}
		})
	}
}

func TestIdleClientsAreForgottenAfterTwoWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(5, time.Hour)
		for i := range 1000 {
			take(l, strconv.Itoa(i))
		}
		for range 2 {
			time.Sleep(time.Hour + time.Hour/bucketsPerWindow)
			take(l, "reader")
		}
		if n := len(l.recent) + len(l.older); n != 1 {
			t.Errorf("%d clients are kept, want 1", n)
		}
	})
}

func TestManyClientsDoNotResetABusyOne(t *testing.T) {
	l := NewLimiter(3, time.Hour)
	for range 3 {
		take(l, "busy")
	}
	for i := range 3 * maxClients {
		take(l, strconv.Itoa(i))
		if i%1000 == 0 && take(l, "busy") == 0 {
			t.Fatalf("allowed again after %d other clients", i)
		}
	}
	if n := len(l.recent) + len(l.older); n > 2*maxClients {
		t.Errorf("%d clients are kept, want at most %d", n, 2*maxClients)
	}
}

func TestAHundredThousandClientsTakeAtMost30MB(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	l := NewLimiter(10_000, 24*time.Hour)
	for i := range 100_000 {
		client := Client(fmt.Sprintf("2001:db8:%x:%x::1", i>>16, i&0xffff))
		for range 3 {
			take(l, client)
		}
	}
	used := heap() - before
	t.Logf("%.1f MB", float64(used)/1e6)
	if used > 30e6 {
		t.Errorf("%d bytes, want at most 30 MB", used)
	}
	runtime.KeepAlive(l)
}

func BenchmarkLimiter(b *testing.B) {
	l := NewLimiter(1_000_000, 24*time.Hour)
	var clients [1000]string
	for i := range clients {
		clients[i] = Client(fmt.Sprintf("192.0.%d.%d", i>>8, i&0xff))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		take(l, clients[i%len(clients)])
		i++
	}
}

// take has a client send a request, and returns how long it has to wait, 0 if
// the request was allowed.
func take(l *Limiter, client string) (wait time.Duration) {
	if left, reset := l.Take(client); left < 0 {
		return reset
	}
	return 0
}

func TestALimiterReturnsWhatIsLeftAndWhenThereIsMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(3, 24*time.Minute)
		for i, want := range []struct {
			left  int
			reset time.Duration
		}{{2, 25 * time.Minute}, {1, 24 * time.Minute}, {0, 23 * time.Minute}, {-1, 22 * time.Minute}} {
			if left, reset := l.Take("reader"); left != want.left || reset != want.reset {
				t.Errorf("request %d: %d left, %s", i+1, left, reset)
			}
			time.Sleep(time.Minute)
		}
	})
}
