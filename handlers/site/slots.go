package site

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Slots bound the replies in progress for a site, by the bound. They
// outlive a reload, with the replies that hold them.
type Slots struct {
	mu  sync.Mutex
	max map[int]*semaphore.Weighted
}

// NewSlots returns slots that are all free.
func NewSlots() *Slots {
	return &Slots{max: make(map[int]*semaphore.Weighted)}
}

// slotTimeout is how long a reply waits for a slot.
const slotTimeout = 2 * time.Second

// TakeSlot takes one of max reply slots, waiting a moment if all are taken.
// It reports whether it has one, which release gives back.
func (r *Site) TakeSlot(ctx context.Context, max int) (release func(), ok bool) {
	r.Slots.mu.Lock()
	slots := r.Slots.max[max]
	if slots == nil {
		slots = semaphore.NewWeighted(int64(max))
		r.Slots.max[max] = slots
	}
	r.Slots.mu.Unlock()
	if !slots.TryAcquire(1) {
		ctx, cancel := context.WithTimeout(ctx, slotTimeout)
		defer cancel()
		if slots.Acquire(ctx, 1) != nil {
			return nil, false
		}
	}
	return func() { slots.Release(1) }, true
}
