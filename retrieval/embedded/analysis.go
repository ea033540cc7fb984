package embedded

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// maxSectionWords bounds the words taken from one section, so that a page
// of one 10 MB line costs no more than a long chapter.
const maxSectionWords = 20_000

// pageWords is what the index keeps of a document beside the document: which
// words stand where, how often. It is reused while the document's hash
// stays the same.
type pageWords struct {
	hash string
	lang language.Language
	// head are the words of the page as a whole, which all its sections
	// share.
	head []headWord
	// titleLen, descLen … count plain words.
	titleLen, descLen, keyLen, pathLen uint32
	sections                           []sectionWords
	words                              []sectionWord
}

// lengths are the plain words of all headings and of all texts.
func (c *pageWords) lengths() (head, text uint32) {
	for _, s := range c.sections {
		head += s.headLen
		text += s.textLen
	}
	return head, text
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
func (a *analyzer) analyze(d *retrieval.Document, l language.Language) *pageWords {
	out := &pageWords{hash: d.Hash, lang: l}
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

// minDetect is the least text, in bytes, that a page's language is read from:
// shorter ones are titles, commands and code.
const minDetect = 250

// languageFor returns the language whose rules a document's words follow.
func languageFor(d *retrieval.Document) language.Language {
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
	return language.Detect(b.String(), "")
}

// analyzeAll counts the words of documents, those of unchanged documents
// taken over from the generation before.
func analyzeAll(ctx context.Context, docs []*retrieval.Document, old *generation) (*lexicon, []*pageWords, error) {
	counts := make([]*pageWords, len(docs))
	var fresh []int
	for i, d := range docs {
		if c := old.unchanged(d); c != nil {
			counts[i] = c
		} else {
			fresh = append(fresh, i)
		}
	}
	lex := newLexicon()
	switch {
	case old == nil:
	case len(fresh) == 0:
		lex = old.lex
	default:
		lex = old.lex.clone()
	}
	a := &analyzer{lex: lex}
	for n, i := range fresh {
		if n%64 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
		}
		counts[i] = a.analyze(docs[i], languageFor(docs[i]))
	}
	return compact(lex, counts)
}

// unchanged returns the words of a document that the generation has, too.
func (g *generation) unchanged(d *retrieval.Document) *pageWords {
	if g == nil || d.Hash == "" {
		return nil
	}
	i, ok := g.byPage[d.Page]
	if !ok {
		return nil
	}
	c, was := g.counts[i], g.docs[i]
	if c.hash != d.Hash || was.Language != d.Language || len(c.sections) != len(d.Sections) {
		return nil
	}
	return c
}

// compact renumbers the words where most of them are no longer in use.
func compact(lex *lexicon, counts []*pageWords) (*lexicon, []*pageWords, error) {
	used := make([]bool, len(lex.words))
	n := 0
	use := func(word uint32) {
		if !used[word] {
			used[word] = true
			n++
		}
	}
	for _, c := range counts {
		for i := range c.head {
			use(c.head[i].word)
		}
		for i := range c.words {
			use(c.words[i].word)
		}
	}
	if len(lex.words) < 2*n+10_000 {
		return lex, counts, nil
	}
	small := newLexicon()
	number := make([]uint32, len(lex.words))
	for i, w := range lex.words {
		if used[i] {
			number[i] = small.add(w.lang, w.text, lex.terms[w.term])
		}
	}
	for i, c := range counts {
		moved := *c
		moved.head = slices.Clone(c.head)
		for j := range moved.head {
			moved.head[j].word = number[moved.head[j].word]
		}
		moved.words = slices.Clone(c.words)
		for j := range moved.words {
			moved.words[j].word = number[moved.words[j].word]
		}
		counts[i] = &moved
	}
	return small, counts, nil
}
