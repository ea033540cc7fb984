package site

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// slotTimeout is how long a reply waits for a slot.
const slotTimeout = 2 * time.Second

// TakeSlot takes one of max reply slots, waiting a moment if all are taken.
// It reports whether it has one, which release gives back.
func (r *Site) TakeSlot(ctx context.Context, max int) (release func(), ok bool) {
	held, _ := r.Slots.LoadOrStore(max, semaphore.NewWeighted(int64(max)))
	slots := held.(*semaphore.Weighted)
	ctx, cancel := context.WithTimeout(ctx, slotTimeout)
	defer cancel()
	if slots.Acquire(ctx, 1) != nil {
		return nil, false
	}
	return func() { slots.Release(1) }, true
}
