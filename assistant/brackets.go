package assistant

import (
	"bytes"
	"strings"
)

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
			end := from + b.end
			if end < len(s) && s[end] == ' ' {
				end++
			}
			return dst, end
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
			if !bytes.ContainsAny(label, "[]`<&\\") && !bytes.HasPrefix(label, []byte("^")) {
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
