package embedded

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// maxFieldWords bounds the words counted in one section, and in the fields of
// a page, so that a page of one 10 MB line costs no more than a long chapter.
const maxFieldWords = 20_000

// minDetect is the least text, in bytes, from which a page's language is
// detected. Shorter texts are titles, commands and code.
const minDetect = 250

// lexicon numbers the words of an index. Numbers never change, so the counts
// of an unchanged page are used again by the next generation.
type lexicon struct {
	words   []word
	numbers map[language.Language]map[string]uint32
}

// word is a word as it is written in a text of one language. Its exported
// fields, like those of pageWords, are what a snapshot holds.
type word struct {
	Text, Stem string
	Language   language.Language
}

func newLexicon(words []word) *lexicon {
	x := &lexicon{numbers: map[language.Language]map[string]uint32{}}
	for _, w := range words {
		x.add(w)
	}
	return x
}

// add appends a word, and returns its number.
func (x *lexicon) add(w word) uint32 {
	n := uint32(len(x.words))
	x.words = append(x.words, w)
	if x.numbers[w.Language] == nil {
		x.numbers[w.Language] = map[string]uint32{}
	}
	x.numbers[w.Language][w.Text] = n
	return n
}

// number returns the number of a word, which is added if it is new.
func (x *lexicon) number(l language.Language, text string) uint32 {
	if n, ok := x.numbers[l][text]; ok {
		return n
	}
	text = strings.Clone(text) // it must not keep its page's text in memory
	return x.add(word{Text: text, Stem: l.Stem(text), Language: l})
}

// pageWords are the words of a document with how often they occur in which
// fields.
type pageWords struct {
	Hash     string // of the document
	Language language.Language
	// Head are the words of the fields that all sections share.
	Head     []headWord
	Sections []sectionWords
	// Lengths of the fields, in plain words. Path is that of the page's path
	// and its breadcrumbs.
	Title, Description, Keywords, Path uint32
}

// headWord counts a word in the fields of a page.
type headWord struct {
	Word                               uint32
	Title, Description, Keywords, Path uint16
	// InTitle and InSlug are set if it is a plain word of the title, or of
	// the last segment of the path.
	InTitle, InSlug bool
}

type sectionWords struct {
	Words         []sectionWord
	Heading, Text uint32 // lengths, in plain words
}

// sectionWord counts a word in a section. Headings are the section's own and
// those above it.
type sectionWord struct {
	Word      uint32
	Text      uint16
	Heading   uint8 // at most 255
	InHeading bool  // as a plain word
}

// lengths returns the plain words of all headings and of all texts.
func (c *pageWords) lengths() (heading, text uint32) {
	for i := range c.Sections {
		heading += c.Sections[i].Heading
		text += c.Sections[i].Text
	}
	return heading, text
}

// numbering gives each word a number.
type numbering func(l language.Language, text string) uint32

// analyze counts the words of a document in a language.
func analyze(d *retrieval.Document, l language.Language, number numbering) *pageWords {
	out := &pageWords{Hash: d.Hash, Language: l, Sections: make([]sectionWords, len(d.Sections))}
	out.analyzeHead(d, number)
	var counted []sectionWord
	index := map[string]int{}
	for i := range d.Sections {
		in, s := &d.Sections[i], &out.Sections[i]
		counted = counted[:0]
		clear(index)
		n := 0
		count := func(w string) *sectionWord {
			at, ok := index[w]
			if !ok {
				at = len(counted)
				index[w] = at
				counted = append(counted, sectionWord{Word: number(l, w)})
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
			words.Split(h, heading)
		}
		words.Split(in.Heading, heading)
		words.Split(in.Text, func(w string, plain bool) {
			if n++; n > maxFieldWords {
				return
			}
			count(w).Text++
			if plain {
				s.Text++
			}
		})
		s.Words = slices.Clone(counted)
	}
	return out
}

// analyzeHead counts the words of the fields that all sections share.
func (c *pageWords) analyzeHead(d *retrieval.Document, number numbering) {
	index := map[string]int{}
	n := 0
	field := func(text string, length *uint32, count func(*headWord, bool)) {
		words.Split(text, func(w string, plain bool) {
			if n++; n > maxFieldWords {
				return
			}
			at, ok := index[w]
			if !ok {
				at = len(c.Head)
				index[w] = at
				c.Head = append(c.Head, headWord{Word: number(c.Language, w)})
			}
			count(&c.Head[at], plain)
			if plain {
				*length++
			}
		})
	}
	field(d.Title, &c.Title, func(w *headWord, plain bool) {
		w.Title++
		w.InTitle = w.InTitle || plain
	})
	field(d.Description, &c.Description, func(w *headWord, _ bool) { w.Description++ })
	for _, list := range [][]string{d.Keywords, d.Tags} {
		for _, text := range list {
			field(text, &c.Keywords, func(w *headWord, _ bool) { w.Keywords++ })
		}
	}
	for _, text := range d.Breadcrumbs {
		field(text, &c.Path, func(w *headWord, _ bool) { w.Path++ })
	}
	dir, slug := "", d.Page
	if i := strings.LastIndexByte(d.Page, '/'); i >= 0 {
		dir, slug = d.Page[:i], d.Page[i+1:]
	}
	for segment := range strings.SplitSeq(dir, "/") {
		field(segment, &c.Path, func(w *headWord, _ bool) { w.Path++ })
	}
	field(slug, &c.Path, func(w *headWord, plain bool) {
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

// analyzeAll counts the words of documents. Those that the old generation has
// already are not counted again.
func analyzeAll(ctx context.Context, docs []*retrieval.Document, old *generation, lex *lexicon) ([]*pageWords, error) {
	out := make([]*pageWords, len(docs))
	for i, d := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if out[i] = old.wordsOf(d); out[i] == nil {
			out[i] = analyze(d, languageOf(d), lex.number)
		}
	}
	return out, nil
}

// wordsOf returns the words of a document that has not changed since the
// generation, else nil.
func (g *generation) wordsOf(d *retrieval.Document) *pageWords {
	if g == nil || d.Hash == "" {
		return nil
	}
	i, ok := g.byPage[d.Page]
	if !ok || g.words[i].Hash != d.Hash || g.docs[i].Language != d.Language || len(g.docs[i].Sections) != len(d.Sections) {
		return nil
	}
	return g.words[i]
}
