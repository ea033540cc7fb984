package assistant

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

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
