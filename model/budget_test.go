package model

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-docs/caddy-docs/store"
)

// memory is a Store in memory. While it is down everything fails.
type memory struct {
	mu   sync.Mutex
	m    map[string][]byte
	puts int
	down bool
}

var errDown = errors.New("storage is down")

func (s *memory) locked(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string][]byte{}
	}
	if s.down {
		return errDown
	}
	return f()
}

func (s *memory) Get(_ context.Context, key string) (v []byte, err error) {
	err = s.locked(func() error {
		var ok bool
		if v, ok = s.m[key]; !ok {
			return errors.New("no such key")
		}
		return nil
	})
	return v, err
}

func (s *memory) Put(_ context.Context, key string, v []byte) error {
	return s.locked(func() error { s.m[key] = v; s.puts++; return nil })
}

func (s *memory) Delete(_ context.Context, key string) error {
	return s.locked(func() error { delete(s.m, key); return nil })
}

func (s *memory) List(_ context.Context, prefix string) (keys []string, err error) {
	err = s.locked(func() error {
		for _, k := range slices.Sorted(maps.Keys(s.m)) {
			if strings.HasPrefix(k, prefix) {
				keys = append(keys, k)
			}
		}
		return nil
	})
	return keys, err
}

func budget(t *testing.T, s store.Store, l Limit) *Budget {
	t.Helper()
	return NewBudget(t.Context(), "acme", l, s, slog.New(slog.DiscardHandler))
}

func TestManyAtOnceSpendTheBudgetAndOneReply(t *testing.T) {
	for name, limit := range map[string]Limit{
		"tokens":   {Tokens: 100_000, Per: 24 * time.Hour},
		"requests": {Requests: 70, Per: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := budget(t, new(memory), limit)
				const reserve, cost = 2000, 1400
				var tokens, requests, refused atomic.Int64
				var wg sync.WaitGroup
				for i := range 1000 {
					wg.Go(func() {
						time.Sleep(time.Duration(i%100) * 10 * time.Millisecond)
						ticket := b.Take(reserve)
						if ticket == nil {
							refused.Add(1)
							return
						}
						time.Sleep(time.Duration(i%7) * time.Second)
						tokens.Add(cost)
						requests.Add(1)
						ticket.Spend(cost)
					})
				}
				wg.Wait()
				if limit.Tokens > 0 && (tokens.Load() > limit.Tokens+cost || tokens.Load() == 0) {
					t.Errorf("%d tokens spent of %d", tokens.Load(), limit.Tokens)
				}
				if limit.Requests > 0 && requests.Load() != limit.Requests {
					t.Errorf("%d requests of %d", requests.Load(), limit.Requests)
				}
				if refused.Load() == 0 {
					t.Error("nothing was refused")
				}
				left, _, _ := b.Left()
				if limit.Tokens > 0 && left != max(0, limit.Tokens-tokens.Load()) {
					t.Errorf("%d tokens left", left)
				}
				if err := b.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestABudgetIsKeptOverRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := Limit{Tokens: 10_000, Per: 24 * time.Hour}
		s := new(memory)
		b := budget(t, s, limit)
		b.Take(3000).Spend(2500)
		b.Take(100).Cancel()
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		b = budget(t, s, limit)
		if left, _, _ := b.Left(); left != 7500 {
			t.Errorf("%d left after a restart, want 7500", left)
		}
		b.Take(1000).Spend(1000)
		synctest.Wait() // a crash: no Close
		b = budget(t, s, limit)
		if left, _, _ := b.Left(); left > 6500 || left < 6300 {
			t.Errorf("%d left after a crash, want 6500 less at most two hundredths", left)
		}
		if b.Take(6500) == nil || b.Take(1) != nil {
			t.Error("the rest must go to one reply")
		}
		synctest.Wait()
	})
}

func TestANewWindowBringsANewBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(memory)
		b := budget(t, s, Limit{Requests: 1, Per: time.Hour})
		running := b.Take(0)
		if b.Take(0) != nil {
			t.Fatal("a second request of one")
		}
		_, left, until := b.Left()
		if left != 0 || until.Sub(time.Now()) > time.Hour || !until.Equal(until.Truncate(time.Hour)) {
			t.Errorf("%d left until %v", left, until)
		}
		time.Sleep(time.Until(until))
		ticket := b.Take(0)
		if ticket == nil {
			t.Fatal("the new window has nothing")
		}
		ticket.Cancel()
		running.Spend(0)
		if b.Take(0) != nil {
			t.Error("what began earlier must be paid for")
		}
		time.Sleep(72 * time.Hour)
		budget(t, s, Limit{Requests: 1, Per: time.Hour})
		if keys, _ := s.List(t.Context(), ""); len(keys) != 0 {
			t.Errorf("old records stay: %q", keys)
		}
		_ = b.Close(t.Context())
	})
}

func TestProcessesOnOneStorageShareTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, limit := new(memory), Limit{Requests: 100, Per: 24 * time.Hour}
		a, b := budget(t, s, limit), budget(t, s, limit)
		for range 90 {
			a.Take(0).Spend(0)
		}
		time.Sleep(shareAfter)
		b.Left()
		synctest.Wait()
		n := 0
		for b.Take(0) != nil {
			n++
		}
		if n > 10 || n < 6 {
			t.Errorf("the second got %d of the last 10", n)
		}
		_ = a.Close(t.Context())
		_ = b.Close(t.Context())
	})
}

func TestABudgetHoldsWithoutItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(t, &memory{down: true}, Limit{Tokens: 1000, Per: time.Hour})
		b.Take(1000).Spend(1000)
		if b.Take(1) != nil {
			t.Error("beyond the budget")
		}
		if err := b.Close(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("error %v", err)
		}
	})
}

func TestTheStoreIsWrittenAHundredTimesAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(memory)
		b := budget(t, s, Limit{Tokens: 1_000_000, Per: 24 * time.Hour})
		for range 10_000 {
			b.Take(100).Spend(100)
			synctest.Wait()
		}
		if s.puts > 110 || s.puts < 90 {
			t.Errorf("%d writes", s.puts)
		}
	})
}
