package thread

import (
	"container/list"
	"sync"
)

// cache holds threads as they are stored, bounded by bytes. The least recently
// used one goes first.
type cache struct {
	mu    sync.Mutex
	max   int
	bytes int
	order *list.List // of *cached, the latest first
	byKey map[string]*list.Element
}

type cached struct {
	key  string
	data []byte
	// stored is true if the store has, or had, the thread: if it is no longer
	// there, it was deleted. unsaved is true if data has a turn that is not
	// stored yet.
	stored, unsaved bool
}

// overhead is what an entry costs besides its data, in bytes.
const overhead = 300

func newCache(max int) *cache {
	return &cache{max: max, order: list.New(), byKey: map[string]*list.Element{}}
}

func (c *cache) get(key string) (cached, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return cached{}, false
	}
	c.order.MoveToFront(e)
	return *e.Value.(*cached), true
}

// put adds or replaces an entry, and returns how many unsaved ones were
// dropped to make room.
func (c *cache) put(v cached) (lost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(v.key)
	c.byKey[v.key] = c.order.PushFront(&v)
	c.bytes += len(v.data) + overhead
	for c.bytes > c.max {
		oldest := c.order.Back().Value.(*cached)
		if oldest.unsaved {
			lost++
		}
		c.remove(oldest.key)
	}
	return lost
}

func (c *cache) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
}

func (c *cache) remove(key string) {
	if e, ok := c.byKey[key]; ok {
		c.bytes -= len(e.Value.(*cached).data) + overhead
		c.order.Remove(e)
		delete(c.byKey, key)
	}
}

// unsaved returns the keys of the threads with a turn that is not stored.
func (c *cache) unsaved() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []string
	for key, e := range c.byKey {
		if e.Value.(*cached).unsaved {
			keys = append(keys, key)
		}
	}
	return keys
}
