package assistant

import (
	"bytes"
	"context"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// checker passes a model's text on and lets no link, image or HTML through
// that the site does not stand for (see links.go for what it does). It reads
// Markdown as CommonMark renderers do, only as far as code and links go:
// blocks.go knows where code blocks begin and end, inline.go links and code
// spans.
//
// Text is passed on as it comes. Held back is only what may be a link, an
// image, an address, a tag or an entity, until its last byte decides, and at
// most maxHold bytes of it. None of them may cross a line here: a line's end
// decides, too.
//
// The result does not depend on how the text is cut into pieces.
type checker struct {
	r      *run
	links  *links
	sent   bool // something was passed on in this step
	gap    bool // an empty line is due before what comes next
	inline inline
	blocks blocks

	half  []byte // first half of a surrogate pair at the end of a piece
	pend  []byte // plain text not passed on yet
	plain []byte // plain text to pass on, of this write
	enc   []byte // plain, escaped
}

// maxHold bounds what is held back, in bytes.
const maxHold = 1024

func newChecker(ctx context.Context, r *run) *checker {
	c := &r.checker
	*c = checker{r: r, links: newLinks(ctx, r)}
	c.reset()
	return c
}

// reset begins a new text: that of a reply's next step.
func (c *checker) reset() {
	c.blocks = blocks{containers: c.blocks.containers[:0], line: c.blocks.line[:0], prefix: true}
	c.inline = inline{links: c.links}
}

// write takes a piece of the model's text in the form of reply.Event.Text.
func (c *checker) write(b []byte) {
	if !c.untouched(b) {
		c.look(b)
	}
}

// untouched passes a piece on as it is, where that can be seen at a glance.
func (c *checker) untouched(b []byte) bool {
	if len(c.pend) == 0 && len(c.half) == 0 && !c.blocks.prefix {
		// Most pieces are words: they go on untouched and uncopied.
		if c.blocks.fence == 0 {
			if c.inline.quiet() && isPlain(b, c.inline.last()) {
				c.inline.saw(b)
				c.emit(b)
				return true
			}
		} else if !c.blocks.info && bytes.IndexByte(b, '\\') < 0 {
			c.links.sawCode(b)
			c.emit(b)
			return true
		}
	}
	return false
}

// look takes a piece that may hold something.
func (c *checker) look(b []byte) {
	if len(c.half) > 0 {
		c.half = append(c.half, b...)
		b = c.half
	}
	n := reply.OpenHalf(b)
	from := len(c.pend)
	c.pend = reply.Unescape(c.pend, b[:len(b)-n])
	if bytes.IndexByte(c.pend[from:], '\r') >= 0 { // would end lines where we see none
		c.pend = append(c.pend[:from], bytes.ReplaceAll(c.pend[from:], []byte("\r"), nil)...)
	}
	c.half = append(c.half[:0], b[len(b)-n:]...)
	c.scan(false)
}

// pause ends the text of a step: what is held back comes out. Some clients
// show each step's text by itself, others (v1's content) all as one: the next
// step's begins behind an empty line, and where a fence or a list is open,
// nothing of it is taken for code, so that it is safe either way.
func (c *checker) pause() {
	c.scan(true)
	k := &c.blocks
	distrust := k.distrust || k.doubt || k.fence != 0 || len(k.containers) > 0
	c.reset()
	c.blocks.distrust = distrust
	c.gap = c.gap || c.sent
}

// close ends the text.
func (c *checker) close() { c.pause() }

func (c *checker) sentInStep() bool { return c.sent }
func (c *checker) newStep()         { c.sent = false }

func (c *checker) emit(escaped []byte) {
	c.sent = true
	if c.gap && len(escaped) > 0 {
		c.r.out.text([]byte(`\n\n`))
		c.gap = false
	}
	if c.r.lead != "" && len(escaped) > 0 {
		c.r.out.text(reply.Escape(nil, c.r.lead))
		c.r.lead = ""
	}
	c.r.out.text(escaped)
}

// scan passes on as much of pend as is decided.
func (c *checker) scan(final bool) {
	s := c.pend
	c.plain = c.plain[:0]
	i := 0
loop:
	for i < len(s) {
		ch := s[i]
		if c.blocks.prefix {
			if c.blocks.more(ch) {
				c.plain = append(c.plain, ch)
				i++
				continue
			}
			if prefix, ok := c.blocks.begin(ch, &c.inline.unsure); ok {
				c.inline.begin(prefix)
			}
		}
		if ch == '\n' {
			if c.blocks.fence != 0 && !c.blocks.info {
				c.links.sawCode(s[i : i+1])
			}
			c.plain = append(c.plain, ch)
			c.inline.endLine()
			c.blocks.endLine()
			i++
			continue
		}
		switch {
		case c.blocks.info:
			if ch == '`' && c.blocks.fence == '`' { // no fence after all
				c.blocks.fence, c.blocks.info = 0, false
				c.inline.unsure = true
				continue
			}
			// Signs that mean something outside code are no loss here.
			www := ch == '.' && bytes.EqualFold(c.inline.tail[5:], []byte("www"))
			if bytes.IndexByte([]byte("[]<>!()&:\\"), ch) < 0 && !www {
				c.plain = c.inline.put(c.plain, ch)
			}
			i++
		case c.blocks.fence != 0:
			n := bytes.IndexByte(s[i:], '\n')
			if n < 0 {
				n = len(s) - i
			}
			code := s[i : i+n]
			c.links.sawCode(code)
			c.plain = append(c.plain, code...)
			i += n
		default:
			line := s[i:]
			whole := final
			if n := bytes.IndexByte(line, '\n'); n >= 0 {
				line, whole = line[:n], true
			}
			var n int
			c.plain, n = c.inline.scan(c.plain, line, whole)
			i += n
			if n < len(line) {
				break loop // waits for more
			}
		}
	}
	c.pend = append(c.pend[:0], s[i:]...)
	if len(c.plain) > 0 {
		c.enc = reply.Escape(c.enc[:0], string(c.plain))
		c.emit(c.enc)
	}
}

// Bytes by what they mean in running text: nothing, perhaps something
// (letters that begin http, ftp and www), something.
var plainBytes = func() (t [256]uint8) {
	for _, b := range []byte("[]<!&`\\\r\n") {
		t[b] = 2
	}
	for _, b := range []byte("fFhHwW") {
		t[b] = 1
	}
	return
}()

// isPlain tells whether a piece of escaped text can be passed on as it is,
// in running text whose last byte was last.
func isPlain(b []byte, last byte) bool {
	for i, ch := range b {
		switch plainBytes[ch] {
		case 2:
			return false
		case 1:
			prev := last
			if i > 0 {
				prev = b[i-1]
			}
			if isAlnum(prev) {
				continue
			}
			if i+1 == len(b) || b[i+1]|0x20 == 't' && ch|0x20 != 'w' || b[i+1]|0x20 == 'w' && ch|0x20 == 'w' {
				return false
			}
		}
	}
	return true
}

func isAlnum(b byte) bool {
	return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z'
}
