package assistant

import (
	"bytes"
	"strings"
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
		case 'h', 'H', 'w', 'W':
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
	case 'h', 'H', 'w', 'W':
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

// window is the part of a line that a decision may rest on. full tells that
// it is as long as it gets: the decision must then come, and must not depend
// on what else has arrived.
func window(s []byte, whole bool) (part []byte, last, full bool) {
	if len(s) >= maxHold {
		return s[:maxHold], false, true
	}
	return s, whole, false
}

// bracket reads what begins with "[" or "![".
func (n *inline) bracket(dst, s []byte, whole bool) ([]byte, int) {
	s, whole, full := window(s, whole)
	image := s[0] == '!'
	if image {
		switch {
		case isAlnum(n.last()) || n.last() >= 0x80:
			return n.put(dst, '!'), 1 // ends a word: need not wait for a "["
		case len(s) > 1 && s[1] != '[', len(s) == 1 && whole:
			return n.put(dst, '!'), 1
		case len(s) == 1:
			return dst, 0
		}
	}
	from := 0
	if image {
		from = 1
	}
	b, state := parseBracket(s[from:], n.unsure, whole)
	if state == undecided {
		if !full {
			return dst, 0
		}
		state = noBracket
	}
	switch state {
	case noBracket:
		return n.put(dst, append(bytes.Clone(s[:from]), '\\', '[')...), from + 1
	case noLink:
		text := s[from+1 : from+b.text]
		if n.links.marked(s[from : from+b.end]) {
			return dst, from + b.end
		}
		if image {
			dst = n.put(dst, s[:from]...)
		}
		if n.unsure || n.inLink || image || n.last() == '!' {
			dst = n.put(dst, '\\', '[')
			dst = n.inner(dst, text, n.inLink)
			return n.put(dst, '\\', ']'), from + b.end
		}
		dst = n.put(dst, '[')
		dst = n.inner(dst, text, n.inLink)
		return n.put(dst, ']'), from + b.end
	case definition:
		if url, ok := n.links.resolve(b.dest); ok && !image && !n.inLink && n.last() == '\n' {
			label := s[from+1 : from+b.text]
			if bytes.IndexAny(label, "[]`<&\\") < 0 && bytes.HasPrefix(label, []byte("^")) == false {
				n.links.cite(url)
				dst = n.put(dst, '[')
				dst = n.put(dst, label...)
				return n.puts(dst, "]: "+url), from + b.end
			}
		}
		dst = n.put(dst, '\\', '[')
		dst = n.inner(dst, s[from+1:from+b.text], n.inLink)
		return n.put(dst, '\\', ']'), from + b.text + 1 // the rest is text
	}
	text := s[from+1 : from+b.text]
	if !image && !n.inLink && n.last() != '\\' {
		if url, ok := n.links.resolve(b.dest); ok {
			n.links.cite(url)
			if n.last() == '!' {
				dst = n.put(dst, ' ')
			}
			dst = n.put(dst, '[')
			before := len(dst)
			dst = n.inner(dst, text, true)
			if len(bytes.TrimSpace(dst[before:])) == 0 {
				dst = n.inner(dst, []byte(n.links.title(url)), true)
			}
			return n.puts(dst, "]("+url+")"), from + b.end
		}
	}
	if n.endsScheme() || strings.IndexByte("]<&`\\!", n.last()) >= 0 && n.last() != 0 {
		dst = n.put(dst, ' ')
	}
	dst = n.inner(dst, text, image || n.inLink)
	n.dropped = true
	return dst, from + b.end
}

// inner passes on the text of a bracket.
func (n *inline) inner(dst, text []byte, inLink bool) []byte {
	in := inline{links: n.links, unsure: n.unsure, inLink: inLink, tail: n.tail}
	dst, _ = in.scan(dst, text, true)
	in.judge(' ')
	if in.span > 0 || in.unsure {
		n.unsure = true
	}
	if in.dropped && in.endsScheme() {
		n.dropped = true
	}
	n.tail = in.tail
	return dst
}

type bracketState uint8

const (
	undecided  bracketState = iota
	noBracket               // "[" without its "]"
	noLink                  // "[text]"
	linked                  // "[text](dest)"
	definition              // "[label]: dest" to the line's end
)

// bracketParts are the parts of a bracket: text ends at s[text] == ']', the
// whole at end.
type bracketParts struct {
	text, end int
	dest      string
}

// maxNested bounds brackets within brackets.
const maxNested = 8

// parseBracket reads a bracket at the beginning of s.
func parseBracket(s []byte, unsure, whole bool) (b bracketParts, state bracketState) {
	depth := 0
	i := 0
	for i < len(s) {
		switch s[i] {
		case '\\':
			i++
		case '`':
			if unsure {
				break
			}
			j := i
			for j < len(s) && s[j] == '`' {
				j++
			}
			if j == len(s) && !whole {
				return b, undecided
			}
			end, open := spanEnd(s[j:], j-i, whole)
			switch {
			case end >= 0:
				i = j + end + (j - i) - 1
			case open:
				return b, undecided
			default:
				i = j - 1
			}
		case '[':
			if depth++; depth > maxNested {
				return b, noBracket // a run of them would cost its square
			}
		case ']':
			depth--
		}
		if depth == 0 {
			break
		}
		i++
	}
	if i >= len(s) || depth != 0 {
		if whole {
			return b, noBracket
		}
		return b, undecided
	}
	b.text, b.end = i, i+1
	if b.end == len(s) {
		if whole {
			return b, noLink
		}
		return b, undecided
	}
	switch s[b.end] {
	case '(':
		dest, end, ok := parseTail(s[b.end:])
		switch {
		case ok:
			b.dest, b.end = dest, b.end+end
			return b, linked
		case end == 0 && !whole:
			return b, undecided
		}
		return b, noBracket // "[" stands for itself
	case ':':
		if !whole {
			return b, undecided
		}
		dest, _, _ := strings.Cut(strings.TrimLeft(string(s[b.end+1:]), " \t"), " ")
		b.dest, b.end = strings.Trim(dest, "<>"), len(s)
		return b, definition
	}
	return b, noLink
}

// parseTail reads "(dest "title")". end is 0 if more input could complete it.
func parseTail(s []byte) (dest string, end int, ok bool) {
	i := 1
	skip := func() {
		for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
			i++
		}
	}
	skip()
	from := i
	if i < len(s) && s[i] == '<' {
		for i++; i < len(s) && s[i] != '>'; i++ {
			if s[i] == '\\' {
				i++
			} else if s[i] == '<' {
				return "", 1, false
			}
		}
		if i >= len(s) {
			return "", 0, false
		}
		dest = string(s[from+1 : i])
		i++
	} else {
		depth := 0
	loop:
		for ; i < len(s); i++ {
			switch c := s[i]; {
			case c == '\\' && i+1 < len(s) && isPunct(s[i+1]):
				i++
			case c == '(':
				depth++
			case c == ')':
				if depth == 0 {
					break loop
				}
				depth--
			case c <= ' ' || c == 0x7f:
				break loop
			}
		}
		if i >= len(s) {
			return "", 0, false
		}
		dest = string(s[from:i])
	}
	spaced := i
	skip()
	if i < len(s) && i > spaced && (s[i] == '"' || s[i] == '\'' || s[i] == '(') {
		closing := s[i]
		if closing == '(' {
			closing = ')'
		}
		for i++; i < len(s) && s[i] != closing; i++ {
			if s[i] == '\\' {
				i++
			}
		}
		if i >= len(s) {
			return "", 0, false
		}
		i++
		skip()
	}
	if i >= len(s) {
		return "", 0, false
	}
	if s[i] != ')' {
		return "", 1, false
	}
	return dest, i + 1, true
}

