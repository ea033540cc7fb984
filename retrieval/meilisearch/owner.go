package meilisearch

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Owner is who the indexes of a site belong to. Equal IDs may write to the
// same ones; Name names the owner to an operator.
type Owner struct{ ID, Name string }

// mark is the document, in an index beside those of the site, that says whose
// they are.
type mark struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	Name  string `json:"name"`
	// Content identifies the sections that were written last, and Written is
	// when, in Unix seconds.
	Content string `json:"content"`
	Written int64  `json:"written"`
}

const markID = "owner"

// markUID is the uid of the index of the mark. No language has its name.
func (s *replica) markUID() string { return s.site.uidPrefix + "_" + markID }

// ownerError is that the indexes of a site belong to somebody else.
type ownerError struct {
	URL, Prefix, Site string
	Name              string // of the owner
}

func (e *ownerError) Error() string {
	return fmt.Sprintf("the indexes %s* of %s belong to another Caddy: %s", e.Prefix, e.URL, e.Name)
}

func (e *ownerError) remedy() string {
	return "write a prefix into the block of index meilisearch, share one storage between the Caddys if they serve the same pages, " +
		"or, if the other one is gone, run: caddy docs index " + e.Site + " --full"
}

// readMark returns the mark of a server, nil if there is none.
func (s *replica) readMark(ctx context.Context) (*mark, error) {
	var m mark
	err := s.document(ctx, s.markUID(), markID, &m)
	if err != nil && !indexNotFound(err) {
		return nil, fmt.Errorf("reading whose indexes these are: %w", err)
	}
	if m.ID == "" {
		return nil, nil
	}
	return &m, nil
}

// owner returns who this process writes for, nil if nobody is named.
func (x *Index) owner(ctx context.Context) (*Owner, error) {
	if x.options.Owner == nil {
		return nil, nil
	}
	o, err := x.options.Owner(ctx)
	if err != nil {
		return nil, fmt.Errorf("finding out whose indexes these are: %w", err)
	}
	return &o, nil
}

// checkOwner finds out whether a server's indexes belong to somebody else. It
// returns the mark, nil if there is none.
func (s *replica) checkOwner(ctx context.Context) (*mark, error) {
	owner, err := s.site.owner(ctx)
	if owner == nil {
		return nil, err
	}
	m, err := s.readMark(ctx)
	if err != nil {
		return nil, err
	}
	var foreign *ownerError
	if m != nil && m.Owner != owner.ID {
		foreign = &ownerError{s.url, s.site.uidPrefix, s.site.options.Site, m.Name}
	}
	s.mu.Lock()
	before := s.foreign
	s.foreign, s.ownerChecked = foreign, time.Now()
	s.mu.Unlock()
	switch {
	case foreign != nil && (before == nil || before.Name != foreign.Name):
		s.site.log.Error("a Meilisearch server has this site's indexes of another Caddy; they are neither searched nor written", "error", foreign, "do", foreign.remedy())
	case foreign == nil && before != nil:
		s.site.log.Info("the site's indexes in a Meilisearch server belong to this Caddy now", "server", s.url)
	}
	if foreign != nil {
		return m, foreign
	}
	return m, nil
}

// writeMark notes what was written last, nil for nothing yet, and makes this
// process's owner the owner.
func (u *update) writeMark(ctx context.Context, c *content) error {
	owner, err := u.site.owner(ctx)
	if owner == nil {
		return err
	}
	m := mark{ID: markID, Owner: owner.ID, Name: owner.Name, Written: time.Now().Unix()}
	if c != nil {
		m.Content = c.identity()
	}
	if err = u.add(ctx, u.markUID(), []mark{m}); err != nil {
		return fmt.Errorf("writing whose indexes these are: %w", err)
	}
	return nil
}

// claim makes the site's indexes those of this process's owner, unless they
// belong to somebody else and are not rewritten.
func (u *update) claim(ctx context.Context) (*mark, error) {
	m, err := u.checkOwner(ctx)
	if _, foreign := errors.AsType[*ownerError](err); err != nil && (!foreign || !u.rewrite) {
		return nil, err
	}
	if u.site.options.Owner == nil || m != nil && err == nil {
		return m, nil
	}
	if err := u.writeMark(ctx, nil); err != nil {
		return nil, err
	}
	return u.checkOwner(ctx) // another one may have done the same
}

// identity is equal for equal sections.
func (c *content) identity() string {
	var sum [8]byte
	for i := range c.pages {
		for _, id := range c.pages[i].IDs {
			for j := range sum {
				sum[j] ^= id[j]
			}
		}
	}
	return hex.EncodeToString(binary.BigEndian.AppendUint32(sum[:], uint32(c.sections)))
}
