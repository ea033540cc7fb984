package embedded

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// A snapshot is a generation on disk, for the next start: the documents,
// and what their analysis found, which is inverted again when it is read.
//
//	magic, version                 8 bytes, uint32
//	length of each part            3 × uint64
//	checksum of each part          3 × CRC-32C
//	documents                      strings and numbers, see encoder
//	words                          likewise
//	vectors                        float32, little-endian
//
// The documents are a part of their own because their texts are kept as
// they are read, in one piece.
const (
	snapshotFile  = "index.snapshot"
	snapshotMagic = "cdyDocs\n"
	// snapshotVersion is raised with every change of the format, and of
	// what analysis makes of a document.
	snapshotVersion = 2
	snapshotHeader  = len(snapshotMagic) + 4 + 3*8 + 3*4
	// snapshotLimit bounds what is read into memory.
	snapshotLimit = 8 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errSnapshot = errors.New("the snapshot is damaged")

// encoder writes a part. Numbers are varints, strings have their length
// before them.
type encoder struct {
	w   *bufio.Writer
	sum uint32
	n   uint64
	buf [binary.MaxVarintLen64]byte
	err error
}

func (e *encoder) bytes(b []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
	}
	e.sum = crc32.Update(e.sum, castagnoli, b)
	e.n += uint64(len(b))
}

func (e *encoder) num(n uint64) { e.bytes(e.buf[:binary.PutUvarint(e.buf[:], n)]) }

func (e *encoder) str(s string) {
	e.num(uint64(len(s)))
	if s != "" {
		e.bytes(unsafe.Slice(unsafe.StringData(s), len(s))) // read only, saves a copy of every text
	}
}

func (e *encoder) strs(list []string) {
	e.num(uint64(len(list)))
	for _, s := range list {
		e.str(s)
	}
}

func (e *encoder) flag(b bool) {
	n := uint64(0)
	if b {
		n = 1
	}
	e.num(n)
}

func (e *encoder) documents(docs []*retrieval.Document) {
	e.num(uint64(len(docs)))
	for _, d := range docs {
		for _, s := range []string{d.Page, d.URL, d.File, d.Hash, d.Title, d.Description, d.Version, d.Language} {
			e.str(s)
		}
		e.strs(d.Breadcrumbs)
		e.strs(d.Tags)
		e.strs(d.Keywords)
		e.flag(d.Deprecated)
		e.flag(d.Changelog)
		e.num(uint64(len(d.Sections)))
		for i := range d.Sections {
			s := &d.Sections[i]
			e.str(s.Anchor)
			e.str(s.Heading)
			e.strs(s.Path)
			e.num(uint64(max(s.Level, 0)))
			e.str(s.Text)
		}
		e.num(uint64(len(d.Links)))
		for _, l := range d.Links {
			e.str(l.Page)
			e.str(l.Anchor)
			e.str(l.Text)
		}
	}
}

func (e *encoder) words(lex *lexicon, counts []*pageWords) {
	e.strs(lex.terms)
	e.num(uint64(len(lex.words)))
	for _, w := range lex.words {
		e.str(string(w.lang))
		e.num(uint64(w.term))
		e.str(w.text)
	}
	for _, c := range counts {
		e.str(c.hash)
		e.str(string(c.lang))
		for _, n := range []uint32{c.titleLen, c.descLen, c.keyLen, c.pathLen} {
			e.num(uint64(n))
		}
		e.num(uint64(len(c.head)))
		for _, h := range c.head {
			e.num(uint64(h.word))
			e.bytes([]byte{h.title, h.desc, h.key, h.path, flags(h.plain, h.slug)})
		}
		e.num(uint64(len(c.sections)))
		e.num(uint64(len(c.words)))
		from := uint32(0)
		for _, s := range c.sections {
			e.num(uint64(s.end - from))
			e.num(uint64(s.headLen))
			e.num(uint64(s.textLen))
			from = s.end
		}
		for _, w := range c.words {
			e.num(uint64(w.word))
			e.num(uint64(w.text))
			e.bytes([]byte{w.heading, flags(w.plain)})
		}
	}
}

func flags(set ...bool) byte {
	var b byte
	for i, f := range set {
		if f {
			b |= 1 << i
		}
	}
	return b
}

func (e *encoder) vectors(m *matrix) {
	if m == nil {
		e.num(0)
		return
	}
	e.num(uint64(m.dim))
	e.num(uint64(len(m.section)))
	for _, s := range m.section {
		e.num(uint64(s))
	}
	var b [4096]byte
	for i := 0; i < len(m.values); {
		n := 0
		for ; n+4 <= len(b) && i < len(m.values); n += 4 {
			binary.LittleEndian.PutUint32(b[n:], math.Float32bits(m.values[i]))
			i++
		}
		e.bytes(b[:n])
	}
}

