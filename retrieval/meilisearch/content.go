package meilisearch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// content is what the servers should hold of a site. It has no texts and no
// vectors: those of a page are read when they are needed.
type content struct {
	outlines []*retrieval.Document
	pages    []pageState // of outlines, in the same order
	byPage   map[string]int
	indexes  map[string]*languageIndex // by uid
	sections int
	// mean is the mean of the sections' vectors at length 1, and mark the
	// vectorMark of their model.
	mean []float32
	mark string
	// table has the words of the site, statistics is what searches read of it.
	table      *words.Table
	statistics *embedded.Statistics
	// vectors returns those of a page's sections, nil if this process has none.
	vectors func(page int) [][]float32
	// restored content is that of an earlier run, of which this process has
	// no vectors.
	restored bool
	// adopted content is what a server says another process has indexed. The
	// servers are not changed to it.
	adopted bool
}

// writes reports whether servers are made equal to the content.
func (c *content) writes() bool { return c != nil && !c.adopted }

// pageState is what is known of a page's records.
type pageState struct {
	IDs      recordIDs // by section
	Embedded []bool    // which have a vector; nil: none
	Traits   words.Traits
}

// recordID is the ID of a record; in the server it has 16 hexadecimal digits.
type recordID = uint64

// recordIDs are stored in eight bytes each.
type recordIDs []recordID

func (l recordIDs) MarshalBinary() (data []byte, err error) {
	return binary.Append(nil, binary.BigEndian, l)
}

func (l *recordIDs) UnmarshalBinary(data []byte) error {
	*l = make(recordIDs, len(data)/8)
	n, err := binary.Decode(data, binary.BigEndian, *l)
	if n < len(data) {
		err = errors.New("part of an ID")
	}
	return err
}

func formatID(id recordID) string { return fmt.Sprintf("%016x", id) }

// embedded reports whether a section has a vector.
func (p *pageState) embedded(section int) bool {
	return section < len(p.Embedded) && p.Embedded[section]
}

// vectors is how many sections have a vector.
func (p *pageState) vectors() (n int) {
	for _, has := range p.Embedded {
		if has {
			n++
		}
	}
	return n
}

// vectorMark is what record.Vector says of the vectors of a model.
func vectorMark(model string) string {
	sum := sha256.Sum256([]byte(model))
	return hex.EncodeToString(sum[:4])
}

// languageIndex is the content in one language, which has its own index.
type languageIndex struct {
	uid, language string
	// view is true if it is for other clients, without what only this package
	// reads, and with public pages only.
	view       bool
	pages      []int // of content.pages
	sections   int
	dimensions int // of the vectors, 0 without vectors
}

var unsafeInUID = regexp.MustCompile(`[^a-z0-9-]+`)

// viewPrefix is the prefix of the uids of a site's views. It is followed by a
// language without a dash, so that no uid belongs to two sites.
func viewPrefix(prefix, site string) string {
	return prefix + "-" + unsafeInUID.ReplaceAllString(strings.ToLower(site), "-") + "-"
}

// uidPrefix is the prefix of the uids of the indexes that only this package
// uses. No key for the indexes prefix* opens them: a prefix begins with a letter.
func uidPrefix(prefix, site string) string { return "_" + viewPrefix(prefix, site) }

// baseLanguage returns the first subtag of a language tag, or "und".
func baseLanguage(tag string) string {
	base, _, _ := strings.Cut(normalLanguage(tag), "-")
	for _, r := range base {
		if r < 'a' || r > 'z' {
			return "und"
		}
	}
	if len(base) < 2 || len(base) > 8 {
		return "und"
	}
	return base
}

