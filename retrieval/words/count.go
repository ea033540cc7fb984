package words

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// maxFieldWords bounds the words counted in one section, and in the fields of
// a page, so that a page of one 10 MB line costs no more than a long chapter.
const maxFieldWords = 20_000

// minDetect is the least text, in bytes, from which a page's language is
// detected. Shorter texts are titles, commands and code.
const minDetect = 250

// Word is a word as it is written in a text of one language. Its fields, like
// those of PageWords, are what a snapshot of an index holds.
type Word struct {
	Text, Stem string
	Language   language.Language
}

// Lexicon numbers the words of an index. Numbers never change, so the counts
// of an unchanged page are used again by the next generation.
type Lexicon struct {
	Words   []Word
	numbers map[language.Language]map[string]uint32 // nil until a page is counted
}

// number returns the number of a word, which is added if it is new.
func (x *Lexicon) number(l language.Language, text string) uint32 {
	if x.numbers == nil {
		x.numbers = map[language.Language]map[string]uint32{}
		for n, w := range x.Words {
			x.set(w, uint32(n))
		}
	}
	if n, ok := x.numbers[l][text]; ok {
		return n
	}
	text = strings.Clone(text) // it must not keep its page's text in memory
	w, n := Word{Text: text, Stem: l.Stem(text), Language: l}, uint32(len(x.Words))
	x.Words = append(x.Words, w)
	x.set(w, n)
	return n
}

func (x *Lexicon) set(w Word, n uint32) {
	if x.numbers[w.Language] == nil {
		x.numbers[w.Language] = map[string]uint32{}
	}
	x.numbers[w.Language][w.Text] = n
}

// PageWords has the words of a document with how often they occur in which fields.
type PageWords struct {
	Hash     string // of the document
	Language language.Language
	// Head are the words of the fields that all sections share.
	Head     []HeadWord
	Sections []Section
	// Lengths of the fields, in plain words. Path is that of the page's path
	// and its breadcrumbs.
	Title, Description, Keywords, Path uint32
}

// HeadWord counts a word in the fields of a page.
type HeadWord struct {
	Word                               uint32
	Title, Description, Keywords, Path uint16
	// InTitle and InSlug are set if it is a plain word of the title, or of
	// the last segment of the path.
	InTitle, InSlug bool
}

// Section has the words of a section, see All. Headings are the section's own
// and those above it.
type Section struct {
	Words         []byte
	Heading, Text uint32 // lengths, in plain words
}

// SectionWord counts a word in a section.
type SectionWord struct {
	Word      uint32
	Text      uint16
	Heading   uint8 // at most 255
	InHeading bool  // as a plain word
}

// Lengths returns the plain words of all headings and of all texts.
func (c *PageWords) Lengths() (heading, text uint32) {
	for i := range c.Sections {
		heading += c.Sections[i].Heading
		text += c.Sections[i].Text
	}
	return heading, text
}

// Places adds to each word the number of sections, and of pages whose shared
// fields, that hold it.
func (c *PageWords) Places(of []uint32) {
	for i := range c.Head {
		of[c.Head[i].Word]++
	}
	for i := range c.Sections {
		for w := range c.Sections[i].All() {
			of[w.Word]++
		}
	}
}

// Check reports what would make the words useless for a document and a lexicon
// of so many words.
func (c *PageWords) Check(d *retrieval.Document, lexicon int) error {
	if len(c.Sections) != len(d.Sections) {
		return errors.New("words don't match sections")
	}
	for _, w := range c.Head {
		if int(w.Word) >= lexicon {
			return fmt.Errorf("no word %d", w.Word)
		}
	}
	for i := range c.Sections {
		for w := range c.Sections[i].All() {
			if int(w.Word) >= lexicon {
				return fmt.Errorf("no word %d", w.Word)
			}
		}
	}
	return nil
}

