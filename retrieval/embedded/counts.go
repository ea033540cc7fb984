package embedded

import (
	"encoding/binary"
	"math"
)

// The counts of a section are what the ranking reads of its words, and of those
// of the fields that all sections of its page share: the lengths of the fields
// as varints, the number of shared terms, these, and the section's own. A term
// is the hash of its stem and how often each field has it.

// Bits of a shared term.
const (
	countInTitle = 1 << iota
	countInSlug
)

// Bits of a section's own term, below how often the text has it.
const (
	countHeading   = 1 << iota // the headings have it, as often as the next byte says
	countInHeading             // as a plain word
	countShift     = 2
)

// countTerms returns the counts of a page's sections.
func countTerms(c *pageWords, lexicon []word) [][]byte {
	hashes := make([]uint32, len(lexicon))
	for i := range hashes {
		hashes[i] = stemHash(lexicon[i].Stem)
	}
	var head []byte
	for _, n := range []uint32{c.Title, c.Description, c.Keywords, c.Path} {
		head = binary.AppendUvarint(head, uint64(n))
	}
	shared := merged(c.Head, func(w headWord) uint32 { return hashes[w.Word] }, func(a *headWord, b headWord) {
		a.Title, a.Description, a.Keywords, a.Path = sum16(a.Title, b.Title), sum16(a.Description, b.Description), sum16(a.Keywords, b.Keywords), sum16(a.Path, b.Path)
		a.InTitle, a.InSlug = a.InTitle || b.InTitle, a.InSlug || b.InSlug
	})
	head = binary.AppendUvarint(head, uint64(len(shared)))
	for _, w := range shared {
		flags := byte(0)
		if w.InTitle {
			flags |= countInTitle
		}
		if w.InSlug {
			flags |= countInSlug
		}
		head = append(binary.LittleEndian.AppendUint32(head, hashes[w.Word]), flags)
		for _, n := range []uint16{w.Title, w.Description, w.Keywords, w.Path} {
			head = binary.AppendUvarint(head, uint64(n))
		}
	}
	out := make([][]byte, len(c.Sections))
	for i := range c.Sections {
		s := &c.Sections[i]
		data := append(make([]byte, 0, len(head)+8+7*len(s.Words)), head...)
		data = binary.AppendUvarint(data, uint64(s.Heading))
		data = binary.AppendUvarint(data, uint64(s.Text))
		own := merged(s.Words, func(w sectionWord) uint32 { return hashes[w.Word] }, func(a *sectionWord, b sectionWord) {
			a.Text = sum16(a.Text, b.Text)
			a.Heading = uint8(min(int(a.Heading)+int(b.Heading), math.MaxUint8))
			a.InHeading = a.InHeading || b.InHeading
		})
		for _, w := range own {
			data = binary.LittleEndian.AppendUint32(data, hashes[w.Word])
			n := uint64(w.Text) << countShift
			if w.Heading > 0 {
				n |= countHeading
			}
			if w.InHeading {
				n |= countInHeading
			}
			data = binary.AppendUvarint(data, n)
			if w.Heading > 0 {
				data = append(data, w.Heading)
			}
		}
		out[i] = data
	}
	return out
}

func sum16(a, b uint16) uint16 { return uint16(min(int(a)+int(b), math.MaxUint16)) }

// merged returns words with those of one stem added up, in the same order.
func merged[W any](words []W, hash func(W) uint32, add func(*W, W)) []W {
	out := make([]W, 0, len(words))
	at := make(map[uint32]int, len(words))
	for _, w := range words {
		h := hash(w)
		if i, ok := at[h]; ok {
			add(&out[i], w)
			continue
		}
		at[h] = len(out)
		out = append(out, w)
	}
	return out
}

// counted is what counts say of a section, with the terms of a query only.
type counted struct {
	page    pageWords // without sections
	section sectionWords
	// names are the terms of the fields that a query can be like.
	title, slug, heading []uint32
}

// countReader reads counts.
type countReader struct {
	numbers map[uint32]uint32 // hash of a term of the query → its number
	low     [256]bool         // the last bytes of these hashes
}

func newCountReader(numbers map[uint32]uint32) *countReader {
	r := &countReader{numbers: numbers}
	for h := range numbers {
		r.low[byte(h)] = true
	}
	return r
}

// read reads the counts of a section. ok is false if they are damaged.
func (r *countReader) read(data []byte) (c counted, ok bool) {
	ok = true
	number := func() uint64 {
		n, length := binary.Uvarint(data)
		if length <= 0 || n > math.MaxUint32 {
			ok, data = false, nil
			return 0
		}
		data = data[length:]
		return n
	}
	hash := func() uint32 {
		if len(data) < 5 { // a number follows
			ok, data = false, nil
			return 0
		}
		h := binary.LittleEndian.Uint32(data)
		data = data[4:]
		return h
	}
	for _, n := range []*uint32{&c.page.Title, &c.page.Description, &c.page.Keywords, &c.page.Path} {
		*n = uint32(number())
	}
	for n := number(); n > 0 && ok; n-- {
		h := hash()
		if !ok {
			break
		}
		flags := data[0]
		data = data[1:]
		w := headWord{
			Title: uint16(number()), Description: uint16(number()), Keywords: uint16(number()), Path: uint16(number()),
			InTitle: flags&countInTitle != 0, InSlug: flags&countInSlug != 0,
		}
		if w.InTitle {
			c.title = append(c.title, h)
		}
		if w.InSlug {
			c.slug = append(c.slug, h)
		}
		if r.low[byte(h)] {
			if number, known := r.numbers[h]; known {
				w.Word = number
				c.page.Head = append(c.page.Head, w)
			}
		}
	}
	c.section.Heading, c.section.Text = uint32(number()), uint32(number())
	for len(data) > 0 {
		h := hash()
		n := number()
		w := sectionWord{Text: uint16(n >> countShift), InHeading: n&countInHeading != 0}
		if n&countHeading != 0 {
			if len(data) == 0 {
				return c, false
			}
			w.Heading = data[0]
			data = data[1:]
		}
		if !ok {
			return c, false
		}
		if w.InHeading {
			c.heading = append(c.heading, h)
		}
		if r.low[byte(h)] {
			if number, known := r.numbers[h]; known {
				w.Word = number
				c.section.Words = append(c.section.Words, w)
			}
		}
	}
	return c, ok
}
