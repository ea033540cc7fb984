package citation

import (
	"bytes"
	"slices"
	"strings"
)

// inline reads the running text of Markdown: code spans, which pass, and
// links, images, bare URLs, tags and entities, which the Checker decides on.
type inline struct {
	check *Checker
	line  []byte // the line's text as it was passed on

	span    int  // backticks that opened the code span we are in, 0 outside
	ticks   int  // backticks just passed on that may begin or end a span
	inLink  bool // in the text of a link, which holds no links
	nested  bool // in what was a link; more text follows
	dropped bool // a link was reduced to its text just before

	paragraph
	// In the rows of a table, a "|" ends a cell in code, too: what looks like a
	// code span may be none. A row below the table's head is known by the head's
	// bars. A head is not known before the next line, so that one is kept from
	// making it a head.
	bars     int  // "|" in the open span, escaped ones included
	splits   bool // one of them is not escaped
	spanBars int  // "|" in the line's spans
	split    bool // a span of the line has a "|" that is not escaped
	wasSplit bool // one of the line before had
	begins   bool // at the line's first byte behind its prefix
	marks    int  // bytes of the line known to be no more than blocks begin with
}

// paragraph is what counts until a paragraph ends.
type paragraph struct {
	// unsure is set where renderers may see other code spans than we do: after
	// an opening backtick without an end on its line. Everything is then treated
	// as text.
	unsure bool
	// table is set where lines may be rows of a table: one before has a "|"
	// outside code.
	table bool
}

// last is the byte that was passed on last, a newline at the line's beginning.
func (n *inline) last() byte {
	if len(n.line) == 0 {
		return '\n'
	}
	return n.line[len(n.line)-1]
}

func (n *inline) put(b ...byte) { n.line = append(n.line, b...) }

func (n *inline) puts(s string) { n.line = append(n.line, s...) }

// begin starts a line with the part of its prefix that is text, which was
// passed on already.
func (n *inline) begin(prefix []byte) {
	n.begins = true
	for _, ch := range prefix {
		n.judge(ch)
		if ch == '`' {
			n.ticks++
		}
		n.put(ch)
	}
}

func (n *inline) endLine() {
	n.judge('\n')
	if n.span > 0 {
		n.unsure = true
	}
	n.table = n.table || bytes.Count(n.line, []byte("|")) > n.spanBars
	n.wasSplit, n.split = n.split, false
	n.span, n.bars, n.splits, n.spanBars, n.dropped, n.begins, n.marks = 0, 0, false, 0, false, false, 0
	n.line = n.line[:0]
}

// judge ends a run of backticks before ch: it opens or closes a code span.
func (n *inline) judge(ch byte) {
	if n.ticks == 0 || ch == '`' {
		return
	}
	switch {
	case n.unsure:
	case n.span == 0:
		n.span = n.ticks
		n.bars, n.splits = 0, false
	case n.span == n.ticks:
		n.span = 0
		n.spanBars += n.bars
		n.split = n.split || n.splits
		if n.splits && n.table {
			n.unsure = true // the backticks are no pair
		}
	}
	n.ticks = 0
}

// special are the bytes at which running text may begin to mean something; the
// letters are those of http, ftp and www.
var special = func() (is [256]bool) {
	for _, b := range []byte("[]!(<&`|\\fFhHwW.:/@") {
		is[b] = true
	}
	return is
}()

// scan passes on as much of a line as is decided, and returns how much of s
// that is. whole says that the line goes no further than s.
func (n *inline) scan(s []byte, whole bool) int {
	if n.begins && len(s) > 0 {
		n.table = n.table || s[0] == ':' // the line may be a delimiter row of one column, without a bar
		if n.wasSplit && len(bytes.TrimLeft(s, "|:- \t\f\v")) == 0 {
			if !whole && len(s) < maxHold {
				return 0
			}
			n.put('\\') // no delimiter row: the line before stays text
		}
		n.begins = false
	}
	i := 0
	for i < len(s) {
		ch := s[i]
		n.judge(ch)
		if n.dropped {
			// What a link was reduced to must not become something new together
			// with what follows.
			n.dropped = false
			if (ch == '.' || ch == ')') && leadingDigits(n.line) == len(n.line) {
				n.put('\\') // "1." would be an item of a list
			}
			if ch == '`' && n.last() == '`' || (ch == '(' || ch == '[' || ch == ':') && n.last() == ']' || n.endsScheme() && !isSpace(ch) {
				n.put(' ')
			}
		}
		ahead, last, full := n.window(s[i:], whole)
		if n.span > 0 {
			used := n.inSpan(ahead, last, full)
			i += used
			if n.span > 0 && used == 0 {
				return i
			}
			if n.span > 0 {
				continue
			}
			// It is not a span: read as text.
		}
		var used int
		switch ch {
		case '`':
			if n.ticks == 0 && n.last() == '\\' { // for showdown it is escaped
				n.unsure = true
			}
			n.ticks++
			n.put(ch)
			used = 1
		case '\\':
			used = n.backslash(ahead, last)
		case '[', '!':
			used = n.bracket(ahead, last, full)
		case ']':
			n.puts(`\]`) // closes nothing
			used = 1
		case '(':
			// In a link's text, marked would see no link; showdown allows spaces
			// between a link's text and its URL.
			text := bytes.TrimRight(n.line, " \t")
			if bytes.HasSuffix(text, []byte("]")) && n.inLink == bytes.HasSuffix(text, []byte(`\]`)) {
				n.put('\\')
			}
			n.put('(')
			used = 1
		case '|':
			if n.inLink {
				n.put('\\') // in a table it would split the link
			}
			n.put('|')
			used = 1
		case '<':
			used = n.angle(ahead, last, full)
		case '&':
			used = n.entity(ahead, last)
		case 'f', 'F', 'h', 'H', 'w', 'W':
			used = n.bareURL(ahead, last, full)
		case '.', ':', '/', '@':
			used = n.joint(ahead, last, full)
		default:
			used = 1
			for i+used < len(s) && !special[s[i+used]] {
				used++
			}
			n.put(s[i : i+used]...)
		}
		if used == 0 {
			return i
		}
		i += used
	}
	return i
}