// newContent makes the content of outlines. vectors may be nil. Only pages that
// are not in before, which may be nil, are read.
func (x *Index) newContent(outlines []*retrieval.Document, before *content, vectors func(int) [][]float32) (*content, error) {
	c := &content{outlines: outlines, pages: make([]pageState, len(outlines)), byPage: make(map[string]int, len(outlines)), vectors: vectors}
	if before != nil {
		// The servers may have vectors where this process has none.
		if c.mean = before.mean; before.adopted || x.lost.Load() {
			before = nil // it is not on disk
		}
	}
	tally, known := x.tallyOf(outlines, before)
	for i, d := range outlines {
		if _, twice := c.byPage[d.Page]; twice {
			return nil, fmt.Errorf("two documents have the page name %q", d.Page)
		}
		c.byPage[d.Page] = i
		at, unchanged := before.find(d)
		if unchanged {
			c.pages[i] = before.pages[at]
		}
		if unchanged && known {
			continue
		}
		full, err := x.stored(d)
		if err != nil {
			return nil, err
		}
		counted := words.CountPage(full)
		if tally.Add(counted); unchanged {
			continue
		}
		if c.pages[i], err = x.analyze(full, counted); err != nil {
			return nil, err
		}
	}
	c.index(x)
	if err := c.measure(x, before); err != nil {
		return nil, err
	}
	c.table = tally.Table()
	c.statistics = embedded.NewStatistics(c.table, x.wording)
	return c, nil
}

// tallyOf returns the tally to which the pages that are not in before must be
// added, if known is true, or else all pages.
func (x *Index) tallyOf(outlines []*retrieval.Document, before *content) (tally *words.Tally, known bool) {
	if before == nil {
		return words.NewTable().Tally(), false
	}
	kept := make(map[string]bool, len(outlines))
	for _, d := range outlines {
		if _, ok := before.find(d); ok {
			kept[d.Page] = true
		}
	}
	if 2*len(kept) < len(before.outlines) {
		return words.NewTable().Tally(), false
	}
	tally = before.table.Tally()
	for _, d := range before.outlines {
		if kept[d.Page] {
			continue
		}
		full, err := x.stored(d)
		if err != nil {
			return words.NewTable().Tally(), false // the page is no longer on disk
		}
		tally.Remove(words.CountPage(full))
	}
	return tally, true
}

// find returns the number of a page that is as in an outline.
func (c *content) find(d *retrieval.Document) (at int, ok bool) {
	if c == nil {
		return 0, false
	}
	at, ok = c.byPage[d.Page]
	return at, ok && d.Hash != "" && c.outlines[at].Hash == d.Hash && c.outlines[at].Language == d.Language &&
		c.outlines[at].URL == d.URL && len(c.outlines[at].Sections) == len(d.Sections)
}

// analyze keeps on disk what the ranking reads of a page, and returns its state.
func (x *Index) analyze(d *retrieval.Document, counted *words.Counted) (pageState, error) {
	traits, terms := words.Analyze(counted)
	p := pageState{Traits: traits, IDs: make(recordIDs, len(d.Sections))}
	for j := range d.Sections {
		p.IDs[j], _ = parseID(newRecord(d, j, terms[j].Terms).ID)
	}
	return p, x.store.Put(rankedKey(d), encodeRanked(d, terms))
}

// index finds the indexes of the pages.
func (c *content) index(x *Index) {
	c.indexes, c.sections = map[string]*languageIndex{}, 0
	public := x.public.Load()
	for i, d := range c.outlines {
		c.add(i, x.uidPrefix, false)
		c.sections += len(c.pages[i].IDs)
		if public != nil && (*public)(d) {
			c.add(i, x.viewPrefix, true)
		}
	}
}

// add adds a page to the index of its language.
func (c *content) add(page int, prefix string, view bool) {
	language := baseLanguage(c.outlines[page].Language)
	ix := c.indexes[prefix+language]
	if ix == nil {
		ix = &languageIndex{uid: prefix + language, language: language, view: view}
		c.indexes[ix.uid] = ix
	}
	ix.pages = append(ix.pages, page)
	ix.sections += len(c.pages[page].IDs)
}

