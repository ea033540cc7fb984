package meilisearch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/disk"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// The state is what a process must know of a site to answer searches and to
// find out what changed: outlines, IDs and the table of words, without texts
// and vectors. It is in the data folder and, for processes without one, in an
// index of the server beside those of the languages.
const (
	stateFile   = "meilisearch.state"
	stateHeader = "caddy-docs state 4\n"
	// stateIndex follows a site's prefix. It is no language.
	stateIndex = "_state"
	// statePart is the length of a part of the state in the server, in bytes
	// before they are written as text.
	statePart = 4 << 20
	// maxState limits what a damaged state can make us read.
	maxState = 1 << 30
)

var errState = errors.New("it is damaged, or of another version")

// stateHead begins an encoded state. The pages follow, one by one, so that
// neither writing nor reading them takes much memory, and then the table and a
// checksum. It is not compressed: that would take most of the time of a start.
type stateHead struct {
	Pages      int
	Mean       []float32
	Dimensions []int // by uid, in their order
}

// statePage is an encoded page.
type statePage struct {
	Outline *retrieval.Document // without sections
	Traits  embedded.Traits
	// IDs and Hashes are those of the pageState, one after the other: gob is
	// slow with arrays.
	IDs, Hashes []byte
	Ref         *ref // only in the data folder
}

// encodeState writes the state of c, and returns its checksum. refs may be nil.
func encodeState(w io.Writer, c *content, refs map[string]ref) (sum []byte, err error) {
	hash := sha256.New()
	out := io.MultiWriter(w, hash)
	_, err = io.WriteString(out, stateHeader)
	head := stateHead{Pages: len(c.pages), Mean: c.mean}
	for _, uid := range slices.Sorted(maps.Keys(c.indexes)) {
		head.Dimensions = append(head.Dimensions, c.indexes[uid].dimensions)
	}
	g := gob.NewEncoder(out)
	err = errors.Join(err, g.Encode(head))
	for i, d := range c.outlines {
		if err != nil {
			return nil, err
		}
		o, state := *d, &c.pages[i]
		o.Sections = nil
		p := statePage{Outline: &o, Traits: state.Traits}
		for _, id := range state.IDs {
			p.IDs = append(p.IDs, id[:]...)
		}
		for _, h := range state.Hashes {
			p.Hashes = binary.BigEndian.AppendUint64(p.Hashes, h)
		}
		if at, ok := refs[storeKey(d)]; ok {
			p.Ref = &at
		}
		err = g.Encode(p)
	}
	if err == nil {
		_, err = out.Write(c.table.Encode())
	}
	if err == nil {
		sum = hash.Sum(nil)
		_, err = w.Write(sum)
	}
	return sum, err
}

// decodeState reads what encodeState wrote.
func (x *Index) decodeState(data []byte) (*content, map[string]ref, error) {
	body, ok := bytes.CutPrefix(data, []byte(stateHeader))
	end := len(data) - sha256.Size
	if !ok || end < len(stateHeader) || sha256.Sum256(data[:end]) != [sha256.Size]byte(data[end:]) {
		return nil, nil, errState
	}
	rest := bytes.NewReader(body[:len(body)-sha256.Size])
	g := gob.NewDecoder(rest)
	var head stateHead
	if err := g.Decode(&head); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errState, err)
	}
	c := &content{byPage: map[string]int{}, mean: head.Mean, restored: true}
	refs := map[string]ref{}
	for i := range head.Pages {
		var p statePage
		if err := g.Decode(&p); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errState, err)
		}
		d := p.Outline
		state, ok := p.state()
		if d == nil || !ok {
			return nil, nil, errState
		}
		d.SetOutline(len(state.IDs))
		if p.Ref != nil {
			refs[storeKey(d)] = *p.Ref
		}
		c.outlines, c.pages, c.byPage[d.Page] = append(c.outlines, d), append(c.pages, state), i
	}
	table := make([]byte, rest.Len()) // not a part of data, which is larger
	_, err := io.ReadFull(rest, table)
	if err == nil {
		c.table, err = embedded.ReadTable(table)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errState, err)
	}
	c.statistics = c.table.Statistics(x.wording)
	c.index(x.uidPrefix)
	for i, uid := range slices.Sorted(maps.Keys(c.indexes)) {
		if i < len(head.Dimensions) {
			c.indexes[uid].dimensions = head.Dimensions[i]
		}
	}
	return c, refs, nil
}