// window is the part of a line that a decision may rest on. full says that it
// is as long as it gets: the decision must then be made, and must not depend on
// what else has arrived. Nothing looks further, so that each byte costs at most
// maxHold steps.
func (n *inline) window(s []byte, whole bool) (ahead []byte, last, full bool) {
	n.check.steps += min(len(s), maxHold)
	if len(s) >= maxHold {
		return s[:maxHold], false, true
	}
	return s, whole, false
}

// inSpan reads the inside of a code span, and leaves the span where it turns
// out to be none.
func (n *inline) inSpan(s []byte, whole, full bool) (used int) {
	switch ch := s[0]; {
	case ch == '`':
		n.ticks++
		n.put(ch)
		return 1
	case !n.meansOutside(s, whole, full):
		n.countBars(s[:1])
		n.put(ch)
		return 1
	}
	// It must not pass unless this really is code, which the span's end shows.
	end, open := spanEnd(s, n.span, whole)
	if end >= 0 {
		n.countBars(s[:end])
	}
	if end >= 0 && !(n.splits && n.table) {
		n.put(s[:end]...)
		return end
	}
	if open && !full {
		return 0
	}
	n.span, n.unsure = 0, true
	return 0
}

// countBars counts the bars of code that is passed on next.
func (n *inline) countBars(code []byte) {
	if bytes.IndexByte(code, '|') < 0 {
		return
	}
	text := append(slices.Clip(n.line[max(0, len(n.line)-2):]), code...)
	for i := len(text) - len(code); i < len(text); i++ {
		if text[i] == '|' {
			n.bars++
			// Renderers agree that a single backslash escapes it.
			n.splits = n.splits || i == 0 || text[i-1] != '\\' || i > 1 && text[i-2] == '\\'
		}
	}
}

// meansOutside reports whether s, inside a code span, begins with what would
// mean something outside.
func (n *inline) meansOutside(s []byte, whole, full bool) bool {
	switch s[0] {
	case '[', ']', '<', '!', '&':
		return true
	case 'f', 'F', 'h', 'H', 'w', 'W':
		m, partial := scheme(s)
		return !isAlnum(n.last()) && (m > 0 || partial && !whole)
	case '.', '@', '/', ':': // what joint passes on otherwise than it is, in text where nothing may be linked
		text := inline{check: &Checker{site: new(Rules)}, line: bytes.Clone(n.line[max(0, len(n.line)-longestJoint):])}
		from := len(text.line)
		used := text.joint(s, whole, full)
		return used == 0 || !bytes.Equal(text.line[from:], s[:used])
	}
	return false
}

// spanEnd returns where in s the code span ends that as many backticks opened,
// -1 if it doesn't. open says that it still may.
func spanEnd(s []byte, ticks int, whole bool) (end int, open bool) {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		j := i + leading(s[i:], "`")
		if j == len(s) && !whole {
			return -1, true // more backticks may follow
		}
		if j-i == ticks {
			return i, false
		}
		i = j
	}
	return -1, !whole
}

func (n *inline) backslash(s []byte, whole bool) (used int) {
	switch {
	case len(s) > 1 && s[1] == '<': // which showdown doesn't escape
		n.puts("&lt;")
		return 2
	case len(s) > 1 && isPunct(s[1]) && !(s[1] == '`' && n.unsure):
		n.put(s[:2]...)
		return 2
	case len(s) == 1 && !whole:
		return 0
	case len(s) == 1 && n.inLink:
		n.puts(`\\`) // must not escape what closes the link
	default:
		n.put('\\')
	}
	return 1
}

// harmlessEntities pass. Others could spell a URL, which some renderers find
// after decoding them.
const harmlessEntities = " lt gt amp quot nbsp apos #39 copy mdash ndash hellip rarr larr times "

func (n *inline) entity(s []byte, whole bool) (used int) {
	const longest = 34
	i := 1
	for i < len(s) && i < longest && (isAlnum(s[i]) || s[i] == '#' && i == 1) {
		i++
	}
	ends := i < len(s) && s[i] == ';' && i > 1
	switch {
	case i == len(s) && !whole:
		return 0
	case ends && strings.Contains(harmlessEntities, " "+string(s[1:i])+" "):
		n.put(s[:i+1]...)
		return i + 1
	case ends, n.inLink && i == len(s):
		n.puts("&amp;")
	default:
		n.put('&')
	}
	return 1
}
