package assistant

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendEscaped appends s as the inside of a JSON string. Text that is not
// valid UTF-8 becomes U+FFFD.
func appendEscaped(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				dst = append(dst, '\\', c)
			case c == '\n':
				dst = append(dst, '\\', 'n')
			case c == '\r':
				dst = append(dst, '\\', 'r')
			case c == '\t':
				dst = append(dst, '\\', 't')
			case c < 0x20 || c == 0x7f:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			default:
				dst = append(dst, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, "\uFFFD"...)
		case r == '\u2028' || r == '\u2029': // line ends to JavaScript's eval
			dst = append(dst, `\u202`...)
			dst = append(dst, hexDigits[r&15])
		default:
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst
}

// unit reads one unit of escaped text: a byte that stands for itself (also
// one of a multi-byte character) or an escape sequence. r is the character it
// stands for, or -1 for a byte of a longer character or half of a surrogate
// pair, neither of which means anything to Markdown. n is its length.
func unit(b []byte) (r rune, n int) {
	c := b[0]
	if c != '\\' {
		if c >= utf8.RuneSelf {
			return -1, 1
		}
		return rune(c), 1
	}
	if len(b) < 2 {
		return -1, 1
	}
	switch b[1] {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		if len(b) < 6 {
			return -1, len(b)
		}
		v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
		if err != nil || utf16.IsSurrogate(rune(v)) {
			return -1, 6
		}
		return rune(v), 6
	}
	return rune(b[1]), 2
}

// unescape returns the plain text of escaped text.
func unescape(b []byte) string {
	plain := true
	for _, c := range b {
		if c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		if b[0] != '\\' {
			out = append(out, b[0])
			b = b[1:]
			continue
		}
		if len(b) >= 6 && b[1] == 'u' {
			v, _ := strconv.ParseUint(string(b[2:6]), 16, 16)
			r := rune(v)
			b = b[6:]
			if utf16.IsSurrogate(r) {
				r2 := utf8.RuneError
				if len(b) >= 6 && b[0] == '\\' && b[1] == 'u' {
					v2, _ := strconv.ParseUint(string(b[2:6]), 16, 16)
					r2 = utf16.DecodeRune(r, rune(v2))
				}
				if r2 != utf8.RuneError {
					b = b[6:]
				}
				r = r2
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		r, n := unit(b)
		if r >= 0 {
			out = utf8.AppendRune(out, r)
		}
		b = b[n:]
	}
	return string(out)
}
