package meilisearch

import (
	"context"
	"maps"
	"time"
)

const (
	maintainInterval = time.Second / 5
	// embedderInterval is how often an index without the configured embedder
	// is checked.
	embedderInterval = 2 * time.Second
	// checkTimeout is for all checks of a server at a time.
	checkTimeout = 10 * time.Second
	// lockTimeout is how long to wait for the shared lock. Writing without it
	// is safe, and at worst done twice. Caddy's file storage may keep the lock
	// of a killed process.
	lockTimeout = 30 * time.Second
)

// watch probes a server while it is down. Nothing else is done here that could
// take time.
func (s *replica) watch(ctx context.Context) {
	for sleep(ctx, maintainInterval) {
		if s.down() && s.probeIsDue() && s.probe(ctx) == nil {
			s.site.log.Info("a Meilisearch server answers again", "server", s.url)
		}
	}
}

// maintain brings a server up to date whenever it is outdated and answers.
func (s *replica) maintain(ctx context.Context) {
	checked := time.Now()
	s.adopt(ctx)
	for sleep(ctx, maintainInterval) {
		s.adopt(ctx)
		if s.site.options.Embedder != "" && time.Since(checked) > embedderInterval {
			if s.embedderWasSet(ctx) {
				s.setOutdated(true)
			}
			checked = time.Now()
		}
		if s.down() {
			continue
		}
		s.check(ctx)
		if outdated, _ := s.state(); !outdated || !s.site.target.Load().writes() || !s.writable() || !s.updates.Allow() {
			continue
		}
		if err := s.bringUpToDate(ctx); err != nil && ctx.Err() == nil {
			s.updates.Record(err)
			s.site.log.Warn("a Meilisearch server can't be brought up to date; it is tried again", "server", s.url, "error", err)
		}
	}
}

// check checks what is due of a server: its keys, its owner and its content.
func (s *replica) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if s.rightsAreDue() {
		s.checkKeys(ctx)
	}
	if s.foreignIsDue(rightsInterval) {
		_, _ = s.checkOwner(ctx) // it logs what it finds
	}
	if outdated, _ := s.state(); !outdated && s.site.target.Load().writes() && s.writable() && s.comparisonIsDue() {
		s.compare(ctx)
	}
}

// adopt takes the state of the site from a server if this process has none, so
// that it answers searches before it has read the site.
func (s *replica) adopt(ctx context.Context) {
	if s.site.target.Load() != nil || s.down() {
		return
	}
	if _, err := s.checkOwner(ctx); err != nil {
		return // it logs what it finds
	}
	c, err := s.fetchState(ctx)
	switch {
	case err != nil && !indexNotFound(err) && !unavailable(err) && ctx.Err() == nil:
		s.site.warn("the state of the site in a Meilisearch server can't be used; searches begin when the site is read", s.url, err)
	case err == nil && c != nil:
		c.adopted = true
		if s.site.target.CompareAndSwap(nil, c) {
			s.site.log.Info("searches are answered with what another process has indexed", "server", s.url, "pages", len(c.outlines), "sections", c.sections)
		}
	}
}

// embedderWasSet reports whether the operator has set the configured embedder
// in an index that lacked it.
func (s *replica) embedderWasSet(ctx context.Context) bool {
	if outdated, down := s.state(); outdated || down != nil {
		return false
	}
	s.mu.Lock()
	all := maps.Clone(s.dimensions)
	s.mu.Unlock()
	for uid, dimensions := range all {
		if dimensions == 0 {
			continue
		}
		settings, err := s.settings(ctx, uid)
		if err != nil {
			return false
		}
		if e, ok := embeddersOf(settings)[s.site.options.Embedder]; ok && e.source != userProvided {
			return true
		}
	}
	return false
}

func (s *replica) bringUpToDate(ctx context.Context) error {
	unlock, shared, err := s.site.lockServers(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	s.mu.Lock()
	outdated, drifted := s.outdated, s.drifted
	s.mu.Unlock()
	if !outdated {
		return nil
	}
	started := time.Now()
	c := s.site.target.Load()
	if drifted {
		// Another Caddy may have been in the middle of an update.
		found, err := s.drift(ctx, c)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			s.setOutdated(false)
			return nil
		}
		s.site.log.Warn("somebody has changed the indexes of a Meilisearch server; they are restored", "server", s.url, "found", found)
	}
	u := update{replica: s, content: c, shared: shared}
	if err := u.sync(ctx); err != nil {
		return err
	}
	s.site.log.Info("a Meilisearch server is up to date", "server", s.url, "sections", c.sections, "took", time.Since(started))
	return nil
}

// lockServers makes the caller the only one who writes to the site's indexes.
// shared is false if the shared lock could not be had: then the caller must not
// touch what others may be writing.
func (x *Index) lockServers(ctx context.Context) (unlock func(), shared bool, err error) {
	unlockProcess, _, err := x.lockProcess(ctx)
	locker := x.options.Locker
	if err != nil || locker == nil {
		return unlockProcess, true, err
	}
	name := "docs_meilisearch_" + x.uidPrefix
	timed, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	err = locker.Lock(timed, name)
	unlock = unlockProcess
	if err == nil {
		unlock = func() {
			defer unlockProcess()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := locker.Unlock(ctx, name); err != nil {
				x.log.Warn("the lock for indexing can't be released; it expires by itself", "lock", name, "error", err)
			}
		}
	}
	if ctx.Err() != nil {
		// Also if the lock came: file storage keeps it alive as long as this
		// process lives.
		unlock()
		return nil, false, ctx.Err()
	}
	if err != nil {
		x.log.Warn("the lock for indexing is not free; writing without it", "lock", name, "error", err)
	}
	return unlock, err == nil, nil
}

// lockProcess makes the caller the only writer in this process.
func (x *Index) lockProcess(ctx context.Context) (unlock func(), shared bool, err error) {
	select {
	case x.writing <- struct{}{}:
		return func() { <-x.writing }, false, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}
