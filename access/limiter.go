package access

import (
	"cmp"
	"sync"
	"time"
)

const (
	// bucketsPerWindow is the resolution of a Limiter's sliding window.
	bucketsPerWindow = 24
	// maxClients bounds each of a Limiter's two maps of clients.
	maxClients = 250_000
)

// Limiter allows each client a number of requests within a sliding window.
//
// It counts requests in buckets of a 24th of the window, and a request counts
// until its whole bucket has left the window. So a client never has more than
// the limit within any window, and a client that reached the limit waits at
// most one bucket longer than with an exact limiter: one hour for a window of
// 24 hours.
//
// Each client takes some 200 bytes, however many requests it sends, and is
// forgotten about two windows after its last one. At most 500,000 clients
// are counted at once; beyond that, those that have been idle the longest are
// forgotten first.
//
// A Limiter is safe for concurrent use.
type Limiter struct {
	limit  int
	bucket time.Duration
	start  time.Time

	mu sync.Mutex
	// Clients are in recent once they have been seen since rotated, and in
	// older if they were last seen before. Dropping older as a whole frees
	// memory without a walk over all clients.
	recent, older map[string]*clientCount
	rotated       time.Duration // since start
}

// clientCount is a ring of the buckets that are in the window or have not
// left it completely.
type clientCount struct {
	newest  int64 // the bucket of the last request, counted from the start
	total   int
	buckets [bucketsPerWindow + 1]uint32
}

// NewLimiter returns a Limiter that allows limit requests, at least 1, within
// window.
func NewLimiter(limit int, window time.Duration) *Limiter {
	return &Limiter{
		limit: limit, start: time.Now(),
		bucket: max(1, (window+bucketsPerWindow-1)/bucketsPerWindow),
		recent: map[string]*clientCount{},
	}
}

// Take counts a request of client. It returns how many more requests client
// may send now, -1 if it had reached the limit and the request was not counted,
// and how long until the oldest of its requests leaves the window.
func (l *Limiter) Take(client string) (left int, reset time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed := time.Since(l.start)
	c := l.count(client, elapsed)
	now := int64(elapsed / l.bucket)
	c.advance(now)
	left = -1
	if c.total < l.limit {
		c.buckets[now%int64(len(c.buckets))]++
		c.total++
		left = l.limit - c.total
	}
	free := time.Duration(c.oldest()+bucketsPerWindow+1) * l.bucket
	return left, free - elapsed
}

// Used returns the requests of client that are within the window.
func (l *Limiter) Used(client string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := cmp.Or(l.recent[client], l.older[client])
	if c == nil {
		return 0
	}
	c.advance(int64(time.Since(l.start) / l.bucket))
	return c.total
}

// count returns the count of a client, a new one if it has none in the window.
func (l *Limiter) count(client string, elapsed time.Duration) *clientCount {
	// The newest bucket of any older client has left the window after a
	// window and a bucket.
	if elapsed-l.rotated >= (bucketsPerWindow+1)*l.bucket || len(l.recent) >= maxClients {
		l.recent, l.older, l.rotated = map[string]*clientCount{}, l.recent, elapsed
	}
	c, ok := l.recent[client]
	if !ok {
		if c, ok = l.older[client]; ok {
			delete(l.older, client)
		} else {
			c = new(clientCount)
		}
		l.recent[client] = c
	}
	return c
}

// advance moves the ring on to the bucket now and clears those that have left
// the window.
func (c *clientCount) advance(now int64) {
	size := int64(len(c.buckets))
	for b := max(c.newest+1, now-size+1); b <= now; b++ {
		c.total -= int(c.buckets[b%size])
		c.buckets[b%size] = 0
	}
	c.newest = now
}

// oldest returns the oldest bucket that has a request.
func (c *clientCount) oldest() int64 {
	size := int64(len(c.buckets))
	b := c.newest - size + 1
	for b < 0 || b < c.newest && c.buckets[b%size] == 0 {
		b++
	}
	return b
}
