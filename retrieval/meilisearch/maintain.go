package meilisearch

import (
	"context"
	"errors"
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
func (x *Index) watch(ctx context.Context, s *server) {
	for sleep(ctx, maintainInterval) {
		if s.down() && s.probeIsDue() && s.probe(ctx) == nil {
			x.log.Info("a Meilisearch server answers again", "server", s.url)
		}
	}
}

// maintain brings a server up to date whenever it is outdated and answers.
func (x *Index) maintain(ctx context.Context, s *server) {
	checked := time.Now()
	x.adopt(ctx, s)
	for sleep(ctx, maintainInterval) {
		x.adopt(ctx, s)
		if x.options.Embedder != "" && time.Since(checked) > embedderInterval {
			if x.embedderWasSet(ctx, s) {
				s.setOutdated(true)
			}
			checked = time.Now()
		}
		if s.down() {
			continue
		}
		x.check(ctx, s)
		if outdated, _ := s.state(); !outdated || !x.writes() || !s.writable() || !s.updates.Allow() {
			continue
		}
		if err := x.bringUpToDate(ctx, s); err != nil && ctx.Err() == nil {
			s.updates.Record(err)
			x.log.Warn("a Meilisearch server can't be brought up to date; it is tried again", "server", s.url, "error", err)
		}
	}
}

// check checks what is due of a server: its keys, its owner and its content.
func (x *Index) check(ctx context.Context, s *server) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if s.rightsAreDue() {
		x.checkKeys(ctx, s)
	}
	if s.foreignIsDue(rightsInterval) {
		_, _ = x.checkOwner(ctx, s) // it logs what it finds
	}
	if outdated, _ := s.state(); !outdated && x.writes() && s.writable() && x.comparisonIsDue(s) {
		x.compare(ctx, s)
	}
}

// writes reports whether the servers are made equal to the target.
func (x *Index) writes() bool {
	c := x.target.Load()
	return c != nil && !c.adopted
}

// adopt takes the state of the site from a server if this process has none, so
// that it answers searches before it has read the site.
func (x *Index) adopt(ctx context.Context, s *server) {
	if x.target.Load() != nil || s.down() {
		return
	}
	if _, err := x.checkOwner(ctx, s); err != nil {
		return // it logs what it finds
	}
	c, err := x.fetchState(ctx, s)
	switch {
	case err != nil && !indexNotFound(err) && !unavailable(err) && ctx.Err() == nil:
		if errors.Is(err, errState) {
			s.mu.Lock()
			s.stateDamaged = true
			s.mu.Unlock()
		}
		x.warn("the state of the site in a Meilisearch server can't be used; searches begin when the site is read", s.url, err)
	case err == nil && c != nil:
		c.adopted = true
		if x.target.CompareAndSwap(nil, c) {
			x.log.Info("searches are answered with what another process has indexed", "server", s.url, "pages", len(c.outlines), "sections", c.sections)
		}
	}
}

// embedderWasSet reports whether the operator has set the configured embedder
// in an index that lacked it.
func (x *Index) embedderWasSet(ctx context.Context, s *server) bool {
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
		if e, ok := embeddersOf(settings)[x.options.Embedder]; ok && e.source != userProvided {
			return true
		}
	}
	return false
}

func (x *Index) bringUpToDate(ctx context.Context, s *server) error {
	unlock, shared, err := x.lockServers(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if outdated, _ := s.state(); !outdated {
		return nil
	}
	started := time.Now()
	c := x.target.Load()
	if s.hasDrifted() {
		// Another Caddy may have been in the middle of an update.
		found, err := x.drift(ctx, s, c)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			s.setOutdated(false)
			return nil
		}
		x.log.Warn("somebody has changed the indexes of a Meilisearch server; they are restored", "server", s.url, "found", found)
	}
	if err := x.sync(ctx, s, c, shared); err != nil {
		return err
	}
	x.log.Info("a Meilisearch server is up to date", "server", s.url, "sections", c.sections, "took", time.Since(started))
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
