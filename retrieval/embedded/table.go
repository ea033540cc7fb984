package embedded

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

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
	words           wordList
	terms           termList
	// What was counted since the lists were made.
	newWords map[string]int
	newTerms map[uint32]termCount
}

// maxNew is how many words and terms are counted before they join the lists.
const maxNew = 1 << 17

// NewTable returns the table of a site without pages.
func NewTable() *Table {
	return &Table{languages: map[language.Language]int{}, newWords: map[string]int{}, newTerms: map[uint32]termCount{}}
}

// Clone returns a copy, which can be changed.
func (t *Table) Clone() *Table {
	t.join()
	c := *t
	c.languages, c.newWords, c.newTerms = maps.Clone(t.languages), map[string]int{}, map[uint32]termCount{}
	return &c
}

// join adds what was counted to the lists.
func (t *Table) join() {
	if len(t.newWords) > 0 {
		t.words = t.words.changed(t.newWords)
		t.newWords = map[string]int{}
	}
	if len(t.newTerms) > 0 {
		t.terms = t.terms.changed(t.newTerms)
		t.newTerms = map[uint32]termCount{}
	}
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
		if text := lex.words[i].Text; correctable(text) {
			t.newWords[text] += by * int(n)
		}
	}
	hashes := make([]uint32, len(lex.words))
	for i := range hashes {
		hashes[i] = stemHash(lex.words[i].Stem)
	}
	head, page, section := map[uint32]bool{}, map[uint32]bool{}, map[uint32]bool{}
	for _, w := range c.Head {
		head[hashes[w.Word]], page[hashes[w.Word]] = true, true
	}
	for i := range c.Sections {
		clear(section)
		maps.Copy(section, head)
		for _, w := range c.Sections[i].Words {
			section[hashes[w.Word]], page[hashes[w.Word]] = true, true
		}
		for term := range section {
			t.addTerm(term, by, 0)
		}
	}
	for term := range page {
		t.addTerm(term, 0, by)
	}
	if len(t.newWords)+len(t.newTerms) > maxNew {
		t.join()
	}
}

func (t *Table) addTerm(hash uint32, sections, pages int) {
	c := t.newTerms[hash]
	t.newTerms[hash] = termCount{c.sections + sections, c.pages + pages}
}

// An encoded table is counts as varints, then the lists of words and terms, as
// they are in memory.
const tableHeader = "caddy-docs table 2\n"

// errTable is wrapped by the error of a table that can't be read.
var errTable = errors.New("the table of words is damaged, or of another version")

// Encode returns the table for ReadTable.
func (t *Table) Encode() []byte {
	t.join()
	out := make([]byte, 0, len(t.words.data)+len(t.terms.data)+256)
	out = append(out, tableHeader...)
	number := func(n int) { out = binary.AppendUvarint(out, uint64(n)) }
	number(t.pages)
	number(t.sections)
	for _, a := range t.mean.fields() {
		number(int(a.sum))
		number(int(a.n))
	}
	number(len(t.languages))
	for _, l := range slices.Sorted(maps.Keys(t.languages)) {
		number(len(l))
		out = append(out, l...)
		number(t.languages[l])
	}
	number(t.words.n)
	number(len(t.words.data))
	number(t.terms.n)
	number(len(t.terms.data))
	out = append(append(out, t.words.data...), t.terms.data...)
	return binary.BigEndian.AppendUint32(out, crc32.Checksum(out, crc32.MakeTable(crc32.Castagnoli)))
}

// ReadTable reads an encoded table, whose data it keeps. Its error wraps
// errTable.
func ReadTable(data []byte) (*Table, error) {
	body, ok := bytes.CutPrefix(data, []byte(tableHeader))
	end := len(data) - crc32.Size
	if !ok || len(body) < crc32.Size || crc32.Checksum(data[:end], crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(data[end:]) {
		return nil, errTable
	}
	r := tableReader{data: body[:len(body)-crc32.Size]}
	t := NewTable()
	t.pages, t.sections = r.number(), r.number()
	for _, a := range t.mean.fields() {
		a.sum, a.n = float64(r.number()), float64(r.number())
	}
	for n := r.number(); n > 0 && r.err == nil; n-- {
		l := language.Language(r.bytes(r.number()))
		t.languages[l] = r.number()
	}
	words, wordBytes, terms, termBytes := r.number(), r.number(), r.number(), r.number()
	wordData, termData := r.bytes(wordBytes), r.bytes(termBytes)
	if r.err == nil {
		t.words, r.err = readWordList(wordData, words)
	}
	if r.err == nil {
		t.terms, r.err = readTermList(termData, terms)
	}
	if r.err != nil || len(r.data) > 0 {
		return nil, fmt.Errorf("%w: %w", errTable, cmp.Or(r.err, errors.New("it is too long")))
	}
	return t, nil
}

type tableReader struct {
	data []byte
	err  error
}

func (r *tableReader) number() int {
	n, length := binary.Uvarint(r.data)
	if length <= 0 || n > maxSum {
		r.err = errors.New("a number is damaged")
		r.data = nil
		return 0
	}
	r.data = r.data[length:]
	return int(n)
}

// maxSum limits sums of lengths.
const maxSum = 1 << 53

func (r *tableReader) bytes(n int) []byte {
	if n > len(r.data) {
		r.err = errors.New("it is too short")
		r.data = nil
		return nil
	}
	out := r.data[:n:n]
	r.data = r.data[n:]
	return out
}
