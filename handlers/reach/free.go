package reach

import (
	"context"
	"net/http"
	"time"
)

// freeFor is how long an answer of Free holds.
const freeFor = time.Minute

// freePath is an answer of Free.
type freePath struct {
	free  bool
	until time.Time
}

// Free reports whether the site has nothing at a path: it answers a stranger
// with 404, not at all, or as it answers for a page that does not exist.
func (s *Site) Free(ctx context.Context, path string) bool {
	if s.inside == nil {
		return true
	}
	s.mu.Lock()
	known, ok := s.free[path]
	s.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.free
	}
	fallback, err := s.fallback(ctx)
	if err != nil {
		return false
	}
	a, err := s.inside.ask(ctx, escape(path), stranger, true)
	if err != nil {
		return false
	}
	free := a.status == 0 || a.status == http.StatusNotFound || fallback != nil && a.status == http.StatusOK && a.body == fallback.body
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == nil || len(s.free) > 100 {
		s.free = make(map[string]freePath)
	}
	s.free[path] = freePath{free, time.Now().Add(freeFor)}
	return free
}
