// Package rawjson reads JSON in place. A value costs no allocation, and strings
// keep the escapes they were sent with, so that half of an emoji (a lone
// surrogate) survives until the other half arrives. encoding/json's Valid alone
// takes twice the time of all functions of this package, and the faster
// libraries recurse without a limit.
package rawjson

import (
	"iter"
	"strings"
)

// Object calls each with the members of b, and reports whether b is a JSON
// object. It is Valid and Members in one pass, so some members may have been
// there when b turns out to be no JSON.
func Object(b []byte, each func(key, value []byte)) bool {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '{' {
		return false
	}
	end := skipMembers(b, i, 1, each)
	return end >= 0 && skipSpace(b, end) == len(b)
}

// Members yields the members of a valid JSON object; none for any other value.
func Members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		if len(b) == 0 || b[0] != '{' {
			return
		}
		for i := 1; ; {
			var key, value []byte
			if key, i = nextValue(b, i); key == nil {
				return
			}
			value, i = nextValue(b, i)
			if !yield(key[1:len(key)-1], value) {
				return
			}
		}
	}
}

// Elements yields the elements of a valid JSON array; none for any other value.
func Elements(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(b) == 0 || b[0] != '[' {
			return
		}
		for i := 1; ; {
			var value []byte
			if value, i = nextValue(b, i); value == nil || !yield(value) {
				return
			}
		}
	}
}

// nextValue returns the next value inside a valid object or array, and the
// index behind it; nil at the closing bracket.
func nextValue(b []byte, i int) ([]byte, int) {
	for b[i] <= ' ' || b[i] == ',' || b[i] == ':' {
		i++
	}
	end := skipValue(b, i, 0)
	if end < 0 {
		return nil, i
	}
	return b[i:end], end
}

// maxDepth is how deep arrays and objects may be nested, as in encoding/json.
const maxDepth = 10000

// Valid reports whether b is one JSON value (RFC 8259).
func Valid(b []byte) bool {
	end := skipValue(b, skipSpace(b, 0), 0)
	return end >= 0 && skipSpace(b, end) == len(b)
}

// skipValue returns the index behind the value that begins at b[i], -1 if none
// does.
func skipValue(b []byte, i, depth int) int {
	if i == len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipMembers(b, i, depth+1, nil)
	case 't':
		return skipWord(b, i, "true")
	case 'f':
		return skipWord(b, i, "false")
	case 'n':
		return skipWord(b, i, "null")
	}
	return skipNumber(b, i)
}

// skipMembers returns the index behind the object or array at b[i]. It calls
// each, if that is not nil, with the members of an object.
func skipMembers(b []byte, i, depth int, each func(key, value []byte)) int {
	isObject, closing := b[i] == '{', b[i]+2 // ASCII has one character between the brackets
	if depth > maxDepth {
		return -1
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == closing {
		return i + 1
	}
	for {
		var key []byte
		if isObject {
			if i == len(b) || b[i] != '"' {
				return -1
			}
			begin := i + 1
			if i = skipString(b, i); i < 0 {
				return -1
			}
			key = b[begin : i-1]
			if i = skipSpace(b, i); i == len(b) || b[i] != ':' {
				return -1
			}
			i = skipSpace(b, i+1)
		}
		begin := i
		if i = skipValue(b, i, depth); i < 0 {
			return -1
		}
		if each != nil && isObject {
			each(key, b[begin:i])
		}
		if i = skipSpace(b, i); i == len(b) {
			return -1
		}
		switch b[i] {
		case closing:
			return i + 1
		case ',':
			i = skipSpace(b, i+1)
		default:
			return -1
		}
	}
}

// ordinary are the bytes that mean themselves in a string.
var ordinary = func() (is [256]bool) {
	for c := range is {
		is[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return is
}()

// skipOrdinary returns how many ordinary bytes b begins with.
func skipOrdinary(b []byte) int {
	for i, c := range b {
		if !ordinary[c] {
			return i
		}
	}
	return len(b)
}

// skipString returns the index behind the string at b[i].
func skipString(b []byte, i int) int {
	for {
		i++
		i += skipOrdinary(b[i:])
		switch {
		case i == len(b) || b[i] < ' ':
			return -1
		case b[i] == '"':
			return i + 1
		}
		if i++; i == len(b) {
			return -1
		}
		switch b[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			for range 4 {
				if i++; i == len(b) || strings.IndexByte("0123456789abcdefABCDEF", b[i]) < 0 {
					return -1
				}
			}
		default:
			return -1
		}
	}
}

// skipNumber returns the index behind the number at b[i].
func skipNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	end := skipDigits(b, i)
	if end == i || b[i] == '0' && end > i+1 {
		return -1
	}
	if i = end; i < len(b) && b[i] == '.' {
		if end = skipDigits(b, i+1); end == i+1 {
			return -1
		}
		i = end
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if end = skipDigits(b, i); end == i {
			return -1
		}
		i = end
	}
	return i
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

func skipWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}
