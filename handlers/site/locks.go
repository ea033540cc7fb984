package site

import (
	"context"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant/thread"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Sealed reports whether a stored turn is not for the reader of the context:
// it quotes a page that they can't open, that is no longer known, or that was
// behind a lock then and is not now, when its text may be another.
func (r *Site) Sealed(ctx context.Context, t *thread.Turn) bool {
	if r.Reach == nil {
		return false
	}
	if t.Locked && !r.Reach.AnyLocked(t.Sources) {
		return true
	}
	return !r.Reach.CanOpenAll(ctx, t.Sources)
}

// Refuses returns the status with which the site refuses the reader of the
// context its front page, although strangers get it, else 0.
func (r *Site) Refuses(ctx context.Context) (status int) {
	if r.Reach == nil {
		return 0
	}
	return r.Reach.Refuses(ctx)
}

// Saw notes that the site just served a page to the reader of the context.
func (r *Site) Saw(ctx context.Context, d *retrieval.Document) {
	if r.Reach != nil {
		r.Reach.Saw(ctx, d)
	}
}

// PageCounts returns how many pages clients get in which way.
func (r *Site) PageCounts() reach.Counts {
	if r.Reach != nil {
		return r.Reach.Counts()
	}
	return reach.Counts{Public: len(r.Index.Documents())}
}

// Pages returns the pages of the index by URL, with what clients get there.
// It is empty before the index is open.
func (r *Site) Pages() []reach.Page {
	if r.Reach != nil {
		return r.Reach.Pages()
	}
	if r.Index == nil {
		return nil
	}
	var all []reach.Page
	for _, d := range r.Index.Documents() {
		all = append(all, reach.Page{Document: d, State: reach.Public, URL: d.URL})
	}
	slices.SortFunc(all, func(a, b reach.Page) int { return strings.Compare(a.URL, b.URL) })
	return all
}
