package reach

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
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
func (s *Gate) Free(ctx context.Context, path string) bool {
	if s.inside == nil {
		return true
	}
	s.mu.Lock()
	known, ok := s.free[path]
	s.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.free
	}
	var got, absent answer
	for path, to := range map[string]*answer{s.root() + "docs-" + strings.ToLower(rand.Text()): &absent, escape(path): &got} {
		if s.inside.ask(ctx, s.inside.readers, insideTimeout, path, stranger, func(a answer) { *to = a }) != nil {
			return false
		}
	}
	free := got.status == 0 || got.status == http.StatusNotFound || got.status == http.StatusOK && absent.status == http.StatusOK && got.hash == absent.hash
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == nil || len(s.free) > 100 {
		s.free = make(map[string]freePath)
	}
	s.free[path] = freePath{free, time.Now().Add(freeFor)}
	return free
}
