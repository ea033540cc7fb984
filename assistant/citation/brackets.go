package citation

import (
	"bytes"
	"slices"
	"strings"
)

// bracket reads what begins with "[" or "![".
func (n *inline) bracket(s []byte, whole, full bool) (used int) {
	image := s[0] == '!'
	if image {
		switch {
		case isAlnum(n.last()), n.last() >= 0x80: // ends a word: need not wait for a "["
			n.put('!')
			return 1
		case len(s) > 1 && s[1] != '[', len(s) == 1 && whole:
			n.put('!')
			return 1
		case len(s) == 1:
			return 0
		}
		s = s[1:]
	}
	b, kind := parseBracket(s, n.unsure, whole)
	if kind == undecided && !full {
		return 0
	}
	used = b.end
	switch kind {
	case undecided, noBracket:
		if image {
			n.put('!')
		}
		n.puts(`\[`)
		used = 1
	case noLink:
		if image {
			n.put('!')
		}
		defines := used < len(s) && s[used] == ':' // the text of other brackets would become a link
		open, closing := "[", "]"
		if defines || n.unsure || n.inLink || image || n.last() == '!' || !isPaired(s[1:b.text]) {
			open, closing = `\[`, `\]`
		}
		n.puts(open)
		n.inner(s[1:b.text], n.inLink)
		n.puts(closing)
	case linked:
		n.link(s[1:b.text], b.dest, image)
	}
	if image {
		used++
	}
	return used
}

// link passes on a link, or its text where the destination may not be linked.
func (n *inline) link(text []byte, dest string, image bool) {
	if !image && !n.inLink && n.last() != '\\' {
		if url, ok := n.check.resolve(dest); ok {
			n.check.cited[url] = true
			if n.last() == '!' {
				n.put(' ')
			}
			n.put('[')
			before := len(n.line)
			n.inner(n.withoutSpans(text), true)
			if len(bytes.TrimSpace(n.line[before:])) == 0 {
				n.inner(n.withoutSpans([]byte(n.check.site.title(url))), true)
			}
			n.puts("](" + markdownURL(url) + ")")
			return
		}
	}
	if n.endsScheme() || strings.IndexByte("]<&`\\!", n.last()) >= 0 {
		n.put(' ')
	}
	n.replace(text, dest)
	n.dropped = true
}

// replace passes on the text of a link that is none, or its destination where
// it has no text. The replacement is never empty and begins no block, so that
// the line is the same running text as before: with nothing in the link's
// place, a line could begin with what is behind it.
func (n *inline) replace(text []byte, dest string) {
	before := len(n.line)
	if !isPaired(text) {
		text = bytes.ReplaceAll(text, []byte("`"), nil)
	}
	n.inner(bytes.TrimSpace(text), n.inLink)
	if len(n.line) == before && !n.inLink {
		n.putPlain(dest)
	}
	n.escapeBlock(before)
}

// escapeBlock escapes the mark of a block that what was put behind before may
// have made of a line that has had nothing but such marks.
func (n *inline) escapeBlock(before int) {
	for n.marks < before && strings.IndexByte(" \t>-+*.)`~#=|:_0123456789", n.line[n.marks]) >= 0 {
		n.marks++
	}
	if n.marks < before {
		return
	}
	text := n.line[before:]
	word := bytes.TrimLeft(text, "*_")
	switch digits := leadingDigits(n.line); {
	case digits >= before && digits > 0:
		if digits < len(n.line) && (n.line[digits] == '.' || n.line[digits] == ')') {
			n.line = slices.Insert(n.line, digits, '\\')
		}
	case len(word) == 0, len(text)-len(word) > 2, word[0] == ' ' && len(word) < len(text), strings.IndexByte(">-+~#=|:.)", word[0]) >= 0:
		n.line = slices.Insert(n.line, before, '\\')
	}
}

// leadingDigits returns how many digits a line begins with, up to the ten that
// are too many for a list.
func leadingDigits(line []byte) int { return leading(line[:min(10, len(line))], "0123456789") }

// withoutSpans drops the backticks of a link's text that could pair otherwise
// than they seem to: those around a bar, which can be escaped in text but not
// in code, those after an opening backtick without an end, which would take
// the "[" into a code span and leave the URL outside, and those without a pair
// in the text, with which marked sees no link.
func (n *inline) withoutSpans(text []byte) []byte {
	if n.unsure || bytes.IndexByte(text, '|') >= 0 || !isPaired(text) {
		return bytes.ReplaceAll(text, []byte("`"), nil)
	}
	return text
}

// isPaired reports whether the backticks of a text come in pairs, one by one.
func isPaired(text []byte) bool {
	open := false
	for i, ch := range text {
		if ch != '`' {
			continue
		}
		if i > 0 && (text[i-1] == '`' || !open && text[i-1] == '\\') {
			return false
		}
		open = !open
	}
	return !open
}

// inner passes on the text inside brackets.
func (n *inline) inner(text []byte, inLink bool) {
	in := inline{check: n.check, line: n.line, paragraph: n.paragraph, inLink: inLink, nested: true}
	in.scan(text, true)
	in.judge(' ')
	if in.span > 0 || in.unsure {
		n.unsure = true
	}
	n.split = n.split || in.split
	n.spanBars += in.spanBars
	if in.dropped && in.endsScheme() {
		n.dropped = true
	}
	n.line = in.line
}

// The kinds of brackets.
const (
	undecided = iota
	noBracket // "[" without its "]"
	noLink    // "[text]"
	linked    // "[text](dest)"
)

// bracketParts are the parts of a bracket: its text ends at s[text] == ']',
// the whole at end.
type bracketParts struct {
	text, end int
	dest      string
}

// maxNested bounds brackets within brackets: many would take quadratic time.
const maxNested = 8

// parseBracket reads a bracket at the beginning of s.
func parseBracket(s []byte, unsure, whole bool) (b bracketParts, kind int) {
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
			j := i + leading(s[i:], "`")
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
				return b, noBracket
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
	if s[b.end] != '(' {
		return b, noLink
	}
	dest, end, ok := parseDestination(s[b.end:])
	switch {
	case ok:
		b.dest, b.end = dest, b.end+end
		return b, linked
	case end == 0 && !whole:
		return b, undecided
	}
	return b, noBracket
}

// parseDestination reads `(dest "title")`. Where it isn't one, end is 0 if
// more input could complete it.
func parseDestination(s []byte) (dest string, end int, ok bool) {
	i := 1
	skip := func() { i += leading(s[min(i, len(s)):], " \t") }
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
