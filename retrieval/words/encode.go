package words

import (
	"encoding/binary"
	"hash/fnv"
	"iter"
	"math"
	"slices"
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

// appendCount appends how often a section has a word.
func appendCount(data []byte, w SectionWord) []byte {
	n := uint64(w.Text) << countShift
	if w.InHeading {
		n |= countInHeading
	}
	if w.Heading == 0 {
		return binary.AppendUvarint(data, n)
	}
	return append(binary.AppendUvarint(data, n|countHeading), w.Heading)
}

// readCount reads what appendCount wrote. ok is false if it is damaged.
func readCount(data []byte) (w SectionWord, rest []byte, ok bool) {
	n, length := binary.Uvarint(data)
	if length <= 0 {
		return w, nil, false
	}
	w.Text, w.InHeading = uint16(n>>countShift), n&countInHeading != 0 //nolint:gosec // it was one
	data = data[length:]
	if n&countHeading == 0 {
		return w, data, true
	}
	if len(data) == 0 {
		return w, nil, false
	}
	w.Heading = data[0]
	return w, data[1:], true
}

// All are the words of a section: each is its number and its count. It ends
// where they are damaged.
func (s *Section) All() iter.Seq[SectionWord] {
	return func(yield func(SectionWord) bool) {
		for data := s.Words; len(data) > 0; {
			number, length := binary.Uvarint(data)
			if length <= 0 {
				return
			}
			w, rest, ok := readCount(data[length:])
			w.Word, data = uint32(number), rest //nolint:gosec // it was one
			if !ok || !yield(w) {
				return
			}
		}
	}
}

// StemHash is what terms are known by in tables and records. Among a million,
// the chance that an unknown word is taken for a known one is .0002.
func StemHash(stem string) uint32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(stem))
	sum := h.Sum64()
	return uint32(sum>>32) ^ uint32(sum) //nolint:gosec // of both halves
}

// Encode returns the counts of a page's sections.
func Encode(c *PageWords, lexicon *Lexicon) [][]byte {
	hashes := make([]uint32, len(lexicon.Words))
	for i := range hashes {
		hashes[i] = StemHash(lexicon.Words[i].Stem)
	}
	var head []byte
	for _, n := range []uint32{c.Title, c.Description, c.Keywords, c.Path} {
		head = binary.AppendUvarint(head, uint64(n))
	}
	shared := merged(c.Head, func(w HeadWord) uint32 { return hashes[w.Word] }, func(a *HeadWord, b HeadWord) {
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
		out[i] = append(make([]byte, 0, len(head)+8+2*len(s.Words)), head...)
		out[i] = binary.AppendUvarint(binary.AppendUvarint(out[i], uint64(s.Heading)), uint64(s.Text))
		own := merged(slices.Collect(s.All()), func(w SectionWord) uint32 { return hashes[w.Word] }, func(a *SectionWord, b SectionWord) {
			a.Text = sum16(a.Text, b.Text)
			a.Heading = uint8(min(int(a.Heading)+int(b.Heading), math.MaxUint8))
			a.InHeading = a.InHeading || b.InHeading
		})
		for _, w := range own {
			out[i] = appendCount(binary.LittleEndian.AppendUint32(out[i], hashes[w.Word]), w)
		}
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

// Counts are what is encoded of a section, with some terms only.
type Counts struct {
	Page    PageWords // without sections
	Section Section
	// Title, Slug and Heading are the hashes of all terms of the fields that a
	// query can be like.
	Title, Slug, Heading []uint32
}

// Decode reads the counts of a section. numbers has the terms that are wanted,
// and by which numbers: hash → number. ok is false if they are damaged.
func Decode(data []byte, numbers map[uint32]uint32) (c Counts, ok bool) {
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
	for _, n := range []*uint32{&c.Page.Title, &c.Page.Description, &c.Page.Keywords, &c.Page.Path} {
		*n = uint32(number())
	}
	for n := number(); n > 0 && ok; n-- {
		h := hash()
		if !ok {
			break
		}
		flags := data[0]
		data = data[1:]
		w := HeadWord{
			Title: uint16(number()), Description: uint16(number()), Keywords: uint16(number()), Path: uint16(number()),
			InTitle: flags&countInTitle != 0, InSlug: flags&countInSlug != 0,
		}
		if w.InTitle {
			c.Title = append(c.Title, h)
		}
		if w.InSlug {
			c.Slug = append(c.Slug, h)
		}
		if number, wanted := numbers[h]; wanted {
			w.Word = number
			c.Page.Head = append(c.Page.Head, w)
		}
	}
	c.Section.Heading, c.Section.Text = uint32(number()), uint32(number())
	for len(data) > 0 && ok {
		h := hash()
		var w SectionWord
		if w, data, ok = readCount(data); !ok {
			break
		}
		if w.InHeading {
			c.Heading = append(c.Heading, h)
		}
		if number, wanted := numbers[h]; wanted {
			c.Section.Words = appendCount(binary.AppendUvarint(c.Section.Words, uint64(number)), w)
		}
	}
	return c, ok
}
