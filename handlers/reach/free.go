package reach

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval/links"
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
	free := s.Asker(ctx, true)(ctx, path, nil) == links.Absent
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == nil || len(s.free) > 100 {
		s.free = make(map[string]freePath)
	}
	s.free[path] = freePath{free, time.Now().Add(freeFor)}
	return free
}

// Shown returns the HTML page that a stranger gets at a path, or as the front page
// for an empty path, and the path; nil for none. What is on it is no secret of a
// lock.
func (s *Gate) Shown(ctx context.Context, path string) (page []byte, at string) {
	if front := s.View().front; path == "" && front != nil {
		path = front.path
	}
	if s.inside == nil || path == "" {
		return nil, ""
	}
	_ = s.inside.ask(ctx, s.inside.readers, insideTimeout, escape(path), stranger, func(a answer) {
		if a.status == http.StatusOK && a.path == path && a.elsewhere == "" && isHTML(a.contentType) && len(a.body) < maxKept {
			page = bytes.Clone(a.body)
		}
	})
	return page, path
}