// state returns the state of a page, false if it is damaged.
func (p *statePage) state() (s pageState, ok bool) {
	n := len(p.IDs) / idSize
	if len(p.IDs) != n*idSize || len(p.Hashes) != 0 && len(p.Hashes) != 8*n {
		return s, false
	}
	s = pageState{Traits: p.Traits, IDs: make([][idSize]byte, n)}
	for i := range s.IDs {
		s.IDs[i] = [idSize]byte(p.IDs[i*idSize:])
	}
	if len(p.Hashes) > 0 {
		s.Hashes = make([]uint64, n)
		for i := range s.Hashes {
			s.Hashes[i] = binary.BigEndian.Uint64(p.Hashes[8*i:])
		}
	}
	return s, true
}

// restore reads the state of an earlier run from the data folder.
func (x *Index) restore() {
	if x.options.Dir == "" {
		return
	}
	path := filepath.Join(x.options.Dir, stateFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var c *content
	var refs map[string]ref
	if err == nil {
		c, refs, err = x.decodeState(data)
	}
	if err != nil {
		x.log.Warn("the state of the last run can't be read; all pages are read again", "file", path, "error", err)
		return
	}
	x.store.refs = refs
	x.target.Store(c)
}

// saveState writes the state to the data folder.
func (x *Index) saveState(c *content) {
	refs, err := x.store.retain(c.outlines)
	if err == nil && x.options.Dir != "" {
		err = disk.WriteFile(filepath.Join(x.options.Dir, stateFile), func(w io.Writer) error {
			_, err := encodeState(w, c, refs)
			return err
		})
		if err == nil {
			x.store.clean()
		}
	}
	if err != nil {
		x.log.Warn("the state of the index can't be written; the next start reads all pages again", "folder", x.options.Dir, "error", err)
	}
}

// stateDocument is a document of the state's index: the list of the parts, with
// the ID stateList, or a part.
type stateDocument struct {
	ID    string   `json:"id"`
	Parts []string `json:"parts,omitempty"`
	Data  []byte   `json:"data,omitempty"`
}

const stateList = "list"

// sendState writes the state to a server, unless it is there.
func (u *update) sendState(ctx context.Context) error {
	var state bytes.Buffer
	sum, err := encodeState(&state, u.content, nil)
	if err != nil {
		return err
	}
	list := stateDocument{ID: stateList}
	for i := range (state.Len() + statePart - 1) / statePart {
		list.Parts = append(list.Parts, fmt.Sprintf("%x-%d", sum[:idSize], i))
	}
	uid := u.site.uidPrefix + stateIndex
	var have stateDocument
	err = u.document(ctx, uid, stateList, &have)
	u.mu.Lock()
	damaged := len(have.Parts) > 0 && slices.Equal(u.unusableState, have.Parts)
	u.mu.Unlock()
	if err == nil && slices.Equal(have.Parts, list.Parts) && !damaged {
		return nil
	}
	if indexNotFound(err) {
		settings := &sdk.Settings{SearchableAttributes: []string{"id"}, DisplayedAttributes: []string{"*"}}
		err = u.setUp(ctx, uid, settings, true)
	}
	if err != nil {
		return err
	}
	for _, id := range list.Parts {
		if err == nil {
			err = u.add(ctx, uid, []stateDocument{{ID: id, Data: state.Next(statePart)}})
		}
	}
	if err == nil {
		err = u.add(ctx, uid, []stateDocument{list})
	}
	if err != nil {
		return fmt.Errorf("writing the state of the site: %w", err)
	}
	u.mu.Lock()
	u.unusableState = nil
	u.mu.Unlock()
	old := slices.DeleteFunc(have.Parts, func(id string) bool { return id == stateList || slices.Contains(list.Parts, id) })
	if len(old) == 0 {
		return nil
	}
	return u.task(ctx, func() (*sdk.TaskInfo, error) { return u.admin.Index(uid).DeleteDocumentsWithContext(ctx, old, nil) })
}

// fetchState reads the state from a server, nil if it has none.
func (s *replica) fetchState(ctx context.Context) (*content, error) {
	uid := s.site.uidPrefix + stateIndex
	var list stateDocument
	if err := s.document(ctx, uid, stateList, &list); err != nil || len(list.Parts) == 0 {
		return nil, err
	}
	s.mu.Lock()
	known := slices.Equal(s.unusableState, list.Parts)
	s.mu.Unlock()
	if known {
		return nil, errState
	}
	var data []byte
	for _, id := range list.Parts {
		var part stateDocument
		if strings.Contains(id, "-") && len(data) <= maxState {
			if err := s.document(ctx, uid, id, &part); err != nil {
				return nil, err
			}
		}
		if data = append(data, part.Data...); len(part.Data) == 0 {
			break // so that the checksum is wrong
		}
	}
	c, _, err := s.site.decodeState(data)
	if errors.Is(err, errState) {
		s.mu.Lock()
		s.unusableState = list.Parts
		s.mu.Unlock()
	}
	return c, err
}
