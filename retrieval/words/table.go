package words

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// Table counts the words of a site: what the ranking needs of all pages when
// only some are at hand. It has no texts. Pages are added and removed one by
// one.
type Table struct {
	Format    int                       `json:"format"`
	Pages     int                       `json:"pages"`
	Sections  int                       `json:"sections"`
	Mean      Averages                  `json:"mean"`
	Languages map[language.Language]int `json:"languages"` // pages
	Words     map[string]uint32         `json:"words"`     // places of each word as it is written
	Terms     map[uint32]termCount      `json:"terms"`     // by StemHash
}

// termCount is how many sections, and how many pages, hold a term.
type termCount [2]uint32

// NewTable returns the table of a site without pages.
func NewTable() *Table {
	return &Table{Format: tableFormat, Languages: map[language.Language]int{}, Words: map[string]uint32{}, Terms: map[uint32]termCount{}}
}

// Clone returns a copy, which can be changed.
func (t *Table) Clone() *Table {
	c := *t
	c.Languages, c.Words, c.Terms = maps.Clone(t.Languages), maps.Clone(t.Words), maps.Clone(t.Terms)
	return &c
}

// Add counts a page.
func (t *Table) Add(d *retrieval.Document) { t.count(d, 1) }

// Remove uncounts a page that was added.
func (t *Table) Remove(d *retrieval.Document) { t.count(d, -1) }

func (t *Table) count(d *retrieval.Document, by int) {
	var lex Lexicon
	c := Count(d, &lex)
	t.Pages += by
	t.Sections += by * len(c.Sections)
	t.Mean.AddPage(c, float64(by))
	if t.Languages[c.Language] += by; t.Languages[c.Language] <= 0 {
		delete(t.Languages, c.Language)
	}
	places := make([]uint32, len(lex.Words))
	c.Places(places)
	for i, n := range places {
		text := lex.Words[i].Text
		if t.Words[text] += uint32(by) * n; t.Words[text] == 0 {
			delete(t.Words, text)
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
		all := t.Terms[term]
		all[0], all[1] = all[0]+uint32(by)*n[0], all[1]+uint32(by)*n[1]
		if t.Terms[term] = all; all == (termCount{}) {
			delete(t.Terms, term)
		}
	}
}

const tableFormat = 3

// Encode returns the table for ReadTable.
func (t *Table) Encode() []byte {
	data, err := json.Marshal(t)
	if err != nil {
		panic("words: " + err.Error()) // numbers and words always have a form
	}
	return data
}

// ReadTable reads an encoded table.
func ReadTable(data []byte) (*Table, error) {
	var t Table
	err := json.Unmarshal(data, &t)
	if err != nil || t.Format != tableFormat || t.Languages == nil || t.Words == nil || t.Terms == nil {
		return nil, fmt.Errorf("the table of words is damaged, or of another version: %w", cmp.Or(err, fmt.Errorf("format %d", t.Format)))
	}
	return &t, nil
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
