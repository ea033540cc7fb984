package meilisearch

import (
	"context"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	// A server that could not be brought up to date is tried again after pauses
	// from retryFirst to retryLast.
	retryFirst = time.Second
	retryLast  = 15 * time.Second
)

// replica is a site on one of its servers.
type replica struct {
	*server
	site *Index

	updates  retrieval.Breaker  // of bringing it up to date
	embedder *retrieval.Breaker // of the embedder in its settings

	// The server's lock is that of the fields below.

	// foreign is who else the site's indexes belong to, nil if that is not known
	// of anybody.
	foreign *ownerError
	// outdated is true unless the server is known to hold the target content,
	// behind since when.
	outdated bool
	behind   time.Time
	// compared is when the server was compared with the content, and drifted is
	// true if somebody seems to have changed its indexes since.
	compared  time.Time
	drifted   bool
	badState  bool      // the state there can't be used, and is written again
	stateSent time.Time // by this process
	// sending is what an update in progress does, nil if there is none.
	sending *progress
	// dimensions of the vectors in each index: 0 if the server's embedder makes
	// them, noDimensions if there are none.
	dimensions map[string]int
	// missingVectors is true if, after a start, sections have no vectors there
	// and this process doesn't have them either.
	missingVectors bool
}

func newReplica(site *Index, s *server) *replica {
	return &replica{
		server: s, site: site, outdated: true, behind: time.Now(),
		updates:  retrieval.Breaker{After: 1, First: retryFirst, Last: retryLast},
		embedder: retrieval.NewEmbedderBreaker(),
	}
}

func (s *replica) setOutdated(outdated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.outdated {
		s.behind = time.Now()
	}
	s.outdated, s.drifted = outdated, false
	if !outdated {
		s.compared = time.Now()
	}
}

// state returns whether the server is outdated, and why it is down.
func (s *replica) state() (outdated bool, down error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outdated, s.err
}

// refusal returns why the server's indexes may not be written, except that it
// is down.
func (s *replica) refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.lacking != nil:
		return s.lacking
	case s.foreign != nil:
		return s.foreign
	}
	return nil
}

// writable reports whether the server is up, its keys permit indexing, and the
// indexes belong to nobody else.
func (s *replica) writable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil && (s.lacking == nil || len(s.lacking.Missing) == 0) && s.foreign == nil
}

// searchable reports whether the server is up and may be searched.
func (s *replica) searchable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil && (s.lacking == nil || !s.lacking.MissingSearch) && s.foreign == nil
}

// checkAccess finds out what the keys permit and whose the indexes are, if that
// was never asked, or was refused and is due to be asked again. It logs what it
// finds.
func (s *replica) checkAccess(ctx context.Context, after time.Duration) {
	s.mu.Lock()
	refused := s.lacking != nil || s.foreign != nil
	due := s.err == nil && (s.accessChecked.IsZero() || refused && time.Since(s.accessChecked) >= after)
	s.mu.Unlock()
	if !due {
		return
	}
	s.checkKeys(ctx)
	if s.lacks() == nil {
		_, _ = s.checkOwner(ctx)
	}
}
