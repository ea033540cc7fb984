package ingest

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// A page is written once, as Markdown, with bytes within that no UTF-8 has. They
// say what only Markdown has and what only plain text has, what is code or an
// image, and where sections begin. Sections are cut from it.
const (
	escape      byte = 0xf5 + iota // a backslash of Markdown
	quoteMark                      // "> " of Markdown
	syntax                         // begins what only Markdown has
	plainOnly                      // begins what only plain text has
	markEnd                        // ends either
	codeBegins                     // around inline code
	codeEnds                       //
	imageBegins                    // around the alternative text of an image
	imageEnds                      //
	sectionMark                    // a section begins or continues: its number, markEnd
	linkMark                       // a link begins: its number, markEnd; or ends: markEnd
)

// asSyntax marks what only Markdown has.
func asSyntax(s string) string { return "\xf7" + s + "\xf9" }

// asPlain marks what only plain text has.
func asPlain(s string) string { return "\xf8" + s + "\xf9" }

// between writes text between two pieces of Markdown.
func between(open, text, end string) string { return asSyntax(open) + text + asSyntax(end) }

func startOf(section int) string { return "\xfe" + strconv.Itoa(section) + "\xf9" }

// numberAt reads the number behind a sectionMark or linkMark, -1 for none, and
// returns the index of its end.
func numberAt(s string, i int) (number, end int) {
	end = i + strings.IndexByte(s[i:], markEnd)
	number, err := strconv.Atoi(s[i+1 : end])
	if err != nil {
		number = -1
	}
	return number, end
}

// markdownOf returns what is written as Markdown, without the headings of the
// sections in without.
func markdownOf(s string, without map[int]bool) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < escape:
			if c == '\n' && i > 0 && s[i-1] == quoteMark {
				out = out[:len(out)-1] // no blank at the end of a line
			}
			out = append(out, c)
		case c == escape:
			out = append(out, '\\')
		case c == quoteMark:
			out = append(out, "> "...)
		case c == plainOnly || c == linkMark:
			i = closing(s, i)
		case c == sectionMark:
			var n int
			if n, i = numberAt(s, i); without[n] && i+1 < len(s) && s[i+1] == syntax {
				i = closing(s, i+1)
				out = bytes.TrimRight(out, "\n")
				out = append(out, "\n\n"[:min(2, len(out))]...)
				for i+1 < len(s) && s[i+1] == '\n' {
					i++
				}
			}
		}
	}
	return out
}

