package assistant

import (
	"bytes"
)

// inline reads the running text of Markdown: code spans, which pass, and
// links, images, addresses, tags and entities, which links decides on.
type inline struct {
	links *links

	span int // backticks that opened the code span we are in, 0 outside
	run  int // backticks just passed on, not yet judged
	bar  bool
	// unsure is set where renderers may see other code spans than we do: an
	// opening backtick without an end on its line. Until the paragraph ends,
	// everything is then treated as text.
	unsure bool
	// inLink is set for the text of a link, which holds no links.
	inLink  bool
	dropped bool    // a link was reduced to its text just before
	tail    [8]byte // the last bytes passed on
}

func (n *inline) last() byte { return n.tail[7] }

// quiet tells whether plain text may pass without a look.
func (n *inline) quiet() bool { return n.run == 0 && n.span == 0 && !n.dropped }

// saw notes text that passed.
func (n *inline) saw(b []byte) {
	if len(b) >= len(n.tail) {
		copy(n.tail[:], b[len(b)-len(n.tail):])
		return
	}
	copy(n.tail[:], n.tail[len(b):])
	copy(n.tail[len(n.tail)-len(b):], b)
}

// put passes text on.
func (n *inline) put(dst []byte, b ...byte) []byte {
	n.saw(b)
	return append(dst, b...)
}

func (n *inline) puts(dst []byte, s string) []byte {
	dst = append(dst, s...)
	n.saw(dst[len(dst)-len(s):])
	return dst
}

// begin starts a line with the part of its prefix that is text, passed on
// already.
func (n *inline) begin(prefix []byte) {
	n.tail = [8]byte{7: '\n'}
	for _, ch := range prefix {
		n.judge(ch)
		if ch == '`' {
			n.run++
		}
		n.saw([]byte{ch})
	}
}

func (n *inline) endLine() {
	n.judge('\n')
	if n.span > 0 {
		n.unsure = true
	}
	n.span, n.bar, n.dropped = 0, false, false
	n.tail = [8]byte{7: '\n'}
}

// judge ends a run of backticks before ch: it opens or closes a code span.
func (n *inline) judge(ch byte) {
	if n.run == 0 || ch == '`' {
		return
	}
	switch {
	case n.unsure:
	case n.span == 0:
		n.span = n.run
		n.bar = false
	case n.span == n.run:
		n.span = 0
		if n.bar {
			// In a table the bar parts cells and the backticks are no pair.
			n.unsure = true
		}
		n.links.endSpan()
	}
	n.run = 0
}

// scan passes on as much of a line as is decided, and returns how much that
// is. whole tells that the line goes no further than s.
func (n *inline) scan(dst, s []byte, whole bool) ([]byte, int) {
	i := 0
	for i < len(s) {
		ch := s[i]
		n.judge(ch)
		if n.dropped {
			// What a link was reduced to must not become something new together
			// with what follows.
			n.dropped = false
			if ch == '`' && n.last() == '`' || (ch == '(' || ch == '[' || ch == ':') && n.last() == ']' || n.endsScheme() && !isSpace(ch) {
				dst = n.put(dst, ' ')
			}
		}
		if n.span > 0 {
			if ch == '|' {
				n.bar = true
			}
			if ch == '`' {
				n.run++
				dst = n.put(dst, ch)
				i++
				continue
			}
			if !n.special(s[i:], whole) {
				n.links.sawSpan(ch)
				dst = n.put(dst, ch)
				i++
				continue
			}
			// Is it really code? The span's end tells.
			seen, last, full := window(s[i:], whole)
			end, open := spanEnd(seen, n.span, last)
			switch {
			case end >= 0 && !n.bar && bytes.IndexByte(s[i:i+end], '|') < 0:
				for _, b := range s[i : i+end] {
					n.links.sawSpan(b)
				}
				dst = n.put(dst, s[i:i+end]...)
				i += end
				continue
			case open && !full:
				return dst, i
			}
			n.span, n.unsure = 0, true
			n.links.dropSpan()
			// As text, then.
		}
		used := 0
		switch ch {
		case '`':
			n.run++
			dst = n.put(dst, ch)
			used = 1
		case '\\':
			switch {
			case i+1 < len(s):
				if isPunct(s[i+1]) {
					used = 2
				} else {
					used = 1
				}
				if s[i+1] == '`' && n.unsure {
					used = 1
				}
				dst = n.put(dst, s[i:i+used]...)
			case whole:
				dst = n.put(dst, '\\')
				if n.inLink {
					dst = n.put(dst, '\\') // not to escape what closes the link
				}
				used = 1
			}
		case '[', '!':
			dst, used = n.bracket(dst, s[i:], whole)
		case ']':
			dst = n.put(dst, '\\', ']') // closes nothing
			used = 1
		case '<':
			dst, used = n.angle(dst, s[i:], whole)
		case '&':
			dst, used = n.entity(dst, s[i:], whole)
		case 'f', 'F', 'h', 'H', 'w', 'W':
			dst, used = n.address(dst, s[i:], whole)
		default:
			// Up to the next byte that may mean something.
			used = 1
			for i+used < len(s) && inert(s[i+used]) {
				used++
			}
			dst = n.put(dst, s[i:i+used]...)
		}
		if used == 0 {
			return dst, i
		}
		i += used
	}
	return dst, i
}

func inert(b byte) bool { return plainBytes[b] == 0 && b != ']' && b != '!' }

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' }

func isPunct(b byte) bool {
	return b >= '!' && b <= '/' || b >= ':' && b <= '@' || b >= '[' && b <= '`' || b >= '{' && b <= '~'
}

// special tells whether s, inside a code span, begins with what would mean
// something outside.
func (n *inline) special(s []byte, whole bool) bool {
	switch s[0] {
	case '[', ']', '<', '!', '&':
		return true
	case 'f', 'F', 'h', 'H', 'w', 'W':
		if isAlnum(n.last()) {
			return false
		}
		m, partial := scheme(s)
		return m > 0 || partial && !whole
	}
	return false
}

// spanEnd returns where in s the code span ends that was opened by run
// backticks, -1 if it doesn't. open tells that it may still.
func spanEnd(s []byte, run int, whole bool) (end int, open bool) {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		j := i
		for j < len(s) && s[j] == '`' {
			j++
		}
		if j == len(s) && !whole {
			return -1, true // the run may go on
		}
		if j-i == run {
			return i, false
		}
		i = j
	}
	return -1, !whole
}
