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
	list       []string // of an array of strings
	literal    bool     // value is text; false: code, or no value
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

// tag parses the tag at pos.
func (p *preparer) tag() (t tag, end int, ok bool) {
	src := p.src[:min(len(p.src), p.pos+maxTag)]
	if !p.mdx && p.pos > 0 && nameByte(src[p.pos-1]) {
		return t, 0, false // Vec<T>
	}
	start := p.pos + 1
	if start < len(src) && src[start] == '/' {
		t.closing = true
		start++
	}
	i := skip(src, start, nameByte)
	t.name = string(src[start:min(i, start+100)])
	switch {
	case i >= len(src):
		return t, 0, false
	case t.name == "":
		return t, i + 1, p.mdx && src[i] == '>' // a fragment
	case strings.Contains(t.name, ":") || strings.IndexByte("0123456789.-", t.name[0]) >= 0:
		return t, 0, false
	case !p.mdx && (t.name[0] < 'A' || t.name[0] > 'Z'):
		return t, 0, false
	}
	for i < len(src) && p.budget > 0 {
		switch c := src[i]; {
		case blank(c):
			i++
		case c == '/':
			t.selfClosing = true
			i++
		case c == '>':
			return t, i + 1, true
		case c == '{': // {...spread} or a comment
			if i = p.balanced(i, len(src)); i < 0 {
				return t, 0, false
			}
		case attributeByte(c):
			a, e := p.attribute(src, i)
			if e < 0 {
				return t, 0, false
			}
			t.attrs = append(t.attrs, a)
			i = e
		default:
			p.budget -= i - p.pos
			return t, 0, false
		}
	}
	p.budget -= i - p.pos
	return t, 0, false
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
	if v >= len(src) {
		return a, len(src)
	}
	switch c := src[v]; c {
	case '"', '\'':
		n := bytes.IndexByte(src[v+1:], c)
		if n < 0 {
			p.budget -= len(src) - v
			return a, -1
		}
		a.value, a.literal = string(src[v+1:v+1+n]), true
		return a, v + n + 2
	case '{':
		if end = p.balanced(v, len(src)); end > 0 {
			a.value, a.list, a.literal = literal(src[v+1 : end-1])
		}
		return a, end
	}
	return a, skip(src, v, func(c byte) bool { return c != '>' && c > ' ' })
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
			if !bytes.HasPrefix(src[i:], []byte("/*")) {
				break
			}
			e := bytes.Index(src[i+2:], []byte("*/"))
			if e < 0 {
				p.budget -= limit - start
				return -1
			}
			i += e + 4
			continue
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

var (
	unescapeJS = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\"`, `"`, `\'`, `'`, "\\`", "`", `\$`, "$")
	holes      = regexp.MustCompile(`\$\{[^{}]*\}`)
)

// literal reads an expression that is a string, a template or a list of
// strings. What a template inserts is left out.
func literal(code []byte) (value string, list []string, ok bool) {
	s := strings.TrimSpace(string(code))
	switch {
	case len(s) < 2:
	case strings.IndexByte("\"'`", s[0]) >= 0 && quoteEnd([]byte(s), 0) == len(s):
		value = unescapeJS.Replace(s[1 : len(s)-1])
		if s[0] == '`' {
			value = holes.ReplaceAllString(value, "")
		}
		return value, nil, true
	case s[0] == '[' && !strings.ContainsAny(s, "{}()=>"):
		for _, m := range quoted.FindAllStringSubmatch(s, 50) {
			list = append(list, m[1]+m[2]+m[3])
		}
	}
	return "", list, false
}

const importPattern = `import\s+(?:['"]|\*\s+as\s|[\w$]+\s+from\s+['"]|(?:type\s+)?(?:[\w$]+\s*,\s*)?\{|[\w$]+\s*,\s*\*)`

var (
	importLine = regexp.MustCompile(`^` + importPattern)
	exportLine = regexp.MustCompile(`^export\s+(?:(?:const|let|var|function|async|class|type|interface|enum)\s|default\b|\{|\*)`)
	// unfinished matches the end of a line after which a statement continues.
	unfinished = regexp.MustCompile(`(?:=|,|=>)[ \t]*$`)
)

// module returns the index behind the import or export that begins at pos,
// or pos itself.
func (p *preparer) module() int {
	head := p.src[p.pos:min(len(p.src), p.pos+300)]
	if p.budget < 0 || !importLine.Match(head) && !(p.mdx && exportLine.Match(head)) {
		return p.pos
	}
	depth, src := 0, p.src
	for i := p.pos; i < len(src); i++ {
		switch src[i] {
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			depth--
		case '"', '\'', '`':
			if e := quoteEnd(src, i); e > 0 {
				i = e - 1
			}
		case '\n':
			if depth <= 0 && !unfinished.Match(src[max(p.pos, i-100):i]) {
				return i + 1
			}
		}
	}
	if depth <= 0 {
		return len(src)
	}
	p.budget -= len(src) - p.pos
	// If its brackets never close, the import's paragraph is left out.
	if i := bytes.Index(src[p.pos:], []byte("\n\n")); i >= 0 {
		return p.pos + i + 1
	}
	return len(src)
}
