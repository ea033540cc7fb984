package meilisearch

import (
	"cmp"
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
}

// known is what is known of a server and of the site on it.
type known struct {
	version string // "" while the key may not ask for it
	down    error  // nil if it isn't
	// answered is when the last successful probe began. What a call that began
	// earlier says is outdated: the server may have been restarted since.
	answered, probed time.Time
	// lacking is what the keys may not do, nil if they may do everything, or if
	// accessChecked, when that and the owner were asked for, is zero.
	lacking       *keyError
	accessChecked time.Time
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
	// sending is how far an update in progress is: sent of total sections were sent.
	// It began at no time if there is none.
	sending struct {
		began       time.Time
		sent, total int
	}
	// dimensions of the vectors in each index: 0 if the server's embedder makes
	// them, noDimensions if there are none.
	dimensions map[string]int
	// missingVectors is true if, after a start, sections have no vectors there
	// and this process doesn't have them either.
	missingVectors bool
}

func newReplica(site *Index, url string) *replica {
	o := &site.options
	return &replica{
		server: &server{
			url: url, key: o.Key, searchKey: cmp.Or(o.SearchKey, o.Key), probeTimeout: o.Timeouts.Probe, client: newClient(),
			known: known{outdated: true, behind: time.Now()},
		},
		site:     site,
		updates:  retrieval.Breaker{After: 1, First: retryFirst, Last: retryLast},
		embedder: retrieval.NewEmbedderBreaker(),
	}
}

func (s *replica) setOutdated(outdated bool) {
	s.note(func(k *known) {
		if !k.outdated {
			k.behind = time.Now()
		}
		if k.outdated, k.drifted = outdated, false; !outdated {
			k.compared = time.Now()
		}
	})
}

// now returns what is known now.
func (s *server) now() known {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// note changes what is known.
func (s *server) note(change func(*known)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.known)
}

// refusal returns why the server's indexes may not be written, except that it
// is down.
func (k known) refusal() error {
	switch {
	case k.lacking != nil:
		return k.lacking
	case k.foreign != nil:
		return k.foreign
	}
	return nil
}

// writable reports whether the server is up, its keys permit indexing, and the
// indexes belong to nobody else.
func (k known) writable() bool {
	return k.down == nil && (k.lacking == nil || len(k.lacking.Missing) == 0) && k.foreign == nil
}

// searchable reports whether the server is up and may be searched.
func (k known) searchable() bool {
	return k.down == nil && (k.lacking == nil || !k.lacking.MissingSearch) && k.foreign == nil
}

// checkAccess finds out what the keys permit and whose the indexes are, if that
// was never asked, or was refused and is due to be asked again. It logs what it
// finds.
func (s *replica) checkAccess(ctx context.Context, after time.Duration) {
	k := s.now()
	if k.down != nil || !k.accessChecked.IsZero() && (k.refusal() == nil || time.Since(k.accessChecked) < after) {
		return
	}
	s.checkKeys(ctx)
	if s.now().lacking == nil {
		_, _ = s.checkOwner(ctx)
	}
}
