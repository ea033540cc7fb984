package assistant

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unansweredMark begins what a model's reply says of what the documentation
// doesn't answer. It is removed before the reader gets it, in whatever brackets,
// code or escapes the model writes it.
const unansweredMark = "[[no-answer]]"

// marks finds the mark in a streamed text, and leaves it out.
type marks struct {
	seen  bool
	first bool // nothing is before it
	last  byte // passed on last that is no space, 0 at the beginning
	held  []byte
}

// maxMark bounds what is held back, in bytes, and how far a mark is looked for.
const maxMark = 80

// A mark begins with an opener and ends with a closer, or is bare, where nothing
// is before it. maybeMark matches the beginnings of marks.
var (
	anyMark, bareMark, maybeMark = func() (_, _, _ *regexp.Regexp) {
		const (
			opener = "[\\[({<`*_\\\\\"【「『［《]|&#91;|&lsqb;|&lbrack;|&lt;"
			closer = "[\\])}>`*_\\\\\"】」』］》]|&#93;|&rsqb;|&rbrack;|&gt;"
			joiner = "\\\\?[-_]|[‑–]|&#45;"
			entity = "(?:&[#a-z0-9]{0,6})?"
		)
		rest := "(?:" + closer + ")*" + entity + ":*"
		for _, letter := range []string{"r", "e", "w", "s", "n", "a"} {
			rest = "(?:" + letter + rest + ")?"
		}
		return regexp.MustCompile("(?i)^(?:" + opener + ")+no(?:" + joiner + "| )answer(?:" + closer + ")+:*"),
			regexp.MustCompile("(?i)^no(?:" + joiner + ")answer(?:" + closer + ")*:*"),
			regexp.MustCompile("(?i)^(?:" + opener + ")*" + entity + "(?:n(?:o(?:" + entity + "|\\\\|(?:" + joiner + "| )" + rest + "))?)?$")
	}()
)

// Append takes a piece of the text and appends what is decided to dst.
func (m *marks) Append(dst, text []byte) []byte {
	if len(m.held) > 0 {
		m.held = append(m.held, text...)
		text = m.held
	}
	return m.scan(dst, text, false)
}

// End appends what was held back.
func (m *marks) End(dst []byte) []byte { return m.scan(dst, m.held, true) }

func (m *marks) scan(dst, s []byte, final bool) []byte {
	i := 0
	for i < len(s) {
		n := m.next(s[i:])
		dst = append(dst, s[i:i+n]...)
		i += n
		if i == len(s) {
			break
		}
		ahead := s[i:min(i+maxMark, len(s))]
		length, open := m.match(ahead, final && len(ahead) == len(s)-i)
		switch {
		case open && len(ahead) < maxMark:
			m.held = append(m.held[:0], s[i:]...)
			return dst
		case length > 0 && !open:
			m.first = m.first || !m.seen && m.last == 0
			m.seen = true
			i += length
		default:
			_, size := utf8.DecodeRune(s[i:])
			m.pass(s[i])
			dst = append(dst, s[i:i+size]...)
			i += size
		}
	}
	m.held = m.held[:0]
	return dst
}

// mayOpen are the bytes that a mark may begin with.
var mayOpen = func() (is [256]bool) {
	for _, b := range []byte("nN(`*_\"[{<\\&\xE3\xEF") { // the last two begin 【 and ［
		is[b] = true
	}
	return is
}()

// next returns where in s a mark may begin next. What the check of the links
// doesn't hold back is looked at only where a sentence may begin.
func (m *marks) next(s []byte) int {
	for i, c := range s {
		if mayOpen[c] {
			switch c {
			case 'n', 'N':
				if m.last == 0 {
					return i
				}
			case '(', '`', '*', '_', '"':
				if strings.IndexByte("\x00\n.!?:", m.last) >= 0 {
					return i
				}
			default:
				return i
			}
		}
		m.pass(c)
	}
	return len(s)
}

func (m *marks) pass(c byte) {
	if c != ' ' {
		m.last = c
	}
}

// match returns the length of the mark that s begins with, with the space behind
// it, 0 if it begins with none. open says that more of s could make one.
func (m *marks) match(s []byte, final bool) (length int, open bool) {
	if !final && maybeMark.Match(s) {
		return 0, true
	}
	mark := anyMark.Find(s)
	if mark == nil {
		mark = bareMark.Find(s)
		if next, _ := utf8.DecodeRune(s[len(mark):]); unicode.IsLetter(next) {
			return 0, false // "no-answers"
		}
	}
	length = len(mark)
	if length > 0 && bytes.HasPrefix(s[length:], []byte(" ")) {
		length++
	}
	return length, false
}
