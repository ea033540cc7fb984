package meilisearch

import (
	"context"
	"fmt"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	maintainInterval = time.Second / 5
	// checkTimeout is for all checks of a server at a time.
	checkTimeout = 10 * time.Second
	// lockWait is how long new pages wait for the shared lock. After that, they
	// are sent when it is free.
	lockWait = 10 * time.Second
)

// watch probes a server while it is down. Nothing else is done here that could
// take time.
func (s *replica) watch(ctx context.Context) {
	for retrieval.Sleep(ctx, maintainInterval) {
		if k := s.now(); k.down != nil && time.Since(k.probed) >= probeInterval && s.probe(ctx) == nil {
			s.site.log.Info("a Meilisearch server is responding again", "server", s.url)
		}
	}
}

// maintain brings a server up to date whenever it is outdated and answers.
func (s *replica) maintain(ctx context.Context) {
	s.adopt(ctx)
	for retrieval.Sleep(ctx, maintainInterval) {
		s.adopt(ctx)
		if s.now().down != nil {
			continue
		}
		s.check(ctx)
		if k := s.now(); !k.outdated || !s.site.target.Load().writes() || !k.writable() || !s.updates.Allow() {
			continue
		}
		if err := s.bringUpToDate(ctx); err != nil && ctx.Err() == nil {
			s.updates.Record(err)
			s.site.log.Warn("a Meilisearch server could not be brought up to date; will retry", "server", s.url, "error", err)
		}
	}
}

// check checks what is due of a server: its keys, its owner and its content.
func (s *replica) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	s.checkAccess(ctx, accessInterval)
	if k := s.now(); !k.outdated && s.site.target.Load().writes() && k.writable() && time.Since(k.compared) >= s.site.options.CheckInterval {
		s.compare(ctx)
	}
}

// adopt takes the state of the site from a server if this process has none, so
// that it answers searches before it has read the site.
func (s *replica) adopt(ctx context.Context) {
	if s.site.target.Load() != nil || !s.now().writable() {
		return
	}
	m, err := s.checkOwner(ctx)
	if err != nil {
		return // it logs what it finds
	}
	c, err := s.fetchState(ctx, m)
	switch {
	case err != nil && !unavailable(err) && ctx.Err() == nil:
		s.site.warn("the state of the site in a Meilisearch server can't be used; searches start once the pages are read", s.url, err)
	case err == nil && c != nil:
		c.adopted = true
		if s.site.target.CompareAndSwap(nil, c) {
			s.site.log.Info("until the pages are read, searches use what is already in the Meilisearch server", "server", s.url, "pages", len(c.outlines), "sections", c.sections)
		}
	}
}

func (s *replica) bringUpToDate(ctx context.Context) error {
	unlock, err := s.site.lockServers(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	k := s.now()
	if !k.outdated {
		return nil
	}
	started := time.Now()
	c := s.site.target.Load()
	defer func() {
		if s.site.target.Load() != c { // other pages are public meanwhile
			s.setOutdated(true)
		}
	}()
	if k.drifted {
		// Another Caddy may have been in the middle of an update.
		found, err := s.drift(ctx, c)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			s.setOutdated(false)
			return nil
		}
		s.site.log.Warn("the indexes in a Meilisearch server were changed from outside; restoring them", "server", s.url, "found", found)
	}
	ctx, cancel := withProgress(ctx, syncTimeout)
	defer cancel()
	u := update{replica: s, content: c}
	if err := u.sync(ctx); err != nil {
		return err
	}
	s.site.log.Info("a Meilisearch server is up to date", "server", s.url, "sections", c.sections, "took", time.Since(started))
	return nil
}

// lockServers makes the caller the only one who writes to the site's indexes.
// It waits as long as another one does: who makes no progress gives up.
func (x *Index) lockServers(ctx context.Context) (unlock func(), err error) {
	locker, name := x.options.Locker, "docs_meilisearch_"+x.uidPrefix
	if locker == nil {
		return x.lockProcess(ctx)
	}
	if err := locker.Lock(ctx, name); err != nil {
		return nil, fmt.Errorf("waiting for the lock for indexing: %w", err)
	}
	unlockProcess, err := x.lockProcess(ctx)
	unlock = func() {
		if err == nil {
			unlockProcess()
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := locker.Unlock(ctx, name); err != nil {
			x.log.Warn("the lock for indexing can't be released; it expires by itself", "lock", name, "error", err)
		}
	}
	if err != nil || ctx.Err() != nil { // also if the lock came too late: file storage keeps it alive
		unlock()
		return nil, ctx.Err()
	}
	return unlock, nil
}

// lockProcess makes the caller the only writer in this process.
func (x *Index) lockProcess(ctx context.Context) (unlock func(), err error) {
	select {
	case x.writing <- struct{}{}:
		return func() { <-x.writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
