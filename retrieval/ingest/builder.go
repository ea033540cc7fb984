package ingest

import (
	"bytes"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// splitAt is the length in bytes after which a section continues in another
// with the same heading and anchor, at the next block: rankings and prompts
// want passages of moderate length.
const splitAt = 6 << 10

// blockKind is the kind of a block of text. Consecutive blocks of one kind,
// except paragraphs, are joined by one line break instead of an empty line.
type blockKind int

const (
	paragraph blockKind = iota
	item
	row
	term
)

// builder collects a page's text in sections.
type builder struct {
	sections []retrieval.Section
	current  retrieval.Section
	text     strings.Builder // of current, with marks
	marked   int             // bytes of marks in text
	last     blockKind       // of the previous block
	path     [5]string       // the current heading of each level
	seen     bool            // current continues a section

	line   []byte // the block being collected, with marks
	space  bool   // white space is due before the next word
	kind   blockKind
	marker string // "- " before the item's first block
	indent int    // of the blocks within lists

	usual []string // headings of sections that are left out if they are empty
	links []retrieval.Link
	in    *Ingester
	base  *url.URL // of the page
}

// words adds running text. White space collapses; invisible break hints go.
func (b *builder) words(s string) {
	for _, r := range s {
		switch {
		case r == '\u200b' || r == '\u00ad' || r == '\ufeff' || r == '\u2060' || isMark(r):
		case unicode.IsSpace(r):
			b.space = true
		default:
			b.writeSpace()
			b.line = utf8.AppendRune(b.line, r)
		}
	}
}

// newline is a hard line break within a block.
func (b *builder) newline() {
	if len(b.line) > 0 && b.line[len(b.line)-1] != '\n' {
		b.line = append(b.line, '\n')
	}
	b.space = false
}

// pageNote matches blocks about the page that generators and themes add.
var pageNote = regexp.MustCompile(`(?i)^(?:` +
	`(?:this |the )?(?:page |was |is )*last (?:updated|modified|edited|changed|reviewed|built)\b.{0,40}\d.{0,60}|` +
	`(?:edit|improve|view source of) this page(?: on \w+)?|version: ?v?\d[\w.-]*)$`)

// flush ends the block being collected.
func (b *builder) flush() {
	line := images(strings.TrimRight(string(b.line), " \n"))
	b.line, b.space = b.line[:0], false
	plain, _ := unmarked(line)
	if plain == "" || len(plain) < 120 && pageNote.MatchString(plain) {
		return
	}
	b.block(line, b.kind)
}

// endRow ends a table row; rows without a word are left out.
func (b *builder) endRow() {
	if len(bytes.Trim(b.line, " |\n"+allMarks)) == 0 {
		b.line, b.space = b.line[:0], false
		return
	}
	b.line = bytes.ReplaceAll(b.line, []byte("\n"), []byte(" "))
	b.kind = row
	b.flush()
	b.kind = paragraph
}

// block writes a finished block at the current indentation.
func (b *builder) block(s string, kind blockKind) {
	indent, marker := b.indent, b.marker
	if marker != "" {
		kind, indent = item, indent-len(marker)
		b.marker = ""
	}
	if strings.Contains(s, "\n") && indent+len(marker) > 0 {
		s = strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", indent+len(marker)))
	}
	b.separate(kind)
	b.text.WriteString(strings.Repeat(" ", indent) + marker + s)
	b.marked += countMarks(s)
	b.last = kind
}

func (b *builder) separate(kind blockKind) {
	n := b.text.Len() - b.marked
	if n > splitAt && !(kind == b.last && kind != paragraph && n < splitAt*4/3) {
		b.finish()
	}
	if b.text.Len() == 0 {
		return
	}
	b.text.WriteByte('\n')
	if b.last != term && (kind == paragraph || kind != b.last) {
		b.text.WriteByte('\n')
	}
}

// fence writes a code block with its white space.
func (b *builder) fence(language, code string) {
	b.flush()
	code = strings.TrimLeft(strings.TrimRight(code, " \t\n"), "\n")
	if strings.TrimSpace(code) == "" {
		return
	}
	b.marker = ""
	fence := fenceFor(code)
	b.separate(paragraph)
	b.text.WriteString(fence + language + "\n" + code + "\n" + fence)
	b.last = paragraph
}

// heading starts a section.
func (b *builder) heading(level int, text, anchor string) {
	b.flush()
	b.finish()
	text = clean(text)
	if text == "" {
		return
	}
	for i := level; i < len(b.path); i++ {
		b.path[i] = ""
	}
	var above []string
	for _, h := range b.path[1:level] {
		if h != "" {
			above = append(above, h)
		}
	}
	b.path[level] = text
	b.current = retrieval.Section{Anchor: anchorOf(anchor), Heading: text, Path: above, Level: level}
	b.seen = false
}

// anchorOf drops ids that no link can name.
func anchorOf(id string) string {
	if id == "" || len(id) > 500 || strings.IndexFunc(id, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) >= 0 {
		return ""
	}
	return id
}

// finish closes the current section; what follows continues it.
func (b *builder) finish() {
	text, marks := unmarked(b.text.String())
	b.text.Reset()
	b.marked = 0
	b.last = paragraph
	if text == "" && (b.seen || b.current.Heading == "") {
		return
	}
	s := b.current
	s.Text, s.Marks = text, marks
	b.sections = append(b.sections, s)
	b.seen = true
}

// resume continues the section that was current when its value was taken.
func (b *builder) resume(s retrieval.Section, path [5]string) {
	b.flush()
	b.finish()
	b.current, b.path, b.seen = s, path, true
}

// end returns the sections. A heading above nothing but deeper headings is no
// section: it is in their Path. One above nothing at all is, so that its words
// are found.
func (b *builder) end(title string) []retrieval.Section {
	b.flush()
	b.finish()
	out := b.sections[:0]
	h1 := 0
	for _, s := range b.sections {
		if s.Level == 1 {
			h1++
		}
	}
	for i, s := range b.sections {
		if len(s.Path) > 0 && (s.Path[0] == title || h1 == 1 && s.Path[0] == b.firstH1()) {
			s.Path = s.Path[1:]
		}
		if len(s.Path) == 0 {
			s.Path = nil
		}
		if s.Text == "" {
			if len(b.sections) > 1 && slices.Contains(b.usual, s.Heading) {
				continue
			}
			if i+1 < len(b.sections) && (s.Level == 1 || b.sections[i+1].Level > s.Level) {
				continue
			}
			s.Text = s.Heading
		}
		out = append(out, s)
	}
	return out
}

func (b *builder) firstH1() string {
	for _, s := range b.sections {
		if s.Level == 1 {
			return s.Heading
		}
	}
	return ""
}

// firstHeading is the title of a page that names none: its first h1, or its
// first heading if that opens the page.
func (b *builder) firstHeading() string {
	if h := b.firstH1(); h != "" || len(b.sections) == 0 {
		return h
	}
	return b.sections[0].Heading
}

// maxLinks bounds the links kept of one page. Index pages of large references
// have thousands.
const maxLinks = 500

func (b *builder) link(href, text string) {
	text, _ = unmarked(text)
	text = clean(text)
	if text == "" || len(text) > 200 || b.base == nil || len(b.links) == maxLinks {
		return
	}
	if page, anchor, ok := b.in.link(b.base, href); ok {
		b.links = append(b.links, retrieval.Link{Page: page, Anchor: anchor, Text: text})
	}
}