// save writes a generation to a folder: to a file beside the old snapshot,
// which it replaces when it is whole and on the disk.
func save(dir string, g *generation) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, snapshotFile+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 256<<10)
	if _, err := w.Write(make([]byte, snapshotHeader)); err != nil {
		return err
	}
	header := append(make([]byte, 0, snapshotHeader), snapshotMagic...)
	header = binary.LittleEndian.AppendUint32(header, snapshotVersion)
	var sums [3]uint32
	for i, write := range []func(*encoder){
		func(e *encoder) { e.documents(g.docs) },
		func(e *encoder) { e.words(g.lex, g.counts) },
		func(e *encoder) { e.vectors(g.vectors) },
	} {
		e := &encoder{w: w}
		write(e)
		if e.err != nil {
			return e.err
		}
		header = binary.LittleEndian.AppendUint64(header, e.n)
		sums[i] = e.sum
	}
	for _, s := range sums {
		header = binary.LittleEndian.AppendUint32(header, s)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if _, err := f.WriteAt(header, 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, snapshotFile)); err != nil {
		return err
	}
	// The rename itself lasts only once the folder is on the disk; not all
	// systems can do this, and a lost rename leaves the older snapshot.
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
	return nil
}

// contents are what a snapshot holds.
type contents struct {
	docs    []*retrieval.Document
	lex     *lexicon
	counts  []*pageWords
	vectors *matrix
}

