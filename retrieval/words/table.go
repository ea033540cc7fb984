package words

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// Table counts the words of a site: what the ranking needs of all pages when
// only some are at hand. It has no texts, and never changes.
type Table struct {
	Pages, Sections int
	Mean            Averages
	Languages       map[language.Language]int // pages
	Words           *List                     // as they are written
	stems           []uint32                  // the StemHash of each, in order
	counts          []termCount               // of stems
}

// termCount is how many sections, and how many pages, hold a term.
type termCount [2]uint32

// NewTable returns the table of a site without pages.
func NewTable() *Table {
	return &Table{Languages: map[language.Language]int{}, Words: &List{}}
}

// Term returns how many sections, and how many pages, hold a stem.
func (t *Table) Term(hash uint32) (sections, pages int) {
	at, ok := slices.BinarySearch(t.stems, hash)
	if !ok {
		return 0, 0
	}
	return int(t.counts[at][0]), int(t.counts[at][1])
}

// Tally makes a table of another one, to which pages are added, and from which
// pages are removed that it has.
type Tally struct {
	table *Table
	words map[string]uint32 // what is added to those of the table; less than 0 overflows
	terms map[uint32]termCount
}

// maxTallied bounds the words, and the stems, that wait in a Tally.
const maxTallied = 1 << 16

// Tally begins with the pages of t, which stays as it is.
func (t *Table) Tally() *Tally {
	next := *t
	next.Languages = maps.Clone(t.Languages)
	return &Tally{&next, map[string]uint32{}, map[uint32]termCount{}}
}

// Add counts a page.
func (y *Tally) Add(c *Counted) { y.count(c, 1) }

// Remove uncounts a page.
func (y *Tally) Remove(c *Counted) { y.count(c, -1) }

func (y *Tally) count(c *Counted, by int) {
	t, lex := y.table, &c.lexicon
	t.Pages += by
	t.Sections += by * len(c.Sections)
	t.Mean.AddPage(c.PageWords, float64(by))
	if t.Languages[c.Language] += by; t.Languages[c.Language] <= 0 {
		delete(t.Languages, c.Language)
	}
	places := make([]uint32, len(lex.Words))
	c.Places(places)
	for i, n := range places {
		if text := lex.Words[i].Text; listed(text) {
			y.words[text] += uint32(by) * n
		}
	}
	hashes := make([]uint32, len(lex.Words))
	for i := range hashes {
		hashes[i] = StemHash(lex.Words[i].Stem)
	}
	counts := map[uint32]termCount{} // of this page
	head, section := map[uint32]bool{}, map[uint32]bool{}
	for _, w := range c.Head {
		head[hashes[w.Word]] = true
		counts[hashes[w.Word]] = termCount{0, 1}
	}
	for i := range c.Sections {
		clear(section)
		maps.Copy(section, head)
		for w := range c.Sections[i].All() {
			section[hashes[w.Word]] = true
		}
		for term := range section {
			counts[term] = termCount{counts[term][0] + 1, 1}
		}
	}
	for term, n := range counts {
		all := y.terms[term]
		y.terms[term] = termCount{all[0] + uint32(by)*n[0], all[1] + uint32(by)*n[1]}
	}
	if len(y.words) > maxTallied || len(y.terms) > maxTallied {
		y.merge()
	}
}

// Table returns the table of all pages, and ends the tally.
func (y *Tally) Table() *Table {
	y.merge()
	return y.table
}

func (y *Tally) merge() {
	if len(y.terms) == 0 { // nor are there words
		return
	}
	t := y.table
	t.Words = t.Words.with(y.words)
	stems := make([]uint32, 0, len(t.stems)+len(y.terms))
	counts := make([]termCount, 0, cap(stems))
	i := 0
	for _, stem := range slices.Sorted(maps.Keys(y.terms)) {
		at, ok := slices.BinarySearch(t.stems[i:], stem)
		at += i
		stems, counts = append(stems, t.stems[i:at]...), append(counts, t.counts[i:at]...)
		n := y.terms[stem]
		if i = at; ok {
			n[0], n[1] = n[0]+t.counts[at][0], n[1]+t.counts[at][1]
			i++
		}
		if n != (termCount{}) {
			stems, counts = append(stems, stem), append(counts, n)
		}
	}
	t.stems, t.counts = append(stems, t.stems[i:]...), append(counts, t.counts[i:]...)
	clear(y.words)
	clear(y.terms)
}

