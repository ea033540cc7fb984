package access

import (
	"fmt"
	"hash/maphash"
	"sync"
	"time"
)

const (
	// slotsPerWindow is how finely Recent tells times apart.
	slotsPerWindow = 1024
	recentShards   = 64
	// MaxRecentClients bounds the clients that a Recent tells apart, and
	// maxRecentSlots the memory of busy ones (8 bytes each).
	MaxRecentClients = 1 << 20
	maxRecentSlots   = 8 << 20
	evictionSample   = 8
)

// Recent allows each of many clients a number of events within a sliding
// window, and uses memory for what was really used: some 60 bytes for a
// client that came once, 8 kB for the busiest. (A ring of time stamps, as
// rate limiters keep, is 240 kB for every client at 10,000 events, were it
// for one.)
//
// It never allows more than its number in any window. Times are kept in
// slots of a 1024th of the window, and an event counts until its whole slot
// has left the window: up to 85 s more than 24 h, or 60 ms more than a minute.
//
// Clients are told apart by a 64-bit hash with a seed of the process's own.
// Beyond MaxRecentClients (some 80 MB), or when busy clients fill 64 MB, a
// new client takes the place of the least busy one of a few picked at
// random, whose count starts again.
//
// It is safe for concurrent use.
type Recent struct {
	max    int
	window time.Duration
	slot   time.Duration
	slots  uint32 // in a window
	start  time.Time
	seed   maphash.Seed
	shards [recentShards]recentShard

	// per shard
	maxClients, maxSlots int
}

type recentShard struct {
	mu      sync.Mutex
	clients map[uint64]recentEvents
	slots   int // of all clients
	swept   time.Duration
}

type recentEvents struct {
	slots []recentSlot // oldest first
	total uint32
}

type recentSlot struct{ number, events uint32 }

// NewRecent returns a Recent that allows max events (1 to 2^31) within
// window (from 1 s).
func NewRecent(max int, window time.Duration) (*Recent, error) {
	if max < 1 || max > 1<<31-1 {
		return nil, fmt.Errorf("%d events: must be 1 to %d", max, 1<<31-1)
	}
	if window < time.Second {
		return nil, fmt.Errorf("window %s: must be 1s or more", window)
	}
	r := &Recent{
		max: max, window: window, slot: (window + slotsPerWindow - 1) / slotsPerWindow,
		start: time.Now(), seed: maphash.MakeSeed(),
		maxClients: MaxRecentClients / recentShards, maxSlots: maxRecentSlots / recentShards,
	}
	r.slots = uint32((window + r.slot - 1) / r.slot)
	for i := range r.shards {
		r.shards[i].clients = map[uint64]recentEvents{}
	}
	return r, nil
}

// Take counts an event of client and returns true, or, if client has had its
// number, counts nothing and returns false and how long to wait.
func (r *Recent) Take(client string) (ok bool, wait time.Duration) {
	id := maphash.String(r.seed, client)
	s := &r.shards[id%recentShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	elapsed := time.Since(r.start)
	r.sweep(s, elapsed)

	now := uint32(elapsed / r.slot) // wraps: only differences are used
	c, known := s.clients[id]
	if known {
		r.expire(s, &c, now)
	}
	if int(c.total) >= r.max {
		s.clients[id] = c
		// now is the number of the slot that the oldest event is in plus at
		// most r.slots; it is free at the start of the one after.
		free := time.Duration(c.slots[0].number+r.slots+1-now)*r.slot - elapsed%r.slot
		return false, free
	}
	if n := len(c.slots); n > 0 && c.slots[n-1].number == now {
		c.slots[n-1].events++
	} else {
		if s.slots >= r.maxSlots || !known && len(s.clients) >= r.maxClients {
			s.evict(id)
		}
		c.slots = append(c.slots, recentSlot{number: now, events: 1})
		s.slots++
	}
	c.total++
	s.clients[id] = c
	return true, 0
}

// Clients returns how many clients are told apart at the moment.
func (r *Recent) Clients() int {
	n := 0
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		n += len(s.clients)
		s.mu.Unlock()
	}
	return n
}

// expire drops what has left the window. An event at t of slot n, which
// ends at (n+1)·slot, is dropped from (n+1+slots)·slot on, later than
// t+window.
func (r *Recent) expire(s *recentShard, c *recentEvents, now uint32) {
	old := 0
	for old < len(c.slots) && now-c.slots[old].number > r.slots {
		c.total -= c.slots[old].events
		old++
	}
	if old == 0 {
		return
	}
	s.slots -= old
	if old == len(c.slots) {
		c.slots = nil // gives back what a busy time took
		return
	}
	c.slots = c.slots[:copy(c.slots, c.slots[old:])]
}

// sweep forgets, a few times a window, the clients that have no event in it.
// It is done by requests, a shard at a time (some 16,000 clients at most), so
// that no goroutine needs to be ended.
func (r *Recent) sweep(s *recentShard, elapsed time.Duration) {
	since := elapsed - s.swept
	if since < r.window/4 {
		return
	}
	s.swept = elapsed
	if since > r.window+r.slot {
		// Nothing was counted since: all is old. This also keeps the numbers
		// of slots from wrapping round to where they look new.
		s.clients, s.slots = map[uint64]recentEvents{}, 0
		return
	}
	now := uint32(elapsed / r.slot)
	for id, c := range s.clients {
		if now-c.slots[len(c.slots)-1].number > r.slots {
			s.slots -= len(c.slots)
			delete(s.clients, id)
		}
	}
}

// evict forgets one client other than id.
func (s *recentShard) evict(id uint64) {
	var least uint64
	found, seen := false, 0
	for other, c := range s.clients { // in random order
		if other == id {
			continue
		}
		if !found || c.total < s.clients[least].total {
			least, found = other, true
		}
		if seen++; seen == evictionSample {
			break
		}
	}
	if found {
		s.slots -= len(s.clients[least].slots)
		delete(s.clients, least)
	}
}
