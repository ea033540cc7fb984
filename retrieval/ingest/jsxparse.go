package ingest

import (
	"bytes"
	"regexp"
	"strings"
)

// tag is a JSX tag.
type tag struct {
	name                 string
	closing, selfClosing bool
	attrs                []tagAttribute
}

type tagAttribute struct {
	key, value string
	literal    bool // value is text; false: code, or no value
}

func (t tag) attr(key string) string {
	for _, a := range t.attrs {
		if a.key == key && a.literal {
			return a.value
		}
	}
	return ""
}

// maxTag bounds the length of a tag or an expression, in bytes.
const maxTag = 64 << 10

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-.:$", c) >= 0
}

func attributeByte(c byte) bool { return nameByte(c) || c == '@' || c == '#' }

// skip returns the index of the first byte from i on for which in is false.
func skip(src []byte, i int, in func(byte) bool) int {
	for i < len(src) && in(src[i]) {
		i++
	}
	return i
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// tag parses the tag at pos and returns the index behind it, 0 if there is none.
func (p *preparer) tag() (t tag, end int) {
	src := p.src[:min(len(p.src), p.pos+maxTag)]
	if !p.mdx && p.pos > 0 && nameByte(src[p.pos-1]) {
		return t, 0 // Vec<T>
	}
	start := p.pos + 1
	if t.closing = bytes.HasPrefix(src[start:], []byte("/")); t.closing {
		start++
	}
	i := skip(src, start, nameByte)
	t.name = string(src[start:min(i, start+100)])
	switch {
	case t.name == "" && p.mdx && bytes.HasPrefix(src[i:], []byte(">")): // a fragment
		return t, i + 1
	case t.name == "" || strings.Contains(t.name, ":") || strings.IndexByte("0123456789.-", t.name[0]) >= 0,
		!p.mdx && (t.name[0] < 'A' || t.name[0] > 'Z'):
		return t, 0
	}
	for i > 0 && i < len(src) && p.budget > 0 {
		switch c := src[i]; {
		case c == '>':
			return t, i + 1
		case blank(c) || c == '/':
			t.selfClosing = t.selfClosing || c == '/'
			i++
		case c == '{': // {...spread} or a comment
			i = p.balanced(i, len(src))
		case attributeByte(c):
			var a tagAttribute
			a, i = p.attribute(src, i)
			t.attrs = append(t.attrs, a)
		default:
			p.budget -= i - p.pos
			i = 0
		}
	}
	p.budget -= max(0, i-p.pos)
	return t, 0
}

// attribute parses the attribute at i and returns the index behind it, -1 if
// its value has no end.
func (p *preparer) attribute(src []byte, i int) (a tagAttribute, end int) {
	end = skip(src, i, attributeByte)
	a.key = string(src[i:end])
	v := skip(src, end, blank)
	if v >= len(src) || src[v] != '=' {
		return a, end
	}
	v = skip(src, v+1, blank)
	switch {
	case v < len(src) && src[v] == '{':
		if end = p.balanced(v, len(src)); end > 0 {
			a.value, a.literal = literal(src[v+1 : end-1])
		}
		return a, end
	case v < len(src) && (src[v] == '"' || src[v] == '\''):
		if n := bytes.IndexByte(src[v+1:], src[v]); n >= 0 {
			a.value, a.literal = string(src[v+1:v+1+n]), true
			return a, v + n + 2
		}
	}
	p.budget -= len(src) - i
	return a, -1
}

// balanced returns the index behind the bracket that closes the one at i, -1
// if there is none before limit.
func (p *preparer) balanced(i, limit int) int {
	start, depth := i, 0
	src := p.src[:limit]
	for i < limit && p.budget > 0 {
		switch src[i] {
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			if depth--; depth <= 0 {
				return i + 1
			}
		case '"', '\'', '`':
			if e := quoteEnd(src, i); e > 0 {
				i = e
				continue
			}
		case '/':
			if e := bytes.Index(src[i:], []byte("*/")); e > 1 && src[i+1] == '*' {
				i += e + 2
				continue
			}
		}
		i++
	}
	p.budget -= i - start
	return -1
}

// quoteEnd is the index behind the string or template at i, -1 if it has no
// end. A string ends in its line, or its quote was an apostrophe.
func quoteEnd(src []byte, i int) int {
	quote := src[i]
	for j := i + 1; j < min(len(src), i+maxTag); j++ {
		switch {
		case src[j] == '\\':
			j++
		case src[j] == quote:
			return j + 1
		case src[j] == '\n' && quote != '`':
			return -1
		}
	}
	return -1
}

var holes = regexp.MustCompile(`\$\{[^{}]*\}`)

// literal reads an expression that is a string or a template. What a template
// inserts is left out.
func literal(code []byte) (value string, ok bool) {
	s := strings.TrimSpace(string(code))
	if len(s) < 2 || strings.IndexByte("\"'`", s[0]) < 0 || quoteEnd([]byte(s), 0) != len(s) {
		return "", false
	}
	value = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\"`, `"`, `\'`, `'`, "\\`", "`", `\$`, "$").Replace(s[1 : len(s)-1])
	if s[0] == '`' {
		value = holes.ReplaceAllString(value, "")
	}
	return value, true
}

// moduleLine matches the beginning of an import, or of an export in MDX.
var moduleLine = regexp.MustCompile(`^(?:` + importPattern + `|(export)\s+(?:(?:const|let|var|function|async|class|type|interface|enum)\s|default\b|\{|\*))`)

// module returns the index behind the import or export that begins at pos, or
// pos itself. It ends before an empty line that is not within brackets.
func (p *preparer) module() int {
	m := moduleLine.FindSubmatchIndex(p.src[p.pos:min(len(p.src), p.pos+300)])
	if p.budget < 0 || m == nil || m[2] >= 0 && !p.mdx {
		return p.pos
	}
	for i := p.pos; i < len(p.src); i++ {
		switch p.src[i] {
		case '{', '(', '[':
			e := p.balanced(i, len(p.src))
			if e < 0 { // its paragraph is left out
				if e = bytes.Index(p.src[i:], []byte("\n\n")); e >= 0 {
					return i + e + 1
				}
				return len(p.src)
			}
			i = e - 1
		case '\n':
			if p.endsLine(i + 1) {
				return i + 1
			}
		}
	}
	return len(p.src)
}
