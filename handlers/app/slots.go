package app

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// replySlots bound the replies in progress for a site, by the bound. They
// outlive a reload, with the replies that hold them.
type replySlots struct {
	mu  sync.Mutex
	max map[int]*semaphore.Weighted
}

type replySlotsKey struct{ site string }

func newReplySlots() (*replySlots, error) {
	return &replySlots{max: make(map[int]*semaphore.Weighted)}, nil
}

// Destruct implements caddy.Destructor.
func (*replySlots) Destruct() error { return nil }

// slotTimeout is how long a reply waits for a slot.
const slotTimeout = 2 * time.Second

// TakeSlot takes one of max reply slots, waiting a moment if all are taken.
// It reports whether it has one, which release gives back.
func (r *LiveSite) TakeSlot(ctx context.Context, max int) (release func(), ok bool) {
	r.slots.mu.Lock()
	slots := r.slots.max[max]
	if slots == nil {
		slots = semaphore.NewWeighted(int64(max))
		r.slots.max[max] = slots
	}
	r.slots.mu.Unlock()
	if !slots.TryAcquire(1) {
		ctx, cancel := context.WithTimeout(ctx, slotTimeout)
		defer cancel()
		if slots.Acquire(ctx, 1) != nil {
			return nil, false
		}
	}
	return func() { slots.Release(1) }, true
}
