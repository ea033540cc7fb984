package embedded

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// Table counts the words of a site: what the ranking needs of all pages when
// only some are at hand. It has no texts. Pages are added and removed one by
// one.
type Table struct {
	pages, sections int
	mean            averages
	languages       map[language.Language]int // pages
	words           map[tableWord]uint32      // places, as of placesOf
	terms           map[string]termCount
}

type tableWord struct {
	language language.Language
	text     string
}

// termCount is how many sections and pages hold a term.
type termCount struct{ sections, pages uint32 }

// NewTable returns the table of a site without pages.
func NewTable() *Table {
	return &Table{languages: map[language.Language]int{}, words: map[tableWord]uint32{}, terms: map[string]termCount{}}
}

// Add counts a page.
func (t *Table) Add(d *retrieval.Document) { t.count(d, 1) }

// Remove uncounts a page that was added.
func (t *Table) Remove(d *retrieval.Document) { t.count(d, -1) }

func (t *Table) count(d *retrieval.Document, by int) {
	lex := newLexicon(nil)
	c := analyze(d, languageOf(d), lex.number)
	t.pages += by
	t.sections += by * len(c.Sections)
	t.mean.addPage(c, float64(by))
	if t.languages[c.Language] += by; t.languages[c.Language] <= 0 {
		delete(t.languages, c.Language)
	}
	for i, n := range placesOf([]*pageWords{c}, len(lex.words)) {
		w := tableWord{c.Language, lex.words[i].Text}
		if left := int(t.words[w]) + by*int(n); left > 0 {
			t.words[w] = uint32(left)
		} else {
			delete(t.words, w)
		}
	}
	head, page, section := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, w := range c.Head {
		head[lex.words[w.Word].Stem], page[lex.words[w.Word].Stem] = true, true
	}
	for i := range c.Sections {
		clear(section)
		maps.Copy(section, head)
		for _, w := range c.Sections[i].Words {
			section[lex.words[w.Word].Stem], page[lex.words[w.Word].Stem] = true, true
		}
		for stem := range section {
			t.addTerm(stem, by, 0)
		}
	}
	for stem := range page {
		t.addTerm(stem, 0, by)
	}
}

func (t *Table) addTerm(stem string, sections, pages int) {
	c := t.terms[stem]
	c.sections, c.pages = uint32(max(0, int(c.sections)+sections)), uint32(max(0, int(c.pages)+pages))
	if c == (termCount{}) {
		delete(t.terms, stem)
		return
	}
	t.terms[stem] = c
}

// The encoded table is compressed: counts as varints, then words and terms in
// order, each without what it shares with the one before.
const (
	tableHeader = "caddy-docs table 1\n"
	// maxTable limits what a damaged table can make us read, in bytes.
	maxTable = 512 << 20
)

// errTable is wrapped by the error of a table that can't be read.
var errTable = errors.New("the table of words is damaged, or of another version")

// Encode returns the table for ReadTable.
func (t *Table) Encode() []byte {
	var out bytes.Buffer
	out.WriteString(tableHeader)
	z, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err != nil {
		panic(err) // the level is valid
	}
	w := tableWriter{Writer: bufio.NewWriter(z)}
	w.number(t.pages)
	w.number(t.sections)
	for _, a := range t.mean.fields() {
		w.number(int(a.sum))
		w.number(int(a.n))
	}
	languages := slices.Sorted(maps.Keys(t.languages))
	w.number(len(languages))
	for _, l := range languages {
		w.text(string(l))
		w.number(t.languages[l])
	}
	words := slices.SortedFunc(maps.Keys(t.words), func(a, b tableWord) int {
		if c := strings.Compare(a.text, b.text); c != 0 {
			return c
		}
		return strings.Compare(string(a.language), string(b.language))
	})
	w.last = ""
	w.number(len(words))
	for _, x := range words {
		w.text(x.text)
		i, _ := slices.BinarySearch(languages, x.language)
		w.number(i)
		w.number(int(t.words[x]))
	}
	w.last = ""
	w.number(len(t.terms))
	for _, stem := range slices.Sorted(maps.Keys(t.terms)) {
		w.text(stem)
		w.number(int(t.terms[stem].sections))
		w.number(int(t.terms[stem].pages))
	}
	_ = w.Flush() // a bytes.Buffer doesn't fail
	_ = z.Close()
	return binary.BigEndian.AppendUint32(out.Bytes(), crc32.Checksum(out.Bytes(), crc32.MakeTable(crc32.Castagnoli)))
}

