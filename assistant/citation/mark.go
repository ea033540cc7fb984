package citation

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unanswered begins what a model's reply says of what the documentation
// doesn't answer. It is removed before the reader gets it, in whatever brackets
// or code the model writes it.
const Unanswered = "[[no-answer]]"

// A mark begins with openers and ends with closers, or is bare, where nothing
// is before it.
const (
	openers = "[({<`*_\\\"【「『［《"
	closers = "])}>`*_\\\"】」』］》"
	joiners = "-_\\‑–"
)

// Marks finds the mark in a streamed text, and leaves it out.
type Marks struct {
	Seen  bool
	First bool // nothing is before it
	last  byte // passed on last that is no space, 0 at the beginning
	held  []byte
}

// maxMark bounds what is held back, in bytes, and how far a mark is looked for.
const maxMark = 80

// Append takes a piece of the text and appends what is decided to dst.
func (m *Marks) Append(dst, text []byte) []byte {
	if len(m.held) > 0 {
		m.held = append(m.held, text...)
		text = m.held
	}
	return m.scan(dst, text, false)
}

// End appends what was held back.
func (m *Marks) End(dst []byte) []byte { return m.scan(dst, m.held, true) }

func (m *Marks) scan(dst, s []byte, final bool) []byte {
	i := 0
	for i < len(s) {
		n := m.next(s[i:])
		dst = append(dst, s[i:i+n]...)
		i += n
		if i == len(s) {
			break
		}
		ahead := s[i:min(i+maxMark, len(s))]
		length, open := matchMark(ahead, final && len(ahead) == len(s)-i)
		switch {
		case open && len(ahead) < maxMark:
			m.held = append(m.held[:0], s[i:]...)
			return dst
		case length > 0 && !open:
			m.First = m.First || !m.Seen && m.last == 0
			m.Seen = true
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

// next returns where in s a mark may begin next. What the check of the links
// doesn't hold back is looked at only where a sentence may begin.
func (m *Marks) next(s []byte) int {
	for i, c := range s {
		switch c {
		case '[', '{', '<', '\\', '\xE3', '\xEF': // the last two begin 【 and ［
			return i
		case 'n', 'N':
			if m.last == 0 {
				return i
			}
		case '(', '`', '*', '_', '"':
			if strings.IndexByte("\x00\n.!?:", m.last) >= 0 {
				return i
			}
		}
		m.pass(c)
	}
	return len(s)
}

func (m *Marks) pass(c byte) {
	if c != ' ' {
		m.last = c
	}
}

// matchMark returns the length of the mark that s begins with, with a colon and
// the space behind it, 0 if it begins with none. open says that more of s could
// make one.
func matchMark(s []byte, final bool) (length int, open bool) {
	rest := bytes.TrimLeft(s, openers)
	opened, between := len(rest) < len(s), joiners
	if opened {
		between += " "
	}
	for _, word := range []string{"no", "answer"} {
		if word == "answer" {
			joined := bytes.TrimLeft(rest, between)
			if len(joined) == len(rest) && len(rest) > 0 {
				return 0, false
			}
			rest = joined
		}
		n := min(len(rest), len(word))
		if !strings.EqualFold(string(rest[:n]), word[:n]) {
			return 0, false
		}
		if n < len(word) {
			return 0, !final
		}
		rest = rest[n:]
	}
	end := bytes.TrimLeft(rest, closers)
	closed := len(end) < len(rest)
	end = bytes.TrimLeft(end, ":")
	if len(end) == 0 && !final {
		return 0, true
	}
	if next, _ := utf8.DecodeRune(end); !closed && (opened || unicode.IsLetter(next)) {
		return 0, false // "no-answers"
	}
	return len(s) - len(bytes.TrimPrefix(end, []byte(" "))), false
}
