package site

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func TestAGroupWaitsForChangesToEndButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		const busy, quiet = time.Minute, 10 * time.Minute
		sources := retrieval.NewSources(nil, nil)
		before, after := &Site{Index: &Index{Refresher: sources}}, &Site{Index: &Index{Refresher: sources}}
		members := new(Newest[func() []*Site])
		members.Use(func() []*Site {
			switch since := time.Since(start); {
			case since < busy:
				return []*Site{{Index: &Index{Refresher: sources}}} // another one each time
			case since < quiet:
				return []*Site{before}
			}
			return []*Site{after}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 2*quiet)
		defer cancel()
		var at []time.Duration
		_ = (&groupSource{members: members}).Watch(ctx, func() { at = append(at, time.Since(start)) })
		// Three bursts, the end of the changes, and a single one later.
		if len(at) != int(busy/(groupBurst+groupTick))+2 {
			t.Fatalf("changed after %v", at)
		}
		for i, next := range at[1 : len(at)-2] {
			if next-at[i] <= groupBurst {
				t.Errorf("changed after %v", at)
			}
		}
		if end, single := at[len(at)-2], at[len(at)-1]; end > busy+2*groupTick || single < quiet || single > quiet+2*groupTick {
			t.Errorf("the last changes, at %s and %s, are seen after %s and %s", busy, quiet, end, single)
		}
	})
}

// What is still being read is no page to fix.
func TestAGroupSaysThatItsSitesAreBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &Site{Name: "slow", Index: &Index{Looked: make(chan struct{})}}
		g := &groupSource{members: new(Newest[func() []*Site])}
		g.members.Use(func() []*Site { return []*Site{slow} })
		s, err := g.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := retrieval.Problem{File: "sites", Reason: "1 of 1 sites are still being read", Do: "wait; they will join the group"}
		if len(s.Problems) != 1 || s.Problems[0] != want {
			t.Errorf("got %+v, want %+v", s.Problems, want)
		}
	})
}

// A site that could not be read has no new pages, but is no longer being read.
func TestAGroupLooksAgainAfterTheFirstLookOfASite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &Site{Name: "slow", Index: &Index{Looked: make(chan struct{}), Refresher: new(retrieval.Sources)}}
		g := &groupSource{members: new(Newest[func() []*Site])}
		g.members.Use(func() []*Site { return []*Site{slow} })
		changed := make(chan struct{})
		go g.Watch(t.Context(), func() { changed <- struct{}{} })
		<-changed // the site is there
		close(slow.Index.Looked)
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Error("the group has not looked again")
		}
	})
}