// encodedTable is a table as it is stored.
type encodedTable struct {
	Pages, Sections int
	Mean            Averages
	Languages       map[language.Language]int
	Text            string
	Lengths, Places []uint32 // of the words in Text
	Steps           []uint32 // from each stem's hash to the next
	Counts          []uint32 // two of each stem: sections minus pages, and pages
}

// Encode returns the table for ReadTable.
func (t *Table) Encode() []byte {
	e := encodedTable{Pages: t.Pages, Sections: t.Sections, Mean: t.Mean, Languages: t.Languages, Text: t.Words.text, Places: t.Words.places}
	last := uint32(0)
	for _, end := range t.Words.ends {
		e.Lengths, last = append(e.Lengths, end-last), end
	}
	last = 0
	for i, stem := range t.stems {
		e.Steps, last = append(e.Steps, stem-last), stem
		e.Counts = append(e.Counts, t.counts[i][0]-t.counts[i][1], t.counts[i][1])
	}
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(e); err != nil {
		panic("words: " + err.Error()) // numbers and words always have a form
	}
	return out.Bytes()
}

// ReadTable reads an encoded table.
func ReadTable(data []byte) (*Table, error) {
	var e encodedTable
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&e); err != nil {
		return nil, fmt.Errorf("the table of words is damaged: %w", err)
	}
	t := NewTable()
	t.Pages, t.Sections, t.Mean, t.Words = e.Pages, e.Sections, e.Mean, &List{text: e.Text, places: e.Places}
	maps.Copy(t.Languages, e.Languages)
	t.Words.ends = make([]uint32, len(e.Lengths))
	last := uint32(0)
	for i, n := range e.Lengths {
		last += min(n, uint32(len(e.Text))-last)
		t.Words.ends[i] = last
	}
	if int(last) != len(e.Text) || len(e.Places) != len(e.Lengths) || len(e.Counts) != 2*len(e.Steps) {
		return nil, errors.New("the table of words is damaged")
	}
	t.stems, t.counts = make([]uint32, len(e.Steps)), make([]termCount, len(e.Steps))
	last = 0
	for i, n := range e.Steps {
		last += n
		t.stems[i], t.counts[i] = last, termCount{e.Counts[2*i] + e.Counts[2*i+1], e.Counts[2*i+1]}
	}
	return t, nil
}

// Average is the mean length of a field, empty ones left out.
type Average struct{ Sum, N float64 }

// add adds a length, or removes it if by is -1.
func (m *Average) add(length uint32, by float64) {
	if length > 0 {
		m.Sum += by * float64(length)
		m.N += by
	}
}

// b is how much the length of a field counts in BM25.
const b = .75

// Norm is what frequencies in a field of a length are divided by.
func (m *Average) Norm(length uint32) float32 {
	if m.N == 0 || length == 0 {
		return 1
	}
	return 1 - b + b*float32(float64(length)*m.N/m.Sum)
}

// Averages are those of all fields; PageHeading and PageText of all sections
// of a page together.
type Averages struct {
	Title, Description, Keywords, Path Average
	Heading, Text                      Average
	PageHeading, PageText              Average
}

// AddPage adds the lengths of a page, or removes them if by is -1.
func (m *Averages) AddPage(c *PageWords, by float64) {
	m.Title.add(c.Title, by)
	m.Description.add(c.Description, by)
	m.Keywords.add(c.Keywords, by)
	m.Path.add(c.Path, by)
	for i := range c.Sections {
		m.Heading.add(c.Sections[i].Heading, by)
		m.Text.add(c.Sections[i].Text, by)
	}
	heading, text := c.Lengths()
	m.PageHeading.add(heading, by)
	m.PageText.add(text, by)
}
