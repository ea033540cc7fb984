package embedded

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/disk"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// A snapshot is what the next start needs to answer without reading the site
// again: documents, their words and their vectors, from which it makes a
// generation. The snapshot of an index that nobody has searched has no words;
// they are counted when it is loaded. The file consists of
//
//	a line with the format        snapshotHeader
//	gob: contents, a page at a time, each with its texts behind it
//	CRC-32C of all before         4 bytes, big-endian
const (
	snapshotFile = "index.snapshot"
	// SnapshotFormat is raised with each change to what is written and to what
	// analysis makes of a document.
	SnapshotFormat = 8
	// snapshotHeader and the format are the first line.
	snapshotHeader = "caddy-docs index "
	maxHeader      = len(snapshotHeader) + 10
	// maxDimensions bounds the length of vectors.
	maxDimensions = 1 << 16
)

var errSnapshot = errors.New("damaged, or of another version")

// snapshotStart is the first value of a snapshot.
type snapshotStart struct {
	Dimension int // of vectors, 0 if there are none
	Pages     int
	Words     []words.Word
}

// snapshotPage follows for each page.
type snapshotPage struct {
	Document *retrieval.Document // without texts
	Words    *words.PageWords    // nil on all pages, or on none
	Ends     []uint32            // of the texts that follow, see texts
	// Sections are the ones with a vector; Vectors has these vectors in a row.
	Sections []int
	Vectors  []float32
}

// contents are what a snapshot holds, and a generation is made of.
type contents struct {
	docs    []*retrieval.Document
	texts   []*pageTexts       // of docs, nil if docs have them
	words   []*words.PageWords // of docs, nil if they are not counted yet
	lexicon *words.Lexicon     // of words
	vectors *matrix            // nil without vectors
}

// save writes a snapshot to a folder, where the texts are from then on.
func save(dir string, c *contents) error {
	stored := make([]*texts, len(c.docs))
	name := filepath.Join(dir, snapshotFile)
	err := disk.WriteFile(name, func(w io.Writer) error {
		sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
		if err := encode(io.MultiWriter(w, sum), c, stored); err != nil {
			return err
		}
		return binary.Write(w, binary.BigEndian, sum.Sum32())
	})
	if err != nil || holdTexts {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	for i, t := range stored {
		t.file = f
		c.texts[i].Store(t)
	}
	return nil
}

// encode writes contents. stored gets where the texts are.
func encode(w io.Writer, c *contents, stored []*texts) error {
	page, at := &bytes.Buffer{}, int64(0) // where page will be
	fmt.Fprintf(page, "%s%d\n", snapshotHeader, SnapshotFormat)
	e := gob.NewEncoder(page)
	start := snapshotStart{Pages: len(c.docs)}
	if c.words != nil {
		start.Words = c.lexicon.Words
	}
	m := c.vectors
	if m != nil {
		start.Dimension = m.dim
	}
	if err := e.Encode(start); err != nil {
		return err
	}
	var data []byte
	var err error
	row, first := 0, uint32(0)
	for i, d := range c.docs {
		p := snapshotPage{Document: d}
		if c.words != nil {
			p.Words = c.words[i]
		}
		next := first + uint32(len(d.Sections))
		if m != nil {
			from := row
			for ; row < len(m.section) && m.section[row] < next; row++ {
				p.Sections = append(p.Sections, int(m.section[row]-first))
			}
			p.Vectors = m.values[from*m.dim : row*m.dim]
		}
		if data, p.Ends, err = c.texts[i].Load().record(data); err != nil {
			return err
		}
		if err := e.Encode(p); err != nil {
			return err
		}
		stored[i] = &texts{at: at + int64(page.Len()), ends: p.Ends}
		page.Write(data)
		n, err := page.WriteTo(w)
		if err != nil {
			return err
		}
		at, first = at+n, next
	}
	_, err = page.WriteTo(w) // without pages, the start
	return err
}

// load reads the snapshot of a folder. The error wraps fs.ErrNotExist if there
// is none, and errSnapshot if it can't be used.
func load(ctx context.Context, dir string, progress func(done, total int)) (c *contents, err error) {
	f, err := os.Open(filepath.Join(dir, snapshotFile))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil || holdTexts {
			err = cmp.Or(err, f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size() - crc32.Size
	if size < 0 {
		return nil, fmt.Errorf("%w: %d bytes", errSnapshot, info.Size())
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, size)); err != nil {
		return nil, err
	}
	var want uint32
	if err := binary.Read(io.NewSectionReader(f, size, crc32.Size), binary.BigEndian, &want); err != nil {
		return nil, err
	}
	if sum.Sum32() != want {
		return nil, fmt.Errorf("%w: checksum %08x, want %08x", errSnapshot, sum.Sum32(), want)
	}
	if c, err = decode(ctx, f, size, progress); err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshot, err)
	}
	return c, nil
}

