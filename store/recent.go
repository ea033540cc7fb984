package store

import "sync"

// Recent holds in memory what was used last, by key: two generations, of which
// the older one is dropped when the newer one is full. It is safe for concurrent
// use.
type Recent[V any] struct {
	// Max bounds the sizes of a generation together.
	Max int

	mu           sync.Mutex
	newer, older map[string]recent[V]
	size         int // of newer
}

type recent[V any] struct {
	value V
	size  int
}

// Get returns a value that was put, and false if it is no longer held.
func (r *Recent[V]) Get(key string) (v V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	held, ok := r.newer[key]
	if !ok {
		if held, ok = r.older[key]; ok {
			r.put(key, held)
		}
	}
	return held.value, ok
}

// Put holds a value of a size.
func (r *Recent[V]) Put(key string, v V, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(key, recent[V]{v, size})
}

func (r *Recent[V]) put(key string, held recent[V]) {
	if r.size += held.size; r.newer == nil || r.size > r.Max {
		r.newer, r.older, r.size = make(map[string]recent[V]), r.newer, held.size
	}
	r.newer[key] = held
}