// angle reads what begins with "<".
func (n *inline) angle(dst, s []byte, whole bool) ([]byte, int) {
	if len(s) == 1 {
		if whole {
			return n.puts(dst, "&lt;"), 1
		}
		return dst, 0
	}
	c := s[1]
	if !isAlnum(c) && c != '/' && c != '!' && c != '?' {
		if c == '[' || c == '&' || c == '`' || c == '<' {
			return n.puts(dst, "&lt;"), 1
		}
		return n.put(dst, '<'), 1
	}
	m, partial := scheme(s[1:])
	if m == 0 {
		if partial && !whole {
			return dst, 0
		}
		return n.puts(dst, "&lt;"), 1
	}
	s, whole, full := window(s, whole)
	end := bytes.IndexAny(s, "> \t")
	if end < 0 {
		if !whole && !full {
			return dst, 0
		}
		return n.puts(dst, "&lt;"), 1
	}
	if s[end] != '>' {
		return n.puts(dst, "&lt;"), 1
	}
	return n.putAddress(dst, s[1:end], false), end + 1
}

// entities that may stand in an answer. Others could spell an address that
// some renderers would find after decoding them.
var harmlessEntities = map[string]bool{"lt": true, "gt": true, "amp": true, "quot": true, "nbsp": true, "apos": true, "#39": true, "copy": true, "mdash": true, "ndash": true, "hellip": true, "rarr": true, "larr": true, "times": true}