type tableWriter struct {
	*bufio.Writer
	last string
}

func (w *tableWriter) number(n int) {
	_, _ = w.Write(binary.AppendUvarint(nil, uint64(n)))
}

func (w *tableWriter) text(s string) {
	shared := 0
	for shared < min(len(s), len(w.last)) && s[shared] == w.last[shared] {
		shared++
	}
	w.number(shared)
	w.number(len(s) - shared)
	_, _ = w.WriteString(s[shared:])
	w.last = s
}

// ReadTable reads an encoded table. Its error wraps errTable.
func ReadTable(data []byte) (*Table, error) {
	t := NewTable()
	r, err := newTableReader(data)
	if err != nil {
		return nil, err
	}
	r.head(t)
	for n := r.number(); n > 0 && r.err == nil; n-- {
		word, l, places := r.word()
		t.words[tableWord{l, word}] = places
	}
	r.last = r.last[:0]
	for n := r.number(); n > 0 && r.err == nil; n-- {
		stem := r.text()
		t.terms[stem] = termCount{r.number(), r.number()}
	}
	if r.err != nil {
		return nil, fmt.Errorf("%w: %w", errTable, r.err)
	}
	return t, nil
}

type tableReader struct {
	*bufio.Reader
	err       error
	last      []byte
	languages []language.Language
}

func newTableReader(data []byte) (*tableReader, error) {
	body, ok := bytes.CutPrefix(data, []byte(tableHeader))
	end := len(data) - crc32.Size
	if !ok || len(body) < crc32.Size || crc32.Checksum(data[:end], crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(data[end:]) {
		return nil, errTable
	}
	return &tableReader{Reader: bufio.NewReader(io.LimitReader(flate.NewReader(bytes.NewReader(body[:len(body)-crc32.Size])), maxTable))}, nil
}

// head reads all before the words.
func (r *tableReader) head(t *Table) {
	t.pages, t.sections = int(r.number()), int(r.number())
	for _, a := range t.mean.fields() {
		a.sum, a.n = float64(r.number()), float64(r.number())
	}
	for n := r.number(); n > 0 && r.err == nil; n-- {
		l := language.Language(r.text())
		r.languages = append(r.languages, l)
		t.languages[l] = int(r.number())
	}
	r.last = r.last[:0]
}

func (r *tableReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *tableReader) number() uint32 {
	n, err := binary.ReadUvarint(r)
	if err == nil && n > math.MaxUint32 {
		err = errors.New("a number is too large")
	}
	if err != nil {
		r.fail(err)
		return 0
	}
	return uint32(n)
}

func (r *tableReader) text() string {
	shared, more := int(r.number()), int(r.number())
	if shared > len(r.last) || shared+more > 4*maxWord {
		r.fail(errors.New("a word is too long"))
		return ""
	}
	r.last = append(r.last[:shared], make([]byte, more)...)
	if _, err := io.ReadFull(r, r.last[shared:]); err != nil {
		r.fail(err)
	}
	return string(r.last)
}

func (r *tableReader) word() (text string, l language.Language, places uint32) {
	text = r.text()
	if i := int(r.number()); i < len(r.languages) {
		l = r.languages[i]
	} else {
		r.fail(errors.New("a word has no language"))
	}
	return text, l, r.number()
}
