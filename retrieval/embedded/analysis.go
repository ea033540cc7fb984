package embedded

import (
	"math"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// maxSectionWords bounds the words taken from one section, so that a page
// of one 10 MB line costs no more than a long chapter.
const maxSectionWords = 20_000

// pageWords is what the index keeps of a document beside the document: which
// words stand where, how often. It is reused while the document's hash
// stays the same.
type pageWords struct {
	hash string
	lang uint8
	// head are the words of the page as a whole, which all its sections
	// share.
	head []headWord
	// titleLen, descLen … count plain words.
	titleLen, descLen, keyLen, pathLen uint32
	sections                           []sectionWords
	words                              []sectionWord
}

type headWord struct {
	word                   uint32
	title, desc, key, path uint8
	// plain is set where the word is a plain one of the title.
	plain, slug bool
}

type sectionWords struct {
	// end is where the section's words end in pageWords.words.
	end              uint32
	headLen, textLen uint32
}

type sectionWord struct {
	word    uint32
	text    uint16
	heading uint8
	// plain is set where the word is a plain one of the headings.
	plain bool
}

// analyzer counts the words of documents; it is used by one goroutine.
type analyzer struct {
	lex  *lexicon
	at   []int32 // word → its place among those collected, +1
	head []headWord
	sect []sectionWord
}

func (a *analyzer) place(word uint32) int {
	for int(word) >= len(a.at) {
		a.at = append(a.at, make([]int32, len(a.lex.words)-len(a.at)+1024)...)
	}
	return int(a.at[word]) - 1
}

// analyze counts the words of a document in language l.
func (a *analyzer) analyze(d *retrieval.Document, l *language) *pageWords {
	out := &pageWords{hash: d.Hash, lang: l.id}
	a.head = a.head[:0]
	field := func(text string, count func(*headWord, kind), length *uint32) {
		splitWords(text, func(w string, k kind) {
			if len(a.head) >= maxSectionWords {
				return
			}
			id := a.lex.number(l, w)
			i := a.place(id)
			if i < 0 {
				i = len(a.head)
				a.head = append(a.head, headWord{word: id})
				a.at[id] = int32(i + 1)
			}
			count(&a.head[i], k)
			if k == plain {
				*length++
			}
		})
	}
	field(d.Title, func(h *headWord, k kind) { bump8(&h.title); h.plain = h.plain || k == plain }, &out.titleLen)
	field(d.Description, func(h *headWord, _ kind) { bump8(&h.desc) }, &out.descLen)
	for _, k := range d.Keywords {
		field(k, func(h *headWord, _ kind) { bump8(&h.key) }, &out.keyLen)
	}
	for _, k := range d.Tags {
		field(k, func(h *headWord, _ kind) { bump8(&h.key) }, &out.keyLen)
	}
	for _, k := range d.Breadcrumbs {
		field(k, func(h *headWord, _ kind) { bump8(&h.path) }, &out.pathLen)
	}
	segments := strings.Split(d.Page, "/")
	for i, s := range segments {
		last := i == len(segments)-1
		field(s, func(h *headWord, k kind) { bump8(&h.path); h.slug = h.slug || last && k == plain }, &out.pathLen)
	}
	for _, h := range a.head {
		a.at[h.word] = 0
	}
	out.head = append([]headWord(nil), a.head...)

	out.sections = make([]sectionWords, len(d.Sections))
	var all []sectionWord
	for i := range d.Sections {
		s := &d.Sections[i]
		spans := &out.sections[i]
		a.sect = a.sect[:0]
		n := 0
		add := func(w string, k kind, heading bool) {
			if n++; n > maxSectionWords {
				return
			}
			id := a.lex.number(l, w)
			i := a.place(id)
			if i < 0 {
				i = len(a.sect)
				a.sect = append(a.sect, sectionWord{word: id})
				a.at[id] = int32(i + 1)
			}
			c := &a.sect[i]
			if heading {
				bump8(&c.heading)
				c.plain = c.plain || k == plain
				if k == plain {
					spans.headLen++
				}
				return
			}
			if c.text < math.MaxUint16 {
				c.text++
			}
			if k == plain {
				spans.textLen++
			}
		}
		heading := func(w string, k kind) { add(w, k, true) }
		for _, h := range s.Path {
			splitWords(h, heading)
		}
		splitWords(s.Heading, heading)
		splitWords(s.Text, func(w string, k kind) { add(w, k, false) })
		for _, c := range a.sect {
			a.at[c.word] = 0
		}
		all = append(all, a.sect...)
		spans.end = uint32(len(all))
	}
	out.words = append(make([]sectionWord, 0, len(all)), all...)
	return out
}

func bump8(n *uint8) {
	if *n < math.MaxUint8 {
		*n++
	}
}

// languageFor returns the language whose rules a document's words follow.
func languageFor(d *retrieval.Document) *language {
	if d.Language != "" {
		return languageOf(d.Language)
	}
	var b strings.Builder
	for i := range d.Sections {
		if b.Len() > 8000 {
			break
		}
		b.WriteString(d.Sections[i].Text)
		b.WriteByte('\n')
	}
	return detect(b.String())
}
