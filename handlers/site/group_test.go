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
