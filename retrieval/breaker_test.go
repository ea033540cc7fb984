package retrieval_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

var errDown = errors.New("down")

func TestABreakerKeepsCallsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &retrieval.Breaker{After: 3, First: time.Second, Last: time.Minute}
		for i, want := range []bool{false, false, true} {
			if !b.Allow() {
				t.Fatalf("closed after %d failures", i)
			}
			if got := b.Record(errDown); got != want {
				t.Errorf("failure %d opened the breaker: %v", i+1, got)
			}
		}
		for range 100 { // calls that were in progress
			b.Record(errDown)
		}
		tries := 0
		for range 3600 {
			time.Sleep(time.Second)
			if b.Allow() {
				tries++
				if b.Allow() {
					t.Error("two calls try the service at once")
				}
				b.Record(errDown)
			}
		}
		if tries < 60 || tries > 70 {
			t.Errorf("%d tries in an hour", tries)
		}
		time.Sleep(time.Minute)
		if !b.Allow() || !b.Record(nil) || b.Record(nil) {
			t.Error("a success doesn't close the breaker")
		}
		if b.Record(errDown); !b.Allow() {
			t.Error("the breaker counts failures from before a success")
		}
	})
}

func TestATryWithoutAResultIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &retrieval.Breaker{After: 1, First: time.Second, Last: time.Minute}
		b.Record(errDown)
		time.Sleep(time.Second)
		if !b.Allow() || b.Allow() {
			t.Error("not one try")
		}
		time.Sleep(time.Second)
		if !b.Allow() {
			t.Error("the try was the last one")
		}
	})
}

func TestAnOpenBreakerWaitsAsLongAsTheServiceAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &retrieval.Breaker{After: 2, First: time.Second, Last: time.Minute}
		b.Record(errDown)
		if b.Wait(time.Hour); !b.Allow() {
			t.Error("a closed breaker waits")
		}
		b.Record(errDown)
		b.Wait(time.Hour)
		if failures, until, err := b.State(); failures != 2 || !until.Equal(time.Now().Add(time.Hour)) || err != errDown {
			t.Errorf("%d failures, until %v, %v", failures, until, err)
		}
		time.Sleep(time.Hour - 1)
		if b.Allow() {
			t.Error("the wait is over early")
		}
		if time.Sleep(1); !b.Allow() {
			t.Error("the wait doesn't end")
		}
		b.Record(nil)
		if failures, until, err := b.State(); failures != 0 || !until.IsZero() || err != nil {
			t.Errorf("%d failures, until %v, %v", failures, until, err)
		}
	})
}