// Count counts the words of a document.
func Count(d *retrieval.Document, lexicon *Lexicon) *PageWords {
	out := &PageWords{Hash: d.Hash, Language: languageOf(d), Sections: make([]Section, len(d.Sections))}
	out.countHead(d, lexicon)
	var counted []SectionWord
	index := map[string]int{}
	for i := range d.Sections {
		in, s := &d.Sections[i], &out.Sections[i]
		counted = counted[:0]
		clear(index)
		n := 0
		count := func(w string) *SectionWord {
			at, ok := index[w]
			if !ok {
				at = len(counted)
				index[w] = at
				counted = append(counted, SectionWord{Word: lexicon.number(out.Language, w)})
			}
			return &counted[at]
		}
		heading := func(w string, plain bool) {
			if n++; n > maxFieldWords {
				return
			}
			c := count(w)
			c.Heading = min(c.Heading, math.MaxUint8-1) + 1
			if plain {
				c.InHeading = true
				s.Heading++
			}
		}
		for _, h := range in.Path {
			Split(Unnumbered(h), heading)
		}
		Split(Unnumbered(in.Heading), heading)
		Split(in.Text, func(w string, plain bool) {
			if n++; n > maxFieldWords {
				return
			}
			count(w).Text++
			if plain {
				s.Text++
			}
		})
		s.Words = make([]byte, 0, 4*len(counted))
		for _, w := range counted {
			s.Words = appendCount(binary.AppendUvarint(s.Words, uint64(w.Word)), w)
		}
		s.Words = bytes.Clone(s.Words)
	}
	return out
}

// sectionNumber matches the number of a chapter or section before its heading.
var sectionNumber = regexp.MustCompile(`^(?:(?:\pL+[\s\pZ]+)?(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*\.|\(\d{1,4}\))[\s\pZ]+`)

// Unnumbered returns a heading without its number. Nobody searches for it, and
// it is the rarest of the heading's words.
func Unnumbered(heading string) string {
	if rest := heading[len(sectionNumber.FindString(heading)):]; rest != "" {
		return rest
	}
	return heading
}

// countHead counts the words of the fields that all sections share.
func (c *PageWords) countHead(d *retrieval.Document, lexicon *Lexicon) {
	index := map[string]int{}
	n := 0
	field := func(text string, length *uint32, count func(*HeadWord, bool)) {
		Split(text, func(w string, plain bool) {
			if n++; n > maxFieldWords {
				return
			}
			at, ok := index[w]
			if !ok {
				at = len(c.Head)
				index[w] = at
				c.Head = append(c.Head, HeadWord{Word: lexicon.number(c.Language, w)})
			}
			count(&c.Head[at], plain)
			if plain {
				*length++
			}
		})
	}
	field(Unnumbered(d.Title), &c.Title, func(w *HeadWord, plain bool) {
		w.Title++
		w.InTitle = w.InTitle || plain
	})
	field(d.Description, &c.Description, func(w *HeadWord, _ bool) { w.Description++ })
	for _, list := range [][]string{d.Keywords, d.Tags} {
		for _, text := range list {
			field(text, &c.Keywords, func(w *HeadWord, _ bool) { w.Keywords++ })
		}
	}
	for _, text := range d.Breadcrumbs {
		field(text, &c.Path, func(w *HeadWord, _ bool) { w.Path++ })
	}
	dir, slug := "", d.Page
	if i := strings.LastIndexByte(d.Page, '/'); i >= 0 {
		dir, slug = d.Page[:i], d.Page[i+1:]
	}
	for segment := range strings.SplitSeq(dir, "/") {
		field(segment, &c.Path, func(w *HeadWord, _ bool) { w.Path++ })
	}
	field(slug, &c.Path, func(w *HeadWord, plain bool) {
		w.Path++
		w.InSlug = w.InSlug || plain
	})
}

// languageOf returns the language whose rules a document's words follow.
func languageOf(d *retrieval.Document) language.Language {
	if d.Language != "" {
		return language.Of(d.Language)
	}
	var b strings.Builder
	for i := range d.Sections {
		if b.Len() > 3000 {
			break
		}
		b.WriteString(d.Sections[i].Text)
		b.WriteByte('\n')
	}
	if b.Len() < minDetect {
		return language.English
	}
	return language.Detect(b.String(), language.English)
}
