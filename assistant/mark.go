package assistant

import (
	"bytes"
	"strings"
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

	steps int // words compared, for the test of its growth
}

// maxMark bounds what is held back, in bytes, and how far a mark is looked for.
const maxMark = 80

var (
	openers = []string{"[", "(", "{", "<", "`", "*", "_", "\\", "\"", "【", "「", "『", "［", "《", "&#91;", "&lsqb;", "&lbrack;", "&lt;"}
	closers = []string{"]", ")", "}", ">", "`", "*", "_", "\\", "\"", "】", "」", "』", "］", "》", "&#93;", "&rsqb;", "&rbrack;", "&gt;"}
	joiners = []string{"-", "_", " ", "\\-", "\\_", "‑", "–", "&#45;"}
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

// match returns the length of the mark that s begins with, with the white space
// behind it, 0 if it begins with none. open says that more of s could make one.
func (m *marks) match(s []byte, final bool) (length int, open bool) {
	rest := s
	opened := 0
	for {
		r, partial := m.trimAny(rest, openers)
		if partial && !final {
			return 0, true
		}
		if len(r) == len(rest) {
			break
		}
		rest = r
		opened++
	}
	for _, part := range [][]string{{"no"}, joiners, {"answer"}} {
		r, partial := m.trimAny(rest, part)
		if partial && !final {
			return 0, true
		}
		if len(r) == len(rest) {
			return 0, false
		}
		if opened == 0 && rest[0] == ' ' {
			return 0, false // "No answer is given"
		}
		rest = r
	}
	for closed := 0; ; closed++ {
		r, partial := m.trimAny(rest, closers)
		if partial && !final || len(rest) == 0 && !final {
			return 0, true
		}
		if len(r) == len(rest) {
			if opened > 0 && closed == 0 || opened == 0 && len(rest) > 0 && rest[0]|0x20 >= 'a' && rest[0]|0x20 <= 'z' {
				return 0, false
			}
			break
		}
		rest = r
	}
	rest = bytes.TrimLeft(rest, ":")
	if len(rest) == 0 && !final {
		return 0, true
	}
	rest = bytes.TrimPrefix(rest, []byte(" "))
	return len(s) - len(rest), false
}

// trimAny returns s without the word of words that it begins with, in any case.
// partial says that s could begin with one if it went on.
func (m *marks) trimAny(s []byte, words []string) (rest []byte, partial bool) {
	m.steps += len(words)
	for _, w := range words {
		switch {
		case len(s) >= len(w) && bytes.EqualFold(s[:len(w)], []byte(w)):
			return s[len(w):], false
		case len(s) < len(w) && bytes.EqualFold(s, []byte(w)[:len(s)]):
			partial = true
		}
	}
	return s, partial
}
