package embedded

import (
	"bufio"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// A snapshot is what the next start needs to answer without reading the site
// again: documents, their words and their vectors, from which it makes a
// generation. The file has
//
//	a header with the version     snapshotHeader
//	gob: contents, a page at a time
//	CRC-32C of all before         4 bytes, big-endian
const (
	snapshotFile = "index.snapshot"
	// snapshotHeader has a version, raised with each change of what is written
	// and of what analysis makes of a document.
	snapshotHeader = "caddy-docs index 2\n"
	// maxDimensions bounds the length of vectors.
	maxDimensions = 1 << 16
)

var errSnapshot = errors.New("damaged, or of another version")

// snapshotStart is the first value of a snapshot.
type snapshotStart struct {
	Dimension int // of vectors, 0 if there are none
	Words     []word
}

// snapshotPage follows for each page.
type snapshotPage struct {
	Document *retrieval.Document
	Words    *pageWords
	// Sections are those with a vector; Vectors has these one after another.
	Sections []int
	Vectors  []float32
}

// save writes the snapshot of a generation to a folder.
func save(dir string, g *generation, lex *lexicon) error {
	return retrieval.WriteFile(filepath.Join(dir, snapshotFile), func(w io.Writer) error {
		sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
		if err := encode(io.MultiWriter(w, sum), g, lex); err != nil {
			return err
		}
		return binary.Write(w, binary.BigEndian, sum.Sum32())
	})
}

func encode(w io.Writer, g *generation, lex *lexicon) error {
	if _, err := io.WriteString(w, snapshotHeader); err != nil {
		return err
	}
	e := gob.NewEncoder(w)
	start := snapshotStart{Words: lex.words}
	m := g.vectors
	if m != nil {
		start.Dimension = m.dim
	}
	if err := e.Encode(start); err != nil {
		return err
	}
	row := 0
	for i, d := range g.docs {
		p := snapshotPage{Document: d, Words: g.words[i]}
		if m != nil {
			from := row
			for ; row < len(m.section) && m.section[row] < g.first[i+1]; row++ {
				p.Sections = append(p.Sections, int(m.section[row]-g.first[i]))
			}
			p.Vectors = m.values[from*m.dim : row*m.dim]
		}
		if err := e.Encode(p); err != nil {
			return err
		}
	}
	return nil
}

// load reads the snapshot of a folder. The error wraps fs.ErrNotExist if there
// is none, and errSnapshot if it can't be used.
func load(dir string) (*generation, *lexicon, error) {
	f, err := os.Open(filepath.Join(dir, snapshotFile))
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	size := info.Size() - crc32.Size
	if size < 0 {
		return nil, nil, fmt.Errorf("%w: %d bytes", errSnapshot, info.Size())
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, size)); err != nil {
		return nil, nil, err
	}
	var want uint32
	if err := binary.Read(io.NewSectionReader(f, size, crc32.Size), binary.BigEndian, &want); err != nil {
		return nil, nil, err
	}
	if sum.Sum32() != want {
		return nil, nil, fmt.Errorf("%w: checksum %08x, want %08x", errSnapshot, sum.Sum32(), want)
	}
	g, lex, err := decode(io.NewSectionReader(f, 0, size))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errSnapshot, err)
	}
	return g, lex, nil
}

// decode reads what encode wrote. Whatever r holds, it allocates in proportion
// to it, and returns a generation that can be searched or an error.
func decode(r io.Reader) (*generation, *lexicon, error) {
	in := bufio.NewReader(r)
	header := make([]byte, len(snapshotHeader))
	if _, err := io.ReadFull(in, header); err != nil || string(header) != snapshotHeader {
		return nil, nil, fmt.Errorf("header %q, want %q", header, snapshotHeader)
	}
	d := gob.NewDecoder(in)
	var start snapshotStart
	if err := d.Decode(&start); err != nil {
		return nil, nil, err
	}
	if start.Dimension < 0 || start.Dimension > maxDimensions {
		return nil, nil, fmt.Errorf("vectors of %d dimensions", start.Dimension)
	}
	var (
		docs     []*retrieval.Document
		words    []*pageWords
		matrix   = matrix{dim: start.Dimension}
		sections uint32
	)
	for i := 0; ; i++ {
		var p snapshotPage
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, nil, fmt.Errorf("page %d: %w", i, err)
		}
		if err := p.validate(len(start.Words), start.Dimension); err != nil {
			return nil, nil, fmt.Errorf("page %d: %w", i, err)
		}
		docs, words = append(docs, p.Document), append(words, p.Words)
		for _, s := range p.Sections {
			matrix.section = append(matrix.section, sections+uint32(s))
		}
		matrix.values = append(matrix.values, p.Vectors...)
		sections += uint32(len(p.Document.Sections))
	}
	lex := newLexicon(start.Words)
	if start.Dimension == 0 {
		return newGeneration(docs, words, lex.words, nil), lex, nil
	}
	return newGeneration(docs, words, lex.words, &matrix), lex, nil
}

// validate reports what would break a search.
func (p *snapshotPage) validate(words, dimension int) error {
	if p.Document == nil || p.Words == nil || len(p.Words.Sections) != len(p.Document.Sections) {
		return errors.New("words don't match sections")
	}
	for _, w := range p.Words.Head {
		if int(w.Word) >= words {
			return fmt.Errorf("no word %d", w.Word)
		}
	}
	for i := range p.Words.Sections {
		for _, w := range p.Words.Sections[i].Words {
			if int(w.Word) >= words {
				return fmt.Errorf("no word %d", w.Word)
			}
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
	for _, v := range p.Vectors {
		if !(v >= -1.01 && v <= 1.01) {
			return fmt.Errorf("a vector holds %v", v)
		}
	}
	return nil
}
