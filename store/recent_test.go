package store

import (
	"strconv"
	"testing"
)

func TestRecentHoldsWhatWasUsedLastWithinItsBound(t *testing.T) {
	r := &Recent[int]{Max: 10}
	r.Put("used", -1, 1)
	for i := range 1000 {
		r.Put(strconv.Itoa(i), i, 1)
		if v, ok := r.Get("used"); !ok || v != -1 {
			t.Fatalf("after %d, what is used is %d, %t", i, v, ok)
		}
		if v, ok := r.Get(strconv.Itoa(i)); !ok || v != i {
			t.Fatalf("after %d, the last is %d, %t", i, v, ok)
		}
		if n := len(r.newer) + len(r.older); n > 20 {
			t.Fatalf("%d values are held", n)
		}
	}
	if _, ok := r.Get("0"); ok {
		t.Error("the first value is still held")
	}
	r.Put("large", 1, 11)
	if len(r.newer) != 1 {
		t.Errorf("%d values are held beside one that is too large", len(r.newer)-1)
	}
}
