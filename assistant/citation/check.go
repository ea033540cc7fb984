// Package citation checks the Markdown of an answer while it streams: a
// model's text goes in, in pieces of any size, and the same text comes out
// with links only to pages and anchors of the site and to hosts that the
// operator allows, and with images and HTML as text.
package citation

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Checker checks one answer. It reads Markdown as CommonMark renderers do,
// but only as far as code and links go: blocks.go knows where code blocks
// begin and end, inline.go finds links and code spans. Its output does not
// depend on how the text is divided into pieces.
//
// A link, an image, a bare URL, a tag or an entity is held back until its last
// byte decides, up to maxHold bytes. None of them may cross a line. All other
// text comes out at once.
type Checker struct {
	site  *Rules
	pages map[string]*retrieval.Document // looked up so far

	blocks blocks
	inline inline
	held   []byte // text that is not decided yet

	cited map[string]bool // URLs that are linked to so far

	steps int // bytes that were looked at, for the test of its growth
}

const maxHold = 1024

// NewChecker returns a Checker for an answer of a site. The site may change
// between calls, as further passages are found.
func NewChecker(site *Rules) *Checker {
	c := &Checker{site: site, pages: make(map[string]*retrieval.Document), cited: make(map[string]bool)}
	c.reset()
	return c
}

func (c *Checker) reset() {
	c.blocks = blocks{prefix: true}
	c.inline = inline{check: c}
}

// Append takes a piece of the answer, which ends between two characters, and
// appends what is decided by now to dst.
func (c *Checker) Append(dst, text []byte) []byte {
	if bytes.IndexByte(text, '\r') >= 0 { // ends a line for some renderers
		text = bytes.ReplaceAll(text, []byte{'\r'}, nil)
	}
	if len(c.held) > 0 {
		c.held = append(c.held, text...)
		text = c.held
	}
	return c.scan(dst, text, false)
}

// End ends the text of a step and appends what was held back to dst. Some
// clients show each step's text by itself, others all as one. The next text
// is safe either way if an empty line comes before it: a fenced block is
// closed, and where a list or quote is open, whose blocks end with it, nothing
// in it is taken for code.
func (c *Checker) End(dst []byte) []byte {
	dst = c.scan(dst, c.held, true)
	b := &c.blocks
	atLine := b.prefix && len(b.line) == 0
	if b.prefix && !atLine {
		b.begin('\n', &c.inline.paragraph) // the last line may be a fence
	}
	if b.fence != 0 && len(b.containers) == 0 {
		if !atLine {
			dst = append(dst, '\n')
		}
		dst = append(dst, bytes.Repeat([]byte{b.fence}, b.length)...)
		b.fence = 0
	}
	distrust := b.distrust || b.doubt || b.fence != 0 || len(b.containers) > 0
	c.reset()
	c.blocks.distrust = distrust
	return dst
}

// Cited returns the URLs that the answer links to, in no order.
func (c *Checker) Cited() []string { return slices.Collect(maps.Keys(c.cited)) }

// scan appends as much of s as is decided, and holds the rest.
func (c *Checker) scan(dst, s []byte, final bool) []byte {
	i := 0
loop:
	for i < len(s) {
		ch := s[i]
		if c.blocks.prefix {
			if c.blocks.more(ch) {
				dst = append(dst, ch)
				i++
				continue
			}
			if prefix, ok := c.blocks.begin(ch, &c.inline.paragraph); ok {
				c.inline.begin(prefix)
			}
		}
		if ch == '\n' {
			dst = append(dst, ch)
			c.inline.endLine()
			c.blocks.endLine()
			i++
			continue
		}
		line, whole := s[i:], final
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line, whole = line[:n], true
		}
		c.steps += len(line)
		switch {
		case c.blocks.info:
			if ch == '`' && c.blocks.fence == '`' { // a code span, not a fence
				c.blocks.fence, c.blocks.info = 0, false
				c.inline.unsure = true
				continue
			}
			for _, ch := range line {
				if ch == '`' && c.blocks.fence == '`' {
					break
				}
				if strings.IndexByte(`[]<>!()&:@|\./`, ch) >= 0 { // means something outside code
					ch = ' '
				}
				c.inline.put(ch)
				dst = append(dst, ch)
				i++
			}
		case c.blocks.fence != 0:
			dst = append(dst, line...)
			i += len(line)
		default:
			from := len(c.inline.line)
			n := c.inline.scan(line, whole)
			dst = append(dst, c.inline.line[from:]...)
			i += n
			if n < len(line) {
				break loop // waits for more
			}
		}
	}
	c.held = append(c.held[:0], s[i:]...)
	return dst
}