// closing is the index of the markEnd of the mark at i.
func closing(s string, i int) int {
	for depth := 0; i < len(s); i++ {
		switch s[i] {
		case syntax, plainOnly, sectionMark, linkMark:
			depth++
		case markEnd:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s) - 1
}

// plainOf returns what is plain text.
func plainOf(s string) string {
	c := cutter{headers: make([]retrieval.Section, 1)}
	c.cut(s)
	return string(c.out)
}

// splitAt is the length in bytes after which a section continues in another
// with the same heading and anchor, at the next block: rankings and prompts
// want passages of moderate length.
const splitAt = 6 << 10

// cutter cuts a page into sections of plain text.
type cutter struct {
	headers  []retrieval.Section // what is known of each section
	sections []retrieval.Section
	numbers  []int // of sections, as in headers
	current  int
	seen     []bool // sections that were begun

	out   []byte
	marks retrieval.Marks
	begin int  // of what is marked, -1 outside
	last  int  // end of the last marked part
	image bool // what is marked
	link  int  // that began last
	line  int  // begin of the line
	fence string
	// crossed: something was left out since the last letter, so white space
	// around it is left out, too.
	crossed bool
}

func (c *cutter) cut(s string) {
	c.begin, c.crossed, c.seen = -1, true, make([]bool, len(c.headers))
	for i := 0; i < len(s); i++ {
		switch b := s[i]; b {
		case syntax:
			i = closing(s, i)
			c.crossed = true
		case quoteMark:
			c.crossed = true
		case escape, plainOnly, markEnd:
		case codeBegins, imageBegins:
			if c.begin < 0 {
				c.begin, c.image = len(c.out), b == imageBegins
			}
		case codeEnds, imageEnds:
			if c.image == (b == imageEnds) {
				c.mark()
			}
		case sectionMark:
			c.finish()
			c.current, i = numberAt(s, i)
			c.crossed = true
		case linkMark:
			var link int
			if link, i = numberAt(s, i); link >= 0 {
				c.link = link
				c.point(retrieval.MarkLink, 0)
			} else {
				c.point(retrieval.MarkLinkEnd, c.link)
			}
		case '\n':
			c.newline()
		case ' ':
			if !c.crossed || len(c.out) == c.line || c.out[len(c.out)-1] != ' ' || len(bytes.TrimSpace(c.out[c.line:])) == 0 {
				c.out = append(c.out, ' ')
			}
		default:
			c.out = append(c.out, b)
			c.crossed = false
		}
	}
}

// mark ends what is marked.
func (c *cutter) mark() {
	if c.begin >= 0 && len(c.out) > c.begin {
		kind := retrieval.MarkCode
		if c.image {
			kind = retrieval.MarkImage
		}
		c.marks = c.marks.Append(c.begin-c.last, kind, len(c.out)-c.begin)
		c.last = len(c.out)
	}
	c.begin = -1
}

// point marks where a link begins or ends.
func (c *cutter) point(kind, value int) {
	if c.begin < 0 && len(c.out) >= c.last { // not within code, nor behind white space that was left out
		c.marks = c.marks.Append(len(c.out)-c.last, kind, value)
		c.last = len(c.out)
	}
}

// newline ends a line, and a section that is long enough. What is marked ends
// with its line.
func (c *cutter) newline() {
	c.mark()
	if c.crossed {
		c.out = bytes.TrimRight(c.out, " ")
		if len(c.out) == 0 || bytes.HasSuffix(c.out, []byte("\n\n")) {
			c.line = len(c.out)
			return
		}
	}
	line := bytes.TrimSpace(c.out[min(c.line, len(c.out)):])
	if ticks := line[:len(line)-len(bytes.TrimLeft(line, "`"))]; len(ticks) >= 3 {
		switch {
		case c.fence == "":
			c.fence = string(ticks)
		case len(line) == len(c.fence):
			c.fence = ""
		}
	}
	if n := len(c.out); c.fence == "" && n > splitAt && (len(line) == 0 || n > splitAt*4/3) {
		c.finish()
		c.crossed = true
		return
	}
	c.out = append(c.out, '\n')
	c.line = len(c.out)
}

// finish ends the section. One without text counts once, for its heading.
func (c *cutter) finish() {
	c.mark()
	text := strings.TrimRight(string(c.out), " \n")
	text = strings.TrimRight(strings.TrimSuffix(text, "\n-"), " \n") // an item that begins with a heading
	if text == "-" {
		text = ""
	}
	s := c.headers[c.current]
	if text != "" || !c.seen[c.current] && s.Heading != "" {
		s.Text, s.Marks = text, c.marks
		c.sections, c.numbers = append(c.sections, s), append(c.numbers, c.current)
		c.seen[c.current] = true
	}
	c.out, c.marks, c.begin, c.last, c.line, c.fence = c.out[:0], nil, -1, 0, 0, ""
}

// sectionsOf cuts a page. A heading above nothing but deeper headings is no
// section: it is in their Path. One above nothing at all is, so that its words
// are found, unless it is usual: what was below it is furniture, and the heading
// is in without.
func sectionsOf(stream string, headers []retrieval.Section, title string, usual []string) ([]retrieval.Section, map[int]bool) {
	c := cutter{headers: headers}
	c.cut(stream)
	c.finish()
	var sections []retrieval.Section
	without := map[int]bool{}
	top, h1 := topHeadings(headers)
	for i, s := range c.sections {
		if len(s.Path) > 0 && (s.Path[0] == title || h1 == 1 && s.Path[0] == top) {
			s.Path = s.Path[1:]
		}
		if len(s.Path) == 0 {
			s.Path = nil
		}
		if s.Text == "" {
			deeper := i+1 < len(c.sections) && c.sections[i+1].Level > s.Level
			if len(c.sections) > 1 && !deeper && slices.Contains(usual, s.Heading) {
				without[c.numbers[i]] = true
				continue
			}
			if deeper || i+1 < len(c.sections) && s.Level == 1 {
				continue
			}
			s.Text = s.Heading
		}
		sections = append(sections, s)
	}
	return sections, without
}

// topHeadings returns the first heading of level 1, and their number.
func topHeadings(headers []retrieval.Section) (first string, n int) {
	for _, s := range headers {
		if s.Level == 1 {
			n++
			first = cmp.Or(first, s.Heading)
		}
	}
	return first, n
}

// anchorOf drops ids that no link can name.
func anchorOf(id string) string {
	if len(id) > 500 || strings.IndexFunc(id, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) >= 0 {
		return ""
	}
	return id
}

var invisible = strings.NewReplacer("\u200b", "", "\u00ad", "", "\ufeff", "", "\u2060", "")

// collapse makes all white space single blanks, and drops what is invisible.
func collapse(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		s = invisible.Replace(s)
	}
	return strings.Join(strings.Fields(s), " ")
}
