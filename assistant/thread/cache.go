package thread

import (
	"container/list"
	"sync"
)

// cache holds threads as they are stored, bounded by bytes; the one that was
// not asked for longest goes first.
type cache struct {
	mu    sync.Mutex
	max   int
	bytes int
	order *list.List // of *cached, latest first
	byID  map[string]*list.Element
}

type cached struct {
	id           string
	organization string
	data         []byte
	// begun is a thread without a turn, instead of data; it is not changed.
	begun *Thread
	// stored is true if the store has, or had, the thread: if it has it no
	// longer, the thread was deleted. unsaved is true if a turn of data is
	// still to be stored.
	stored, unsaved bool
}

// overhead is what an entry costs besides its data.
const overhead = 300

func newCache(max int) *cache {
	return &cache{max: max, order: list.New(), byID: map[string]*list.Element{}}
}

func (c *cache) get(id string) (cached, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byID[id]
	if !ok {
		return cached{}, false
	}
	c.order.MoveToFront(e)
	return *e.Value.(*cached), true
}

// put adds or replaces an entry, and returns how many unsaved ones were lost
// to make room.
func (c *cache) put(v cached) (lost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(v.id)
	c.byID[v.id] = c.order.PushFront(&v)
	c.bytes += len(v.data) + overhead
	for c.bytes > c.max {
		oldest := c.order.Back().Value.(*cached)
		if oldest.unsaved {
			lost++
		}
		c.remove(oldest.id)
	}
	return lost
}

func (c *cache) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(id)
}

func (c *cache) remove(id string) {
	if e, ok := c.byID[id]; ok {
		c.bytes -= len(e.Value.(*cached).data) + overhead
		c.order.Remove(e)
		delete(c.byID, id)
	}
}

// unsaved returns the ids of the entries that the store does not have.
func (c *cache) unsaved() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	for id, e := range c.byID {
		if e.Value.(*cached).unsaved {
			ids = append(ids, id)
		}
	}
	return ids
}
