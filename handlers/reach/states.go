package reach

import (
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// states are what is known of the pages of a site, and when to ask for them
// again.
type states struct {
	mu    sync.Mutex
	pages map[string]*Page // by Document.Page
	// seen are the documents that pages are of, and of which none is due before
	// then. changed reports that a page differs from the view.
	seen    []*retrieval.Document
	then    time.Time
	changed bool
	// rest is until when no page is asked for again.
	rest time.Time

	// found has the locked pages that are not where a stranger was refused, by
	// Document.Page: a lock on /x/* refuses /x/page, where nothing may be, as
	// it refuses /x/page.md. A reader who can open the page finds it.
	found sync.Map // of moved
}

// isSettled reports whether none of the documents is due.
func (s *states) isSettled(documents []*retrieval.Document, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SameDocuments(documents, s.seen) && now.Before(s.then)
}

// due returns the documents to ask for, those that are new or changed and
// those whose answers are old, and forgets the pages that are gone. Old answers
// are renewed a few at a time.
func (s *states) due(documents []*retrieval.Document, now time.Time) (due, again []*retrieval.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !SameDocuments(documents, s.seen) {
		s.see(documents)
	}
	const perAge = int(maxAge / tick)
	atOnce := len(documents)/perAge + 1
	s.then = now.Add(maxAge)
	for _, d := range documents {
		p := s.pages[d.Page]
		if p == nil {
			due, s.then = append(due, d), now
			continue
		}
		at := p.due
		if s.rest.After(at) {
			at = s.rest
		}
		if !now.Before(at) {
			if len(again) < atOnce {
				again = append(again, d)
			}
			at = now
		}
		if at.Before(s.then) {
			s.then = at
		}
	}
	return due, again
}

// see keeps what is known of another generation of documents, and forgets the
// rest. The caller holds the lock.
func (s *states) see(documents []*retrieval.Document) {
	pages := make(map[string]*Page, len(documents))
	for _, d := range documents {
		if p := s.pages[d.Page]; p.shows(d) {
			c := *p
			c.Document = d
			pages[d.Page] = &c
		}
	}
	s.seen, s.pages = documents, pages
	s.found.Range(func(page, m any) bool {
		if p := pages[page.(string)]; p == nil || p.Document.OwnHash() != m.(moved).content {
			s.found.Delete(page)
		}
		return true
	})
}

// mark notes whether pages are to be asked for once more.
func (s *states) mark(late []*retrieval.Document, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
	for _, d := range late {
		p := *s.pages[d.Page]
		p.again = again
		s.pages[d.Page] = &p
	}
}

// unanswered returns the documents whose pages gave no answer.
func (s *states) unanswered(documents []*retrieval.Document) (all []*retrieval.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range documents {
		if p := s.pages[d.Page]; p.shows(d) && p.State == Unknown {
			all = append(all, d)
		}
	}
	return all
}
