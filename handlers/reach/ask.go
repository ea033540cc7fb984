package reach

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/handlers/hosting"
	"github.com/caddy-docs/caddy-docs/retrieval/links"
)

// maxSilent is the number of unanswered requests in a row after which no more
// are made.
const maxSilent = 4

// Asker returns a function that reports whether a stranger finds something at a
// path of the site, and calls use, if not nil, with the response. A refusal, an
// error and silence prove nothing, and neither does a site that responds with 200
// and a different text at every path. The function is for one goroutine. forReader
// is true if a reader waits for the answer.
func (s *Gate) Asker(ctx context.Context, forReader bool) func(ctx context.Context, path string, use func(html bool, body []byte)) links.Answer {
	silent := 0
	ask := func(ctx context.Context, path string, use func(answer)) {
		if s.inside == nil || silent == maxSilent {
			return
		}
		slots := s.inside.background
		if forReader {
			slots = s.inside.readers
		}
		if s.inside.ask(ctx, slots, insideTimeout, escape(path), stranger, use) != nil {
			silent++
			return
		}
		silent = 0
	}
	var absent answer
	ask(ctx, unescape(s.root())+"docs-"+strings.ToLower(rand.Text()), func(a answer) { absent = a })
	return func(ctx context.Context, path string, use func(bool, []byte)) (found links.Answer) {
		ask(ctx, path, func(a answer) {
			switch {
			case a.elsewhere != "":
				found = links.Present
			case a.status == 0, a.status == http.StatusNotFound, a.status == http.StatusGone:
				found = links.Absent
			case a.status != http.StatusOK:
			case absent.status != http.StatusOK:
				found = links.Present
			case a.hash == absent.hash:
				found = links.Absent
			}
			if use != nil && a.status == http.StatusOK && len(a.body) < maxKept {
				use(isHTML(a.contentType), a.body)
			}
		})
		return found
	}
}

// AtAPI records that a request has reached the API, for requests made inside the
// process that want to know.
func AtAPI(r *http.Request) {
	if reached, ok := r.Context().Value(atAPI).(*bool); ok {
		*reached = true
	}
}

// Post sends an empty POST request without a key to a path of the API. It returns
// whether the API answered, the status of the answer, which is 0 if no handler
// answered, and where the answer redirects to, nil for nowhere.
func (rs *Routes) Post(ctx context.Context, server *caddyhttp.Server, host, path string) (reached bool, status int, to *url.URL, err error) {
	in, err := newInside(rs, server, host)
	if err != nil {
		return false, 0, nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, atAPI, &reached), insideTimeout)
	defer cancel()
	w, err := in.once(ctx, http.MethodPost, &url.URL{Path: path}, stranger, nil)
	if err != nil {
		return false, 0, nil, err
	}
	if location := w.header.Get("Location"); w.status >= 300 && w.status < 400 && location != "" {
		to, _ = (&url.URL{Scheme: in.scheme, Host: host, Path: path}).Parse(location) // nil: not a URL
	}
	return reached, w.status, to, nil
}

// Prepared returns a request like the one that Post sends, for trying matchers.
func Prepared(ctx context.Context, server *caddyhttp.Server, host, path string) *http.Request {
	in := &inside{server: server, scheme: hosting.Scheme(server), host: hosting.HostHeader(host)}
	return in.request(ctx, http.MethodPost, &url.URL{Path: path}, stranger, &response{header: make(http.Header)})
}

// freeFor is how long an answer of Free stays valid.
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

// Shown returns the HTML page that a stranger gets at a path, or the front page
// for an empty path, and its path; nil if there is none. Nothing on it is secret:
// no lock guards it.
func (s *Gate) Shown(ctx context.Context, path string) (page []byte, at string) {
	if front := s.View().front; path == "" && front != nil {
		path = front.path
	}
	if s.inside == nil || path == "" {
		return nil, ""
	}
	ctx, cancel := context.WithTimeout(ctx, insideTimeout) // with the wait for a slot
	defer cancel()
	_ = s.inside.ask(ctx, s.inside.readers, insideTimeout, escape(path), stranger, func(a answer) {
		if a.status == http.StatusOK && a.path == path && a.elsewhere == "" && isHTML(a.contentType) && len(a.body) < maxKept {
			page = bytes.Clone(a.body)
		}
	})
	return page, path
}
