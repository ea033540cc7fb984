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

func TestValuesThatMakeRoomAreDroppedOnce(t *testing.T) {
	var dropped []int
	r := &Recent[int]{Max: 3, Dropped: func(v int) { dropped = append(dropped, v) }}
	for i := range 3 {
		r.Put("again", i, 1) // takes one place
		r.Put(strconv.Itoa(i), i, 1)
	}
	if all := r.All(); len(dropped) > 0 || len(all) != 4 || all["again"] != 2 {
		t.Errorf("held are %v, dropped %v", all, dropped)
	}
	for range 4 {
		r.Put("again", 9, 2)
		r.Put("large", 8, 2)
	}
	if all := r.All(); len(dropped) != 3 || len(all) != 2 {
		t.Errorf("held are %v, dropped %v", all, dropped)
	}
}
