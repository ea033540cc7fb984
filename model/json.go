package model

import (
	"encoding/json"
	"iter"
	"strings"
)

// The functions below read valid JSON in place: a token costs no allocation,
// and its text keeps the escapes it was sent with, so that half of an emoji (a
// lone surrogate) survives until the other half arrives.

// members yields the members of a JSON object; none for any other value.
func members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		if len(b) == 0 || b[0] != '{' {
			return
		}
		for rest := b[1:]; ; {
			var key, value []byte
			if key, rest = nextValue(rest); key == nil {
				return
			}
			value, rest = nextValue(rest)
			if !yield(key[1:len(key)-1], value) {
				return
			}
		}
	}
}

// elements yields the elements of a JSON array; none for any other value.
func elements(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(b) == 0 || b[0] != '[' {
			return
		}
		for rest := b[1:]; ; {
			var value []byte
			if value, rest = nextValue(rest); value == nil || !yield(value) {
				return
			}
		}
	}
}

// nextValue returns the next value inside an object or array, and what follows
// it; nil at the closing bracket.
func nextValue(b []byte) (value, rest []byte) {
	for b[0] <= ' ' || b[0] == ',' || b[0] == ':' {
		b = b[1:]
	}
	depth := 0
	for i := 0; ; i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return nil, b
			}
			depth--
		default:
			for depth == 0 && strings.IndexByte(",]} \t\r\n", b[i+1]) < 0 {
				i++ // a number, true, false or null
			}
		}
		if depth == 0 {
			return b[:i+1], b[i+1:]
		}
	}
}

func isNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// plain returns the text of a JSON string, and any other value as it is
// written.
func plain(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
