package reach

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval/links"
)

// maxSilent is after how many requests in a row without an answer no more are
// made.
const maxSilent = 4

// Asker returns a function that says whether something is at a path of the site,
// for a stranger, and calls use, if not nil, with the response. A refusal, an
// error and silence say nothing, and neither does a site that responds with 200
// and another text at each path. It is for one goroutine. forReader is true on
// behalf of a reader who waits.
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