// decode reads what encode wrote. Whatever f holds, decode allocates in
// proportion to its size, and returns contents that make a generation, or an
// error.
func decode(ctx context.Context, f io.ReaderAt, size int64, progress func(done, total int)) (*contents, error) {
	section := io.NewSectionReader(f, 0, size)
	in := bufio.NewReader(section) // of which a decoder reads no more than a value
	if err := checkHeader(in); err != nil {
		return nil, err
	}
	d := gob.NewDecoder(in)
	var start snapshotStart
	if err := d.Decode(&start); err != nil {
		return nil, err
	}
	if start.Dimension < 0 || start.Dimension > maxDimensions {
		return nil, fmt.Errorf("vectors of %d dimensions", start.Dimension)
	}
	c := &contents{lexicon: &words.Lexicon{Words: start.Words}}
	m, sections := &matrix{dim: start.Dimension}, uint32(0)
	for i := 0; ctx.Err() == nil; i++ {
		progress(i, max(i, start.Pages))
		var p snapshotPage
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("page %d: %w", i, err)
		}
		if err := p.validate(len(start.Words), start.Dimension); err != nil {
			return nil, fmt.Errorf("page %d: %w", i, err)
		}
		at, _ := section.Seek(0, io.SeekCurrent) // can't fail
		t := &texts{file: f, at: at - int64(in.Buffered()), ends: p.Ends}
		if _, err := in.Discard(int(p.Ends[len(p.Ends)-1])); err != nil {
			return nil, fmt.Errorf("page %d: %w", i, err)
		}
		if holdTexts {
			whole, err := t.document(p.Document)
			if err != nil {
				return nil, fmt.Errorf("page %d: %w", i, err)
			}
			t = &texts{whole: whole}
		}
		c.docs, c.texts = append(c.docs, p.Document), append(c.texts, hold(t))
		if p.Words != nil {
			c.words = append(c.words, p.Words)
		}
		if len(c.words) != 0 && len(c.words) != len(c.docs) {
			return nil, fmt.Errorf("page %d: some pages have words and others have none", i)
		}
		for _, s := range p.Sections {
			m.section = append(m.section, sections+uint32(s))
		}
		m.values = append(m.values, p.Vectors...)
		sections += uint32(len(p.Document.Sections))
	}
	if start.Dimension > 0 {
		c.vectors = m
	}
	return c, ctx.Err()
}

// checkHeader reads the first line.
func checkHeader(in *bufio.Reader) error {
	start, err := in.Peek(maxHeader)
	if err != nil && err != io.EOF {
		return err
	}
	line, _, ok := strings.Cut(string(start), "\n")
	number, known := strings.CutPrefix(line, snapshotHeader)
	format, err := strconv.Atoi(number)
	switch {
	case !ok || !known || err != nil || format < 1:
		return fmt.Errorf("it begins with %q, so it is not an index", start)
	case format > SnapshotFormat:
		return fmt.Errorf("a newer version of caddy-docs wrote it: its format is %d, this version reads %d", format, SnapshotFormat)
	case format < SnapshotFormat:
		return fmt.Errorf("an older version of caddy-docs wrote it: its format is %d, this version reads %d", format, SnapshotFormat)
	}
	_, err = in.Discard(len(line) + 1)
	return err
}

// validate reports what would break a search.
func (p *snapshotPage) validate(words, dimension int) error {
	if p.Document == nil {
		return errors.New("no document")
	}
	if len(p.Ends) != len(p.Document.Sections)+2 || !slices.IsSorted(p.Ends) {
		return errors.New("texts don't match sections")
	}
	if p.Words != nil {
		if err := p.Words.Check(p.Document, words); err != nil {
			return err
		}
	}
	if len(p.Vectors) != len(p.Sections)*dimension {
		return errors.New("vectors don't match sections")
	}
	for i, s := range p.Sections {
		if s < 0 || s >= len(p.Document.Sections) || i > 0 && s <= p.Sections[i-1] {
			return fmt.Errorf("no section %d", s)
		}
	}
	return nil
}

// RemoveSnapshot removes the snapshot of an index from a folder.
func RemoveSnapshot(dir string) { _ = os.Remove(filepath.Join(dir, snapshotFile)) }