func (n *inline) entity(dst, s []byte, whole bool) ([]byte, int) {
	i := 1
	for i < len(s) && i < 34 && (isAlnum(s[i]) || s[i] == '#' && i == 1) {
		i++
	}
	switch {
	case i == len(s) && !whole && i < 34:
		return dst, 0
	case i < len(s) && s[i] == ';' && i > 1:
		if harmlessEntities[string(s[1:i])] {
			return n.put(dst, s[:i+1]...), i + 1
		}
		return n.puts(dst, "&amp;"), 1
	}
	if n.inLink && i == len(s) {
		return n.puts(dst, "&amp;"), 1
	}
	return n.put(dst, '&'), 1
}

// address reads what may be a bare address.
func (n *inline) address(dst, s []byte, whole bool) ([]byte, int) {
	if isAlnum(n.last()) {
		return n.put(dst, s[0]), 1
	}
	m, partial := scheme(s)
	if m == 0 {
		if partial && !whole {
			return dst, 0
		}
		return n.put(dst, s[0]), 1
	}
	s, whole, full := window(s, whole)
	end := m
	for end < len(s) && s[end] > ' ' && s[end] != '<' && s[end] != '`' && s[end] != '|' && s[end] != '"' && s[end] != '[' && s[end] != ']' {
		end++
	}
	if end == len(s) && !whole && !full {
		return dst, 0
	}
	if end == m {
		// "https://" or "www." alone is a word.
		if bytes.IndexByte(s[:m], '\\') >= 0 {
			return dst, m
		}
		return n.put(dst, s[:m]...), m
	}
	bare := end == len(s) && whole || end < len(s) && isSpace(s[end])
	// Signs at the end belong to the sentence.
	for end > m {
		c := s[end-1]
		if strings.IndexByte("?!.,:;*_~'\\", c) >= 0 || c == ')' && bytes.Count(s[:end], []byte(")")) > bytes.Count(s[:end], []byte("(")) {
			end--
			bare = bare && strings.IndexByte("?!.,:", c) >= 0
			continue
		}
		break
	}
	return n.putAddress(dst, s[:end], bare), end
}

// putAddress passes on an address that readers can follow, and any other as
// code, which no renderer links.
func (n *inline) putAddress(dst, address []byte, bare bool) []byte {
	a := string(address)
	if url, ok := n.links.resolve(a); ok {
		if n.inLink {
			return n.puts(dst, plainAddress(url, true))
		}
		n.links.cite(url)
		switch {
		case bare && !strings.HasPrefix(url, "/"):
			return n.puts(dst, url)
		case strings.HasPrefix(url, "/"):
			return n.puts(dst, "["+plainAddress(url, true)+"]("+url+")")
		}
		return n.puts(dst, "<"+url+">")
	}
	if n.unsure || n.inLink || n.last() == '`' || n.last() == '\\' {
		return n.puts(dst, plainAddress(a, false))
	}
	dst = n.put(dst, '`')
	dst = n.puts(dst, strings.NewReplacer("`", "", "\\", "").Replace(plainAddress(a, localHost(a))))
	dst = n.put(dst, '`')
	n.dropped = true
	return dst
}

// plainAddress is an address that is not linked: without its scheme, and
// without www, which renderers take for one.
func plainAddress(a string, keep bool) string {
	if keep {
		return a
	}
	out := make([]byte, 0, len(a))
	for i := 0; i < len(a); {
		if len(out) == 0 || !isAlnum(out[len(out)-1]) {
			if m, _ := scheme([]byte(a[i:])); m > 0 {
				i += m
				continue
			}
		}
		out = append(out, a[i])
		i++
	}
	a = string(out)
	return strings.NewReplacer("://", ":", "[", "", "]", "", "<", "", "&", "&amp;").Replace(a)
}

// scheme returns the length of "http://", "https://" or "www." at the
// beginning of s, letter case and backslashes aside, 0 if there is none.
// partial tells that more of s could make one.
func scheme(s []byte) (n int, partial bool) {
	for _, want := range []string{"http://", "https://", "www."} {
		i, j := 0, 0
		for i < len(s) && j < len(want) {
			switch {
			case s[i]|0x20 == want[j] && want[j] >= 'a' || s[i] == want[j]:
				i++
				j++
			case s[i] == '\\' && j >= 3:
				i++
			default:
				i, j = len(s)+1, -1
			}
			if j < 0 {
				break
			}
		}
		if j == len(want) {
			return i, false
		}
		if i == len(s) {
			partial = true
		}
	}
	return 0, partial
}

// endsScheme tells whether the text passed on ends in the beginning of a
// scheme, such that what follows could complete it.
func (n *inline) endsScheme() bool {
	for k := 1; k <= len(n.tail); k++ {
		s := n.tail[len(n.tail)-k:]
		if k < len(n.tail) && isAlnum(n.tail[len(n.tail)-k-1]) {
			continue
		}
		if m, partial := scheme(s); m == k || m == 0 && partial {
			return true
		}
	}
	return false
}
