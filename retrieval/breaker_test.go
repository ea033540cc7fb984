package retrieval_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func TestABreakerKeepsCallsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &retrieval.Breaker{After: 3, First: time.Second, Last: time.Minute}
		for i, want := range []bool{false, false, true} {
			if !b.Allow() {
				t.Fatalf("closed after %d failures", i)
			}
			if got := b.Record(false); got != want {
				t.Errorf("failure %d opened the breaker: %v", i+1, got)
			}
		}
		for range 100 { // calls that were in progress
			b.Record(false)
		}
		tries := 0
		for range 3600 {
			time.Sleep(time.Second)
			if b.Allow() {
				tries++
				if b.Allow() {
					t.Error("two calls try the service at once")
				}
				b.Record(false)
			}
		}
		if tries < 60 || tries > 70 {
			t.Errorf("%d tries in an hour", tries)
		}
		time.Sleep(time.Minute)
		if !b.Allow() || !b.Record(true) || b.Record(true) {
			t.Error("a success doesn't close the breaker")
		}
		if b.Record(false); !b.Allow() {
			t.Error("the breaker counts failures from before a success")
		}
	})
}

func TestATryWithoutAResultIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &retrieval.Breaker{After: 1, First: time.Second, Last: time.Minute}
		b.Record(false)
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
