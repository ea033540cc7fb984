package model

import (
	"bytes"
	"unicode/utf8"
)

// piece is what one chunk of a reply holds: spans of the chunk's own bytes.
type piece struct {
	// text and reasoning are the insides of JSON strings, checked to be
	// valid: what reply.Event.Text asks for.
	text, reasoning []byte
	// usage is the JSON object of that name.
	usage []byte
}

// walk reads a chunk of the usual shape,
//
//	{…, "choices":[{"index":0,"delta":{"content":"token"},"finish_reason":null}], …}
//
// with its keys in any order, without allocating and without copying. It
// returns false for anything else (tool calls, finish reasons, errors,
// malformed JSON or text), which the slow path then reads or refuses.
func (p *piece) walk(b []byte) bool {
	*p = piece{}
	seen := false
	i, ok := object(b, space(b, 0), func(key []byte, i int) int {
		switch string(key) {
		case "choices":
			if seen {
				return -1
			}
			seen = true
			return p.choices(b, i)
		case "usage":
			end := value(b, i)
			if end > 0 && b[i] == '{' {
				p.usage = b[i:end]
			}
			return end
		case "error", "x_groq":
			return null(b, i)
		}
		return value(b, i)
	})
	return ok && seen && space(b, i) == len(b)
}

func (p *piece) choices(b []byte, i int) int {
	if at(b, i) != '[' {
		return -1
	}
	i = space(b, i+1)
	if at(b, i) == ']' {
		return i + 1
	}
	i, ok := object(b, i, func(key []byte, i int) int {
		switch string(key) {
		case "index":
			if at(b, i) != '0' {
				return -1
			}
			return value(b, i)
		case "delta":
			i, ok := object(b, i, func(key []byte, i int) int { return p.delta(b, key, i) })
			if !ok {
				return -1
			}
			return i
		case "finish_reason", "message", "text", "error":
			return null(b, i)
		}
		return value(b, i)
	})
	if !ok {
		return -1
	}
	if i = space(b, i); at(b, i) != ']' {
		return -1
	}
	return i + 1
}

func (p *piece) delta(b, key []byte, i int) int {
	switch string(key) {
	case "content":
		return span(b, i, &p.text)
	case "reasoning_content", "reasoning":
		return span(b, i, &p.reasoning)
	case "refusal", "tool_calls", "function_call", "thinking", "reasoning_details":
		if at(b, i) == '[' {
			if i = space(b, i+1); at(b, i) == ']' {
				return i + 1
			}
			return -1
		}
		return null(b, i)
	}
	return value(b, i)
}

// object reads the object at i and calls member with each key and the index
// of its value; member returns the index behind the value, or -1.
func object(b []byte, i int, member func(key []byte, i int) int) (int, bool) {
	if at(b, i) != '{' {
		return i, false
	}
	i = space(b, i+1)
	if at(b, i) == '}' {
		return i + 1, true
	}
	for {
		if at(b, i) != '"' {
			return i, false
		}
		end := bytes.IndexByte(b[i+1:], '"')
		if end < 0 {
			return i, false
		}
		key := b[i+1 : i+1+end]
		if bytes.IndexByte(key, '\\') >= 0 {
			return i, false
		}
		if i = space(b, i+end+2); at(b, i) != ':' {
			return i, false
		}
		if i = member(key, space(b, i+1)); i < 0 {
			return i, false
		}
		switch i = space(b, i); at(b, i) {
		case ',':
			i = space(b, i+1)
		case '}':
			return i + 1, true
		default:
			return i, false
		}
	}
}

// span reads the string at i into s, or null; a second string for the same
// s (reasoning under two names) is refused.
func span(b []byte, i int, s *[]byte) int {
	if at(b, i) != '"' {
		return null(b, i)
	}
	if *s != nil {
		return -1
	}
	end, ok := text(b, i+1)
	if !ok {
		return -1
	}
	*s = b[i+1 : end]
	return end + 1
}

// text checks the inside of a JSON string that starts at i, and returns the
// index of its closing quote. Surrogates may stand alone: the other half
// often comes with the next token.
func text(b []byte, i int) (end int, ok bool) {
	start, ascii := i, true
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			return i, ascii || utf8.Valid(b[start:i])
		case c == '\\':
			switch at(b, i+1) {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if i+6 > len(b) || !hex(b[i+2]) || !hex(b[i+3]) || !hex(b[i+4]) || !hex(b[i+5]) {
					return 0, false
				}
				i += 6
			default:
				return 0, false
			}
		case c < ' ':
			return 0, false
		default:
			if c >= utf8.RuneSelf {
				ascii = false
			}
			i++
		}
	}
	return 0, false
}

func hex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// value returns the index behind the JSON value at i, -1 if there is none.
// Brackets are matched; nesting deeper than 64 is left to the slow path.
func value(b []byte, i int) int {
	var kinds uint64 // a bit a level: 1 for an object
	depth := 0
	for i < len(b) {
		switch c := b[i]; c {
		case '"':
			if i = str(b, i+1); i < 0 {
				return -1
			}
		case '{', '[':
			if depth == 64 {
				return -1
			}
			kinds <<= 1
			if c == '{' {
				kinds |= 1
			}
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 || (kinds&1 == 1) != (c == '}') {
				return -1
			}
			kinds >>= 1
			depth--
			i++
		case ' ', '\t', '\r', '\n', ',', ':':
			if depth == 0 {
				return -1
			}
			i++
			continue
		default:
			start := i
			for i < len(b) && (b[i] == '-' || b[i] == '+' || b[i] == '.' || b[i]|0x20 >= 'a' && b[i]|0x20 <= 'z' || b[i] >= '0' && b[i] <= '9') {
				i++
			}
			if i == start {
				return -1
			}
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

// str returns the index behind the string whose inside starts at i.
func str(b []byte, i int) int {
	for {
		n := bytes.IndexByte(b[min(i, len(b)):], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for n > slashes && b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
		i++
	}
}

func null(b []byte, i int) int {
	if i >= 0 && i+4 <= len(b) && string(b[i:i+4]) == "null" {
		return i + 4
	}
	return -1
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

func at(b []byte, i int) byte {
	if i >= 0 && i < len(b) {
		return b[i]
	}
	return 0
}