// load reads the snapshot of a folder. The error is os.ErrNotExist where
// there is none, errSnapshot where it is not whole or of another version.
func load(dir string) (*contents, error) {
	f, err := os.Open(filepath.Join(dir, snapshotFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return read(f, info.Size())
}

func read(r io.Reader, size int64) (*contents, error) {
	var header [snapshotHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil || string(header[:len(snapshotMagic)]) != snapshotMagic {
		return nil, fmt.Errorf("%w: it does not begin like one", errSnapshot)
	}
	h := header[len(snapshotMagic):]
	if v := binary.LittleEndian.Uint32(h); v != snapshotVersion {
		return nil, fmt.Errorf("%w: version %d, this release reads %d", errSnapshot, v, snapshotVersion)
	}
	var lengths [3]uint64
	total := uint64(snapshotHeader)
	for i := range lengths {
		lengths[i] = binary.LittleEndian.Uint64(h[4+8*i:])
		if lengths[i] > snapshotLimit {
			return nil, fmt.Errorf("%w: a part of %d bytes", errSnapshot, lengths[i])
		}
		total += lengths[i]
	}
	if int64(total) != size {
		return nil, fmt.Errorf("%w: %d bytes, it should have %d", errSnapshot, size, total)
	}
	var parts [3]string
	for i := range parts {
		var b strings.Builder
		b.Grow(int(lengths[i]))
		sum := crc32.New(castagnoli)
		if _, err := io.CopyN(io.MultiWriter(&b, sum), r, int64(lengths[i])); err != nil {
			return nil, fmt.Errorf("%w: %w", errSnapshot, err)
		}
		if sum.Sum32() != binary.LittleEndian.Uint32(h[4+3*8+4*i:]) {
			return nil, fmt.Errorf("%w: the checksum of part %d is wrong", errSnapshot, i+1)
		}
		parts[i] = b.String()
	}
	return decode(parts)
}

// decode reads the parts of a snapshot. It trusts nothing: whatever the
// parts hold, it allocates no more than in proportion to them, and returns
// contents that can be searched, or an error.
func decode(parts [3]string) (*contents, error) {
	c := &contents{}
	d := decoder{rest: parts[0]}
	c.docs = d.documents()
	if d.failed || d.rest != "" {
		return nil, fmt.Errorf("%w: documents", errSnapshot)
	}
	d = decoder{rest: parts[1]}
	c.lex, c.counts = d.words(c.docs)
	if d.failed || d.rest != "" {
		return nil, fmt.Errorf("%w: words", errSnapshot)
	}
	sections := 0
	for _, doc := range c.docs {
		sections += len(doc.Sections)
	}
	d = decoder{rest: parts[2]}
	c.vectors = d.vectors(sections)
	if d.failed || d.rest != "" {
		return nil, fmt.Errorf("%w: vectors", errSnapshot)
	}
	return c, nil
}

// decoder reads what encoder wrote. After the first fault it only returns
// zero values.
type decoder struct {
	rest   string
	failed bool
}

func (d *decoder) fail() {
	d.failed = true
	d.rest = ""
}

func (d *decoder) num() uint64 {
	var n uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if d.rest == "" {
			break
		}
		b := d.rest[0]
		d.rest = d.rest[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	d.fail()
	return 0
}

// below reads a number that must be less than limit.
func (d *decoder) below(limit int) uint32 {
	n := d.num()
	if n >= uint64(limit) {
		d.fail()
		return 0
	}
	return uint32(n)
}

// count reads how many things of at least size bytes follow.
func (d *decoder) count(size int) int {
	n := d.num()
	if n > uint64(len(d.rest)/size) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(n int) string {
	if n > len(d.rest) {
		d.fail()
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

func (d *decoder) str() string { return d.bytes(d.count(1)) }

func (d *decoder) strs() []string {
	n := d.count(1)
	if n == 0 {
		return nil
	}
	out := make([]string, n)
	for i := range out {
		out[i] = d.str()
	}
	return out
}

func (d *decoder) documents() []*retrieval.Document {
	docs := make([]*retrieval.Document, d.count(15))
	for i := range docs {
		doc := &retrieval.Document{}
		for _, s := range []*string{&doc.Page, &doc.URL, &doc.File, &doc.Hash, &doc.Title, &doc.Description, &doc.Version, &doc.Language} {
			*s = d.str()
		}
		doc.Breadcrumbs = d.strs()
		doc.Tags = d.strs()
		doc.Keywords = d.strs()
		doc.Deprecated = d.num() == 1
		doc.Changelog = d.num() == 1
		doc.Sections = make([]retrieval.Section, d.count(5))
		for j := range doc.Sections {
			s := &doc.Sections[j]
			s.Anchor = d.str()
			s.Heading = d.str()
			s.Path = d.strs()
			s.Level = int(d.below(16))
			s.Text = d.str()
		}
		if n := d.count(3); n > 0 {
			doc.Links = make([]retrieval.Link, n)
			for j := range doc.Links {
				doc.Links[j] = retrieval.Link{Page: d.str(), Anchor: d.str(), Text: d.str()}
			}
		}
		if d.failed {
			return nil
		}
		docs[i] = doc
	}
	return docs
}

func (d *decoder) words(docs []*retrieval.Document) (*lexicon, []*pageWords) {
	lex := newLexicon()
	lex.terms = d.strs()
	for i, t := range lex.terms {
		// This part is dropped once it is read; the terms stay.
		lex.terms[i] = strings.Clone(t)
		lex.byTerm[lex.terms[i]] = uint32(i)
	}
	n := d.count(3)
	lex.words = make([]word, n)
	for i := range lex.words {
		w := &lex.words[i]
		w.lang = language.Of(d.str())
		w.term = d.below(len(lex.terms))
		w.text = strings.Clone(d.str())
		if d.failed {
			return nil, nil
		}
		if lex.byWord[w.lang] == nil {
			lex.byWord[w.lang] = map[string]uint32{}
		}
		lex.byWord[w.lang][w.text] = uint32(i)
	}
	counts := make([]*pageWords, len(docs))
	for i := range counts {
		c := &pageWords{hash: strings.Clone(d.str()), lang: language.Of(d.str())}
		for _, n := range []*uint32{&c.titleLen, &c.descLen, &c.keyLen, &c.pathLen} {
			*n = d.below(math.MaxInt32)
		}
		c.head = make([]headWord, d.count(6))
		for j := range c.head {
			word, b := d.below(len(lex.words)), d.bytes(5)
			if d.failed {
				return nil, nil
			}
			c.head[j] = headWord{word: word, title: b[0], desc: b[1], key: b[2], path: b[3], plain: b[4]&1 != 0, slug: b[4]&2 != 0}
		}
		if n := d.count(3); n != len(docs[i].Sections) {
			d.fail()
			return nil, nil
		}
		c.sections = make([]sectionWords, len(docs[i].Sections))
		total := d.count(4)
		end := uint32(0)
		for j := range c.sections {
			end += d.below(total + 1)
			if int64(end) > int64(total) {
				d.fail()
			}
			c.sections[j] = sectionWords{end: end, headLen: d.below(math.MaxInt32), textLen: d.below(math.MaxInt32)}
		}
		if d.failed || int(end) != total {
			d.fail()
			return nil, nil
		}
		c.words = make([]sectionWord, total)
		for j := range c.words {
			word, text, b := d.below(len(lex.words)), d.below(math.MaxUint16+1), d.bytes(2)
			if d.failed {
				return nil, nil
			}
			c.words[j] = sectionWord{word: word, text: uint16(text), heading: b[0], plain: b[1]&1 != 0}
		}
		counts[i] = c
	}
	return lex, counts
}

func (d *decoder) vectors(sections int) *matrix {
	dim := int(d.below(1 << 16))
	if dim == 0 {
		return nil
	}
	m := &matrix{dim: dim}
	m.section = make([]uint32, d.count(1+4*dim))
	for i := range m.section {
		m.section[i] = d.below(sections)
		if i > 0 && m.section[i] <= m.section[i-1] {
			d.fail()
			return nil
		}
	}
	raw := d.bytes(4 * dim * len(m.section))
	if d.failed {
		return nil
	}
	m.values = make([]float32, len(raw)/4)
	for i := range m.values {
		j := 4 * i
		v := math.Float32frombits(uint32(raw[j]) | uint32(raw[j+1])<<8 | uint32(raw[j+2])<<16 | uint32(raw[j+3])<<24)
		if v != v || v > 2 || v < -2 {
			d.fail()
			return nil
		}
		m.values[i] = v
	}
	return m
}