// measure reads vectors, keeps them for searches, and computes their mean. Those
// of a page that is in before, which may be nil, with one of each section, are
// not read again.
func (c *content) measure(x *Index, before *content) error {
	c.mark = x.vectorMark
	known := map[int]bool{} // pages of before
	var sum []float64
	count := 0
	if before != nil && before.mark == c.mark && len(before.mean) > 0 && c.vectors != nil {
		for i, d := range c.outlines {
			at, ok := before.find(d)
			if !ok || before.pages[at].vectors() < max(len(d.Sections), 1) {
				continue
			}
			if len(known) == 0 {
				if v := c.vectors(i); len(v) == 0 || len(v[0]) != len(before.mean) {
					return c.measure(x, nil) // the model's vectors have another length now
				}
			}
			known[at] = true
		}
		sum = make([]float64, len(before.mean))
		for at, d := range before.outlines {
			p := &before.pages[at]
			n := p.vectors()
			for k, m := range before.mean {
				sum[k] += float64(m) * float64(n)
			}
			if count += n; n == 0 || known[at] {
				continue
			}
			data, err := x.store.Get(vectorsKey(d, p, len(sum), c.mark))
			if err != nil {
				return c.measure(x, nil)
			}
			eachVector(data, len(sum), func(_ int, scale float32, numbers []byte) {
				for k, b := range numbers {
					sum[k] -= float64(scale * float32(int8(b)))
				}
				count--
			})
		}
	}
	for i, d := range c.outlines {
		p := &c.pages[i]
		if at, ok := before.find(d); ok && known[at] {
			p.Embedded = before.pages[at].Embedded
			continue
		}
		if p.Embedded = nil; c.vectors == nil {
			continue
		}
		var data []byte
		for j, v := range c.vectors(i) {
			if v = retrieval.Normalized(v); sum == nil && v != nil {
				sum = make([]float64, len(v))
			}
			if j >= len(p.IDs) || len(v) != len(sum) {
				v = nil
			}
			data = appendVector(data, v)
			if v == nil {
				continue
			}
			if p.Embedded == nil {
				p.Embedded = make([]bool, len(p.IDs))
			}
			p.Embedded[j] = true
			for k := range v {
				sum[k] += float64(v[k])
			}
			count++
		}
		if p.Embedded == nil {
			continue
		}
		if err := x.store.Put(vectorsKey(d, p, len(sum), c.mark), data); err != nil {
			return err
		}
	}
	if count > 0 {
		c.mean = make([]float32, len(sum))
		for k := range sum {
			c.mean[k] = float32(sum[k] / float64(count))
		}
	}
	for i, d := range c.outlines {
		if c.pages[i].Embedded != nil {
			c.indexes[x.uidPrefix+baseLanguage(d.Language)].dimensions = len(sum)
		}
	}
	return nil
}

// location is where a record comes from.
type location struct{ page, section int }

// all returns the locations of all records of an index.
func (c *content) all(ix *languageIndex) []location {
	list := make([]location, 0, ix.sections)
	for _, i := range ix.pages {
		for j := range c.pages[i].IDs {
			list = append(list, location{i, j})
		}
	}
	return list
}

// changes compares the records that an index has, with their record.Vector, with
// those that it should have. It returns the ones to send, because they are missing
// or differ by their vectors, and the IDs of those to remove.
func (c *content) changes(ix *languageIndex, held map[recordID]string, differ func(has string, wanted bool) bool) (add []location, remove []string, missing int) {
	wanted := make(map[recordID]bool, ix.sections)
	for _, at := range c.all(ix) {
		p := &c.pages[at.page]
		id := p.IDs[at.section]
		has, ok := held[id]
		if !ok {
			missing++
		}
		if !ok || differ(has, p.embedded(at.section)) {
			add = append(add, at)
		}
		wanted[id] = true
	}
	for id := range held {
		if !wanted[id] {
			remove = append(remove, formatID(id))
		}
	}
	slices.Sort(remove)
	return add, remove, missing
}

