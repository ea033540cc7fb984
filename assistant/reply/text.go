package reply

import (
	"bytes"
	"unicode/utf8"
)

// Escape appends s in the form of Event.Text: the inside of a JSON string.
// Quotes, backslashes and control characters are escaped; everything else
// stays as it is, U+2028 and U+2029 included. Bytes that are not UTF-8 become
// U+FFFD.
func Escape(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if isPlain(c) {
				i++
				continue
			}
			dst = append(dst, s[from:i]...)
			dst = escapeASCII(dst, c)
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[from:i]...)
			dst = append(dst, "\uFFFD"...)
			i++
			from = i
			continue
		}
		i += n
	}
	return append(dst, s[from:]...)
}

// isPlain reports whether a byte needs no escape inside a JSON string.
func isPlain(c byte) bool { return c >= ' ' && c != '"' && c != '\\' }

// plainLength returns how many bytes s begins with that need no escape.
func plainLength(s []byte) int {
	for i, c := range s {
		if !isPlain(c) {
			return i
		}
	}
	return len(s)
}

const hexDigits = "0123456789abcdef"

func escapeASCII(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
}

// Unescape appends the plain text of s, which is in the form of Event.Text.
// A half of a surrogate pair without the other becomes U+FFFD, so pieces have
// to be joined first where they may be split inside a pair (see Joiner).
// Escape sequences that JSON does not know are kept as they are.
func Unescape(dst, s []byte) []byte {
	from := 0
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			i++
			continue
		}
		n := 2
		var r rune
		switch s[i+1] {
		case '"', '\\', '/':
			r = rune(s[i+1])
		case 'b':
			r = '\b'
		case 'f':
			r = '\f'
		case 'n':
			r = '\n'
		case 'r':
			r = '\r'
		case 't':
			r = '\t'
		case 'u':
			unit := unicodeEscape(s[i:])
			if unit < 0 {
				i += 2
				continue
			}
			r, n = unit, 6
			if isHigh(unit) {
				r = utf8.RuneError
				if low := unicodeEscape(s[i+6:]); isLow(low) {
					r, n = (unit-0xD800)<<10|(low-0xDC00)+0x10000, 12
				}
			} else if isLow(unit) {
				r = utf8.RuneError
			}
		default:
			i += 2
			continue
		}
		dst = append(dst, s[from:i]...)
		dst = utf8.AppendRune(dst, r)
		i += n
		from = i
	}
	return append(dst, s[from:]...)
}

func isHigh(unit rune) bool { return unit >= 0xD800 && unit < 0xDC00 }
func isLow(unit rune) bool  { return unit >= 0xDC00 && unit < 0xE000 }

// unicodeEscape returns the code unit of the \uXXXX that s begins with, -1 if
// it does not begin with one.
func unicodeEscape(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	var unit rune
	for _, c := range s[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		unit = unit<<4 | rune(c)
	}
	return unit
}

// Joiner joins pieces of text in the form of Event.Text that may be split
// between the halves of a surrogate pair: the first half is held until the
// next piece arrives. What it appends is always the inside of a valid JSON
// string: halves without the other become U+FFFD, and what is not properly
// escaped is escaped. The zero value is ready for use.
type Joiner struct {
	half [6]byte
	held bool
}

// lone replaces a half of a surrogate pair without the other.
const lone = `\ufffd`

// Append appends piece to dst, except a first half at its end.
func (j *Joiner) Append(dst, piece []byte) []byte {
	if len(piece) == 0 {
		return dst
	}
	if j.held {
		j.held = false
		if !isLow(unicodeEscape(piece)) {
			dst = append(dst, lone...)
		} else {
			dst = append(append(dst, j.half[:]...), piece[:6]...)
			piece = piece[6:]
		}
	}
	for {
		plain := plainLength(piece)
		dst = append(dst, piece[:plain]...)
		if piece = piece[plain:]; len(piece) == 0 {
			return dst
		}
		if piece[0] != '\\' {
			dst = escapeASCII(dst, piece[0])
			piece = piece[1:]
			continue
		}
		n := 1
		if len(piece) > 1 {
			switch piece[1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				n = 2
			case 'u':
				unit := unicodeEscape(piece)
				switch {
				case unit < 0:
				case !isHigh(unit) && !isLow(unit):
					n = 6
				case isHigh(unit) && isLow(unicodeEscape(piece[6:])):
					n = 12
				case isHigh(unit) && len(piece) == 6:
					copy(j.half[:], piece)
					j.held = true
					return dst
				default:
					dst = append(dst, lone...)
					piece = piece[6:]
					continue
				}
			}
		}
		if n == 1 { // a backslash that escapes nothing
			dst = append(dst, '\\')
		}
		dst = append(dst, piece[:n]...)
		piece = piece[n:]
	}
}

// AppendPlain is Append for the plain text of piece, as Unescape makes it.
func (j *Joiner) AppendPlain(dst, piece []byte) []byte {
	if !j.held && bytes.IndexByte(piece, '\\') < 0 {
		return append(dst, piece...)
	}
	return Unescape(dst, j.Append(make([]byte, 0, 64), piece))
}

// Held reports whether a first half is held until the next piece.
func (j *Joiner) Held() bool { return j.held }

// Close appends U+FFFD to dst if a first half is still held: there is no next
// piece. The Joiner can be used again.
func (j *Joiner) Close(dst []byte) []byte {
	if j.held {
		j.held = false
		dst = append(dst, lone...)
	}
	return dst
}
