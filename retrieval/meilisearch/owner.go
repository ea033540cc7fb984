package meilisearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Owner is who the indexes of a site belong to. Equal IDs may write to the
// same ones; Name names the owner to an operator.
type Owner struct{ ID, Name string }

const (
	// stateIndex follows a site's prefix, and is no language. It has the mark, and
	// the parts of the state.
	stateIndex = "_state"
	markID     = "owner"
	// statePart is the length of a part of the state, in bytes before they are
	// written as text.
	statePart = 4 << 20
	// stateInterval is how old the state in a server becomes while pages change:
	// a process that begins with it reads the pages soon.
	stateInterval = time.Hour
)

// mark is the document that says whose the indexes are.
type mark struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	Name  string `json:"name"`
	// Content identifies the sections that were written last. Parts is how many
	// documents have the state, and Set, 0 or 1, which ones.
	Content string `json:"content"`
	Parts   int    `json:"parts"`
	Set     int    `json:"set"`
}

// part is a part of the state.
type part struct {
	ID   string `json:"id"`
	Data []byte `json:"data"`
}

// partID is the ID of a part of a set: a state has less than a thousand.
func partID(set, number int) string { return fmt.Sprintf("part-%d", 1000*set+number) }

// stateParts cuts a state into parts while it is written, and sends all but the
// last, which is sent with the mark. Until then, the mark names the other set of
// parts, which stays.
type stateParts struct {
	send func(part) error
	set  int
	data []byte
	sent int
}

func (w *stateParts) Write(data []byte) (n int, err error) {
	for n < len(data) {
		if len(w.data) == statePart {
			if err := w.send(w.last()); err != nil {
				return n, err
			}
			w.data, w.sent = w.data[:0], w.sent+1
		}
		more := data[n:min(len(data), n+statePart-len(w.data))]
		w.data = append(w.data, more...)
		n += len(more)
	}
	return n, nil
}

// last returns what is not sent yet.
func (w *stateParts) last() part { return part{partID(w.set, w.sent), w.data} }

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

// document reads a document of the state's index, which stays as it is if there
// is none.
func document[T any](ctx context.Context, s *replica, id string, to *T) error {
	err := documents(ctx, s.server, s.site.uidPrefix+stateIndex, documentQuery{Limit: 1, IDs: []string{id}}, func(found *T) { *to = *found })
	if indexNotFound(err) {
		return nil
	}
	return err
}

// ownerOf returns who this process writes for, nobody if nobody is named.
func ownerOf(ctx context.Context, s *replica) (o Owner, err error) {
	if s.site.options.Owner != nil {
		if o, err = s.site.options.Owner(ctx); err != nil {
			err = fmt.Errorf("finding out whose indexes these are: %w", err)
		}
	}
	return o, err
}

// checkOwner reads the mark of a server, without an ID if there is none, and
// fails if the indexes belong to somebody else.
func (s *replica) checkOwner(ctx context.Context) (m mark, err error) {
	owner, err := ownerOf(ctx, s)
	if err != nil {
		return m, err
	}
	if err := document(ctx, s, markID, &m); err != nil {
		return m, err
	}
	var foreign *ownerError
	if m.ID != "" && owner.ID != "" && m.Owner != owner.ID {
		foreign = &ownerError{s.url, s.site.uidPrefix, s.site.options.Site, m.Name}
	}
	var before *ownerError
	s.note(func(k *known) { before, k.foreign = k.foreign, foreign })
	switch {
	case foreign != nil && (before == nil || before.Name != foreign.Name):
		s.site.log.Error("a Meilisearch server has indexes for this site that belong to another Caddy; they are neither searched nor changed", "error", foreign, "do", foreign.remedy())
	case foreign == nil && before != nil:
		s.site.log.Info("the site's indexes in a Meilisearch server belong to this Caddy now", "server", s.url)
	}
	if foreign != nil {
		return m, foreign
	}
	return m, nil
}

// claim makes the site's indexes those of this process's owner, unless they
// belong to somebody else and are not rewritten.
func (u *update) claim(ctx context.Context) (mark, error) {
	m, err := u.checkOwner(ctx)
	if err != nil && (!errors.As(err, new(*ownerError)) || !u.rewrite) || m.ID != "" && err == nil {
		return m, err
	}
	if err := u.writeMark(ctx, mark{}); err != nil {
		return m, err
	}
	return u.checkOwner(ctx) // another one may have done the same
}

// writeMark makes this process's owner the owner, with the documents given.
func (u *update) writeMark(ctx context.Context, m mark, parts ...any) error {
	owner, err := ownerOf(ctx, u.replica)
	if err != nil {
		return err
	}
	m.ID, m.Owner, m.Name = markID, owner.ID, owner.Name
	if err := u.task(ctx, http.MethodPost, documentsPath(u.site.uidPrefix+stateIndex), append(parts, m)); err != nil {
		return fmt.Errorf("writing whose indexes these are: %w", err)
	}
	return nil
}

// finish notes that the server has the content, with the state unless that is
// there and not old.
func (u *update) finish(ctx context.Context, m mark) error {
	identity := u.content.identity()
	k := u.now()
	due := m.Parts == 0 || k.badState || m.Content != identity && time.Since(k.stateSent) > stateInterval
	if !due && m.Content == identity {
		return nil
	}
	m.Content = identity
	var last []any
	if due {
		parts := stateParts{set: 1 - m.Set, send: func(p part) error {
			return u.task(ctx, http.MethodPost, documentsPath(u.site.uidPrefix+stateIndex), []part{p})
		}}
		if err := encodeState(&parts, u.content, nil); err != nil {
			return fmt.Errorf("writing the state of the site: %w", err)
		}
		if parts.sent == 0 {
			parts.set = m.Set // it is replaced together with the mark
		}
		last, m.Parts, m.Set = append(last, parts.last()), parts.sent+1, parts.set
	}
	if err := u.writeMark(ctx, m, last...); err != nil {
		return err
	}
	if due {
		u.note(func(k *known) { k.stateSent, k.badState = time.Now(), false })
	}
	return nil
}

// fetchState reads the state from a server, nil if it has none, or one that
// could not be used before.
func (s *replica) fetchState(ctx context.Context, m mark) (c *content, err error) {
	if s.now().badState {
		return nil, nil
	}
	var state bytes.Buffer
	for i := range m.Parts {
		var p part
		if err := document(ctx, s, partID(m.Set, i), &p); err != nil {
			return nil, err
		}
		if state.Write(p.Data); len(p.Data) == 0 || state.Len() > maxState {
			break // it can't be decoded
		}
	}
	if m.Parts == 0 {
		return nil, nil
	}
	if c, _, err = s.site.decodeState(&state); err != nil {
		s.note(func(k *known) { k.badState = true })
	}
	return c, err
}

// identity is equal for equal sections.
func (c *content) identity() string {
	var sum recordID
	for i := range c.pages {
		for _, id := range c.pages[i].IDs {
			sum ^= id
		}
	}
	return fmt.Sprintf("%016x-%d", sum, c.sections)
}
