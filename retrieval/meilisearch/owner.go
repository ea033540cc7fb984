package meilisearch

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"
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
func (x *Index) markUID() string { return x.uidPrefix + "_" + markID }

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
func (x *Index) readMark(ctx context.Context, s *server) (*mark, error) {
	page, err := repeat(ctx, s, func() (sdk.DocumentsResult, error) {
		var page sdk.DocumentsResult
		return page, s.admin.Index(x.markUID()).GetDocumentsWithContext(ctx, &sdk.DocumentsQuery{Limit: 1}, &page)
	})
	if indexNotFound(err) || err == nil && len(page.Results) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading whose indexes these are: %w", err)
	}
	data, err := json.Marshal(page.Results[0])
	if err != nil {
		return nil, err
	}
	m := new(mark)
	return m, json.Unmarshal(data, m)
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
func (x *Index) checkOwner(ctx context.Context, s *server) (*mark, error) {
	owner, err := x.owner(ctx)
	if owner == nil {
		return nil, err
	}
	m, err := x.readMark(ctx, s)
	if err != nil {
		return nil, err
	}
	var foreign *ownerError
	if m != nil && m.Owner != owner.ID {
		foreign = &ownerError{s.url, x.uidPrefix, x.options.Site, m.Name}
	}
	s.mu.Lock()
	before := s.foreign
	s.foreign, s.ownerChecked = foreign, time.Now()
	s.mu.Unlock()
	switch {
	case foreign != nil && (before == nil || before.Name != foreign.Name):
		x.log.Error("a Meilisearch server has this site's indexes of another Caddy; they are neither searched nor written", "error", foreign, "do", foreign.remedy())
	case foreign == nil && before != nil:
		x.log.Info("the site's indexes in a Meilisearch server belong to this Caddy now", "server", s.url)
	}
	if foreign != nil {
		return m, foreign
	}
	return m, nil
}

// writeMark makes c what was written last, and this process's owner the owner.
func (x *Index) writeMark(ctx context.Context, s *server, c *content) error {
	owner, err := x.owner(ctx)
	if owner == nil {
		return err
	}
	m := mark{ID: markID, Owner: owner.ID, Name: owner.Name, Written: time.Now().Unix()}
	if c != nil {
		m.Content = c.identity()
	}
	err = s.task(ctx, func() (*sdk.TaskInfo, error) {
		key := "id"
		return s.admin.Index(x.markUID()).AddDocumentsWithContext(ctx, &[]mark{m}, &sdk.DocumentOptions{PrimaryKey: &key})
	})
	if err != nil {
		return fmt.Errorf("writing whose indexes these are: %w", err)
	}
	return nil
}

// claim makes the site's indexes those of this process's owner, unless they
// belong to somebody else and take is false.
func (x *Index) claim(ctx context.Context, s *server, take bool) (*mark, error) {
	m, err := x.checkOwner(ctx, s)
	if _, foreign := errors.AsType[*ownerError](err); err != nil && (!foreign || !take) {
		return nil, err
	}
	if x.options.Owner == nil || m != nil && err == nil {
		return m, nil
	}
	if err := x.writeMark(ctx, s, nil); err != nil {
		return nil, err
	}
	return x.checkOwner(ctx, s) // another one may have done the same
}

// foreignIsDue reports whether the server's indexes belonged to somebody else
// when that was asked, at least so long ago.
func (s *server) foreignIsDue(after time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil && s.foreign != nil && time.Since(s.ownerChecked) >= after
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
