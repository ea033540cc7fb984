package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// defaultCheckInterval is how often servers are compared with the content.
const defaultCheckInterval = time.Minute

// CheckSoon makes the servers be compared with the content in a moment.
func (x *Index) CheckSoon() {
	for _, s := range x.servers {
		s.note(func(k *known) { k.compared = time.Time{} })
	}
}

// differences compares the settings and counts of a server's indexes with c.
func (s *replica) differences(ctx context.Context, c *content) (all []string, err error) {
	for _, uid := range slices.Sorted(maps.Keys(c.indexes)) {
		ix := c.indexes[uid]
		settings, err := s.settings(ctx, uid)
		if indexNotFound(err) {
			all = append(all, uid+" is missing")
			continue
		}
		if err != nil {
			return nil, err
		}
		want := s.site.settingsOf(ix)
		if s.keepVectors(ix, want, settings.embedders()); settings.lacks(want) {
			all = append(all, "the settings of "+uid+" differ")
		}
		if e, ok := settings.embedders()[s.site.options.Embedder]; ok && e.source != userProvided && s.now().dimensions[uid] != 0 {
			all = append(all, uid+" has the embedder now")
		}
		stats, err := s.stats(ctx, uid)
		if err != nil && !indexNotFound(err) {
			return nil, err
		}
		if err == nil && stats.NumberOfDocuments != ix.sections {
			all = append(all, fmt.Sprintf("%s has %d sections instead of %d", uid, stats.NumberOfDocuments, ix.sections))
		}
	}
	return all, nil
}

// compare makes a server outdated if somebody has changed its indexes.
func (s *replica) compare(ctx context.Context) {
	c := s.site.target.Load()
	found, err := s.drift(ctx, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compared = time.Now()
	if err == nil && len(found) > 0 && c == s.site.target.Load() {
		s.drifted, s.outdated, s.behind = true, true, time.Now()
	}
}

// drift returns what somebody has changed in a server's indexes.
func (s *replica) drift(ctx context.Context, c *content) ([]string, error) {
	m, err := s.checkOwner(ctx)
	if err != nil {
		return nil, err
	}
	if m.ID != "" && m.Content != c.identity() {
		// Another Caddy of the same owner has written its pages. If this one
		// wrote its own again, they would take turns.
		s.site.warn("another Caddy has written other pages of this site to a Meilisearch server", s.url, errors.New("all Caddys that share a storage must serve the same pages"))
		return nil, nil
	}
	return s.differences(ctx, c)
}

// Restore compares each section on each server with the content, and corrects
// what differs. With all, everything is written again, also to indexes of
// another owner. It returns what was different.
func (x *Index) Restore(ctx context.Context, all bool) (restored []string, err error) {
	ctx, cancel := withProgress(ctx, syncTimeout)
	defer cancel()
	unlock, err := x.lockServers(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c := x.target.Load()
	if !c.writes() {
		return nil, retrieval.ErrNotReady
	}
	var errs []error
	for _, s := range x.servers {
		found, err := s.restoreServer(ctx, c, all)
		for _, f := range found {
			restored = append(restored, s.url+": "+f)
		}
		errs = append(errs, err)
		if x.target.Load() != c { // other pages are public meanwhile
			s.setOutdated(true)
		}
	}
	return restored, errors.Join(errs...)
}

func (s *replica) restoreServer(ctx context.Context, c *content, all bool) (found []string, err error) {
	if err := s.probe(ctx); err != nil {
		return nil, err
	}
	s.checkKeys(ctx)
	if lacking := s.now().lacking; lacking != nil && len(lacking.Missing) > 0 {
		return nil, lacking
	}
	u := update{replica: s, content: c, rewrite: all}
	if err = u.sync(ctx); len(u.found) > 0 {
		s.site.log.Warn("the indexes in a Meilisearch server differ from the site's pages; restoring them", "server", s.url, "found", u.found)
	}
	if all {
		u.found = append(u.found, fmt.Sprintf("%d sections were written again", c.sections))
	}
	return u.found, err
}