// rankedKey is where the store has what the ranking reads of a page. The page is at
// its Key.
func rankedKey(d *retrieval.Document) string { return "ranked\n" + d.Page + "\n" + d.Hash }

// vectorsKey is where the store has the vectors of a page's sections.
func vectorsKey(d *retrieval.Document, p *pageState, dimensions int, mark string) string {
	return fmt.Sprintf("vectors\n%s\n%s\n%s %d %d", d.Page, d.Hash, mark, dimensions, p.vectors())
}

// keys are where the store has a page, what the ranking reads of it, and its
// vectors.
func (c *content) keys(page int) [3]string {
	d := c.outlines[page]
	return [3]string{d.Key(), rankedKey(d), vectorsKey(d, &c.pages[page], len(c.mean), c.mark)}
}

// appendVector writes a vector of length 1, or none, as its largest number and
// a byte for each. With 384 numbers, this changes a cosine by about .0004.
func appendVector(data []byte, v []float32) []byte {
	largest := float32(0)
	for _, x := range v {
		largest = max(largest, x, -x)
	}
	data = binary.LittleEndian.AppendUint32(data, math.Float32bits(largest))
	for _, x := range v {
		data = append(data, byte(int8(math.Round(float64(x/largest)*math.MaxInt8))))
	}
	return data
}

// eachVector calls each with what appendVector wrote of a page's sections: each
// number is a byte times scale.
func eachVector(data []byte, dimensions int, each func(section int, scale float32, numbers []byte)) {
	for section := 0; len(data) >= 4; section++ {
		largest := math.Float32frombits(binary.LittleEndian.Uint32(data))
		if data = data[4:]; largest == 0 {
			continue
		}
		if len(data) < dimensions {
			return
		}
		each(section, largest/math.MaxInt8, data[:dimensions])
		data = data[dimensions:]
	}
}

// addSimilarities compares a vector of length 1 with those of the sections that
// were found by keywords alone.
func addSimilarities(data []byte, v []float32, p *embedded.FoundPage) {
	eachVector(data, len(v), func(section int, scale float32, numbers []byte) {
		for i := range p.Sections {
			if f := &p.Sections[i]; f.Section == section && f.Similarity == 0 {
				var sum float32
				for j, x := range v {
					sum += x * float32(int8(numbers[j]))
				}
				f.Similarity = float64(sum * scale)
			}
		}
	})
}

// encodeRanked writes of each section its sum, heading and counts, with their
// lengths.
func encodeRanked(d *retrieval.Document, terms []words.SectionTerms) (data []byte) {
	for i := range d.Sections {
		data = binary.LittleEndian.AppendUint64(data, d.Sections[i].Sum)
		for _, field := range []string{d.Sections[i].Heading, string(terms[i].Counts)} {
			data = append(binary.AppendUvarint(data, uint64(len(field))), field...)
		}
	}
	return data
}

// readRanked reads what encodeRanked wrote into the sections of a page that was
// found.
func readRanked(data []byte, p *embedded.FoundPage) {
	found := make(map[int]*embedded.FoundSection, len(p.Sections))
	for i := range p.Sections {
		found[p.Sections[i].Section] = &p.Sections[i]
	}
	for i := 0; i < len(p.Document.Sections) && len(data) >= 8; i++ {
		sum := binary.LittleEndian.Uint64(data)
		data = data[8:]
		var fields [2][]byte
		for j := range fields {
			n, length := binary.Uvarint(data)
			if length <= 0 || n > uint64(len(data)-length) {
				return
			}
			fields[j], data = data[length:length+int(n)], data[length+int(n):]
		}
		if f := found[i]; f != nil {
			p.Document.Sections[i].Sum, p.Document.Sections[i].Heading, f.Counts = sum, string(fields[0]), fields[1]
		}
	}
}
