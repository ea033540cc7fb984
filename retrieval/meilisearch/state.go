package meilisearch

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unique"

	"github.com/klauspost/compress/zstd"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/disk"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// The state is what a process must know of a site to answer searches and to
// find out what changed: outlines, IDs and the table of words, without texts
// and vectors. It is in the data folder and, for processes without one, in an
// index of the server beside those of the languages.
const (
	stateFile   = "meilisearch.state"
	stateHeader = "caddy-docs state 8\n"
	// maxState limits what a damaged state can make us read.
	maxState = 1 << 30
	// stateWindow is how many bytes of a state are kept in memory to compress or
	// read it.
	stateWindow = 1 << 20
)

// stateHead begins an encoded state. The pages follow, one by one, so that
// neither writing nor reading them takes much memory, and then the table.
type stateHead struct {
	Pages      int
	Mean       []float32
	Mark       string         // of the vectors' model
	Dimensions map[string]int // by language
}

// statePage is an encoded page.
type statePage struct {
	Outline *retrieval.Document // without sections
	State   pageState
	// Page, Ranked and Vectors are where the store has them, only in the data
	// folder.
	Page, Ranked, Vectors *disk.Ref
}

// refs are the places of what content.keys names.
func (p *statePage) refs() [3]**disk.Ref { return [3]**disk.Ref{&p.Page, &p.Ranked, &p.Vectors} }

// encodeState writes the state of c. refs may be nil.
func encodeState(w io.Writer, c *content, refs disk.Refs) error {
	_, err := io.WriteString(w, stateHeader)
	out, _ := zstd.NewWriter(w, // the options are valid
		zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(stateWindow))
	g := gob.NewEncoder(out)
	head := stateHead{Pages: len(c.pages), Mean: c.mean, Mark: c.mark, Dimensions: map[string]int{}}
	for _, ix := range c.indexes {
		if !ix.view {
			head.Dimensions[ix.language] = ix.dimensions
		}
	}
	err = errors.Join(err, g.Encode(head))
	for i, d := range c.outlines {
		if err != nil {
			return err
		}
		o := *d
		o.Sections = nil
		p := statePage{Outline: &o, State: c.pages[i]}
		to := p.refs()
		for j, key := range c.keys(i) {
			if at, ok := refs.Of(key); ok {
				*to[j] = &at
			}
		}
		err = g.Encode(p)
	}
	if err == nil {
		err = g.Encode(c.table.Encode())
	}
	return errors.Join(err, out.Close())
}

// decodeState reads what encodeState wrote.
func (x *Index) decodeState(r io.Reader) (c *content, refs disk.Refs, err error) {
	defer func() {
		if err != nil {
			c, err = nil, fmt.Errorf("it is damaged, or of another version: %w", err)
		}
	}()
	header := make([]byte, len(stateHeader))
	if _, err := io.ReadFull(r, header); err != nil || string(header) != stateHeader {
		return nil, nil, errors.New("another header")
	}
	plain, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(stateWindow), zstd.WithDecodeBuffersBelow(0))
	if err != nil {
		return nil, nil, err
	}
	defer plain.Close()
	in := bufio.NewReader(io.LimitReader(plain, maxState))
	g := gob.NewDecoder(in)
	var head stateHead
	if err := g.Decode(&head); err != nil {
		return nil, nil, err
	}
	c = &content{byPage: map[string]int{}, mean: head.Mean, mark: head.Mark, restored: true}
	refs = disk.Refs{}
	for i := range head.Pages {
		var p statePage
		if err := g.Decode(&p); err != nil {
			return nil, nil, err
		}
		d, state := p.Outline, p.State
		if d == nil || len(state.Embedded) > len(state.IDs) {
			return nil, nil, errors.New("a page does not match its outline")
		}
		d.SetOutline(len(state.IDs))
		c.outlines, c.pages, c.byPage[d.Page] = append(c.outlines, d), append(c.pages, state), i
		from := p.refs()
		for j, key := range c.keys(i) {
			if *from[j] != nil {
				at := **from[j]
				at.File = unique.Make(at.File).Value() // one string
				refs.Set(key, at)
			}
		}
	}
	var table []byte
	if err := g.Decode(&table); err != nil {
		return nil, nil, err
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // the checksum is at the end
		return nil, nil, err
	}
	if c.table, err = words.ReadTable(table); err != nil {
		return nil, nil, err
	}
	c.statistics = embedded.NewStatistics(c.table, x.wording)
	c.index(x)
	for _, ix := range c.indexes {
		if !ix.view {
			ix.dimensions = head.Dimensions[ix.language]
		}
	}
	return c, refs, nil
}

// restore reads the state of an earlier run from the data folder.
func (x *Index) restore() {
	if x.options.Dir == "" {
		return
	}
	path := filepath.Join(x.options.Dir, stateFile)
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var c *content
	var refs disk.Refs
	if err == nil {
		c, refs, err = x.decodeState(file)
		_ = file.Close()
	}
	if err != nil {
		x.log.Warn("the state of the last run can't be read; all pages will be read again", "file", path, "error", err)
		return
	}
	x.store.Use(refs)
	x.target.Store(c)
}

// saveState writes the state to the data folder.
func (x *Index) saveState(c *content) {
	refs, err := x.store.Retain(func(yield func(string) bool) {
		for i := range c.outlines {
			for _, key := range c.keys(i) {
				if !yield(key) {
					return
				}
			}
		}
	})
	if err == nil && x.options.Dir != "" {
		err = disk.WriteFile(filepath.Join(x.options.Dir, stateFile), func(w io.Writer) error { return encodeState(w, c, refs) })
		if err == nil {
			x.store.Clean()
		}
	}
	if err != nil {
		x.log.Warn("the state of the index can't be written; the next start will read all pages again", "folder", x.options.Dir, "error", err)
	}
}
