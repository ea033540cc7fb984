package site

import (
	"slices"
	"sync"
)

// Newest holds something that each configuration has. What configurations share
// uses the newest one's. The zero value is ready for use.
type Newest[T any] struct {
	mu sync.RWMutex
	in []*T // of the current configurations, the newest last
}

// Use makes a value the newest, until drop is called.
func (n *Newest[T]) Use(v T) (drop func() error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.in = append(n.in, &v)
	return func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.in = slices.DeleteFunc(n.in, func(other *T) bool { return other == &v })
		return nil
	}
}

// Current returns the newest value, the zero value if there is none.
func (n *Newest[T]) Current() (v T) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if len(n.in) > 0 {
		v = *n.in[len(n.in)-1]
	}
	return v
}
