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
	literal    bool     // value is text; false: code, or a bare name
}

func (t tag) attr(key string) string {
	for _, a := range t.attrs {
		if a.key == key && a.literal {
			return a.value
		}
	}
	return ""
}

// readerAttributes hold words that readers see, whatever the component.
var readerAttributes = set(`title label heading header headline summary caption alt description desc tip
	placeholder subtitle tagline text question answer cta content-title tooltip body-text`)

// inlineTags stand within text even where they begin a line.
var inlineTags = set(`a abbr b bdi bdo cite code del em i img ins kbd mark q s samp small span strong sub sup u var time
	Badge Icon Tooltip Kbd Link A Image Img Latex Math Term Trans T`)

// silentTags show none of their attributes.
var silentTags = set(`Icon input meta link Script Head base source track path circle rect g line polygon br hr wbr col`)

// opaqueTags hold no text of the page.
var opaqueTags = set(`script style svg Script Style iframe noscript`)

var voidTags = set(`br hr img input meta link base source track col wbr area embed`)

func isHeadingTag(name string) bool {
	return len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6'
}

// angle rewrites what begins with "<".
func (p *preparer) angle() {
	rest := p.src[p.pos:]
	if bytes.HasPrefix(rest, []byte("<!--")) {
		if _, end := p.until(p.pos+4, "-->"); end > 0 {
			if !p.mdx {
				// A line that held only this must not become empty: that
				// would end the HTML around it.
				p.emit(string(p.src[p.pos:end]))
			}
			p.pos = end
			return
		}
	}
	if p.jsx && len(rest) > 1 {
		if t, end, ok := p.tag(); ok {
			p.write(t, end)
			return
		}
	}
	// An autolink is copied whole; any other "<" of MDX is text.
	if p.mdx && !autolink.Match(p.src[p.pos:min(p.lineEnd(p.pos), p.pos+300)]) {
		p.emit("&lt;")
	} else {
		p.emit("<")
	}
	p.pos++
}

var autolink = regexp.MustCompile(`^<(?:[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*|[\w.+-]+@[\w.-]+)>`)

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == ':' || c == '$'
}

// maxTag bounds the length of a tag with its attributes.
const maxTag = 64 << 10

// tag parses the tag at pos.
func (p *preparer) tag() (t tag, end int, ok bool) {
	src := p.src
	i := p.pos + 1
	if !p.mdx && p.pos > 0 && nameByte(src[p.pos-1]) {
		return t, 0, false // Vec<T>
	}
	if i < len(src) && src[i] == '/' {
		t.closing = true
		i++
	}
	start := i
	for i < len(src) && nameByte(src[i]) {
		i++
	}
	t.name = string(src[start:min(i, start+100)])
	switch {
	case i >= len(src):
		return t, 0, false
	case t.name == "":
		return t, i + 1, p.mdx && src[i] == '>' // a fragment
	case strings.Contains(t.name, ":") || !p.mdx && (t.name[0] < 'A' || t.name[0] > 'Z'):
		return t, 0, false
	case t.name[0] >= '0' && t.name[0] <= '9' || t.name[0] == '.' || t.name[0] == '-':
		return t, 0, false
	}
	limit := min(len(src), p.pos+maxTag)
	for i < limit && p.budget > 0 {
		switch c := src[i]; {
		case c == ' ' || c == '\t' || c == '\n':
			i++
		case c == '/':
			t.selfClosing = true
			i++
		case c == '>':
			return t, i + 1, true
		case c == '{': // {...spread} or a comment
			e := p.balanced(i, limit)
			if e < 0 {
				return t, 0, false
			}
			i = e
		case nameByte(c) || c == '@' || c == '#':
			start := i
			for i < limit && (nameByte(src[i]) || src[i] == '@' || src[i] == '#') {
				i++
			}
			a := tagAttribute{key: string(src[start:i])}
			j := i
			for j < limit && (src[j] == ' ' || src[j] == '\n' || src[j] == '\t') {
				j++
			}
			if j < limit && src[j] == '=' {
				j++
				for j < limit && (src[j] == ' ' || src[j] == '\n' || src[j] == '\t') {
					j++
				}
				if j >= limit {
					break
				}
				switch q := src[j]; q {
				case '"', '\'':
					n := bytes.IndexByte(src[j+1:limit], q)
					if n < 0 {
						p.budget -= limit - j
						return t, 0, false
					}
					a.value, a.literal = string(src[j+1:j+1+n]), true
					i = j + n + 2
				case '{':
					e := p.balanced(j, limit)
					if e < 0 {
						return t, 0, false
					}
					a.value, a.list, a.literal = literal(src[j+1 : e-1])
					i = e
				default:
					for j < limit && src[j] != '>' && src[j] > ' ' {
						j++
					}
					i = j
				}
			}
			t.attrs = append(t.attrs, a)
		default:
			p.budget -= i - p.pos
			return t, 0, false
		}
	}
	p.budget -= i - p.pos
	return t, 0, false
}

// balanced returns the index behind the brace that closes the one at i; -1
// if there is none before limit.
func (p *preparer) balanced(i, limit int) int {
	start, depth := i, 0
	src := p.src[:limit]
	for i < limit && p.budget > 0 {
		switch c := src[i]; c {
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			depth--
			if depth <= 0 {
				return i + 1
			}
		case '"', '\'':
			if e := stringEnd(src, i); e > 0 {
				i = e
				continue
			}
		case '`':
			if e := templateEnd(src, i); e > 0 {
				i = e
				continue
			}
		case '/':
			if i+1 < limit && src[i+1] == '*' {
				e := bytes.Index(src[i+2:], []byte("*/"))
				if e < 0 {
					p.budget -= limit - start
					return -1
				}
				i += e + 4
				continue
			}
		}
		i++
	}
	p.budget -= i - start
	return -1
}

// stringEnd is the index behind the string at i, -1 if its line holds no
// end: then the quote was an apostrophe.
func stringEnd(src []byte, i int) int {
	q := src[i]
	for j := i + 1; j < len(src) && src[j] != '\n'; j++ {
		if src[j] == '\\' {
			j++
		} else if src[j] == q {
			return j + 1
		}
	}
	return -1
}

func templateEnd(src []byte, i int) int {
	for j := i + 1; j < len(src) && j < i+maxTag; j++ {
		if src[j] == '\\' {
			j++
		} else if src[j] == '`' {
			return j + 1
		}
	}
	return -1
}

// literal reads an expression that is a string, a template without holes, a
// number, or a list of strings.
func literal(code []byte) (value string, list []string, ok bool) {
	s := strings.TrimSpace(string(code))
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && stringEnd([]byte(s), 0) == len(s) {
		return unquoteJS(s[1 : len(s)-1]), nil, true
	}
	if len(s) >= 2 && s[0] == '`' && templateEnd([]byte(s), 0) == len(s) {
		return holes.ReplaceAllString(unquoteJS(s[1:len(s)-1]), ""), nil, true
	}
	if len(s) > 1 && s[0] == '[' && !strings.ContainsAny(s, "{}()=>") {
		for _, m := range quoted.FindAllStringSubmatch(s, 50) {
			list = append(list, m[1]+m[2]+m[3])
		}
	}
	return "", list, false
}

var holes = regexp.MustCompile(`\$\{[^{}]*\}`)

func unquoteJS(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\"`, `"`, `\'`, `'`, "\\`", "`", `\$`, "$").Replace(s)
}

// write writes what is left of a tag.
func (p *preparer) write(t tag, end int) {
	switch {
	case t.closing:
		p.closeTag(t.name, end)
		return
	case opaqueTags[t.name] && !t.selfClosing:
		if _, after := p.until(end, "</"+t.name+">"); after > 0 {
			p.pos = after
			return
		}
	}
	closed := t.selfClosing || voidTags[t.name]
	rest := p.src[end:p.lineEnd(end)]
	block := p.bol && !p.heading && (blankUntil(rest) || !closed && !inlineTags[t.name])
	p.pos = end
	text := t.text()
	switch {
	case t.name == "br":
		p.emit(" ")
	case isHeadingTag(t.name) && !closed:
		p.parted()
		id := ""
		if a := t.attr("id"); a != "" {
			id = " {#" + a + "}"
		}
		p.emit(strings.Repeat("#", int(t.name[1]-'0')) + " ")
		p.heading = true
		p.push(container{name: t.name, close: id + "\n\n"})
	case t.name == "li" && !closed:
		p.parted()
		p.emit("- ")
		p.push(container{name: t.name})
	case (t.name == "td" || t.name == "th") && !closed:
		if !p.bol {
			p.emit(" | ")
		}
		p.push(container{name: t.name})
	case block:
		p.parted()
		if href := t.attr("href"); href != "" && text != "" && !strings.ContainsAny(href, " ()<>\n") {
			text = "[" + text + "](" + href + ")"
		}
		p.paragraph(text)
		if !closed {
			p.push(container{name: t.name, block: true, own: p.own, content: -1, out: p.indent})
		}
	case closed:
		if !p.heading {
			p.emit(text)
		}
	default:
		c := container{name: t.name}
		if to := t.attr("href") + t.attr("to"); to != "" && !strings.ContainsAny(to, " ()<>\n") && bytes.Contains(rest[:min(len(rest), 1000)], []byte("</"+t.name)) {
			p.emit("[")
			c.close = "](" + to + ")"
		} else if text != "" && !p.heading {
			c.close = " (" + text + ")"
		}
		p.push(c)
	}
}

func (p *preparer) closeTag(name string, end int) {
	p.pos = end
	for i := len(p.stack) - 1; i >= 0 && i >= len(p.stack)-200; i-- {
		c := p.stack[i]
		if c.name != name || c.indents {
			continue
		}
		p.stack = p.stack[:i]
		if isHeadingTag(name) {
			p.emit(strings.TrimRight(c.close, "\n"))
			p.heading = false
			p.parted()
			return
		}
		p.emit(c.close)
		if c.block || name == "tr" || name == "li" || name == "p" {
			p.parted()
			p.indent = c.out
		}
		return
	}
}

// text is what readers see of a tag's attributes, as Markdown.
func (t tag) text() string {
	if silentTags[t.name] {
		return ""
	}
	lowerCase := t.name == "" || t.name[0] >= 'a' && t.name[0] <= 'z'
	field := strings.HasSuffix(t.name, "Field") || t.name == "Param" || t.name == "Property" || t.name == "Parameter" || t.name == "Attribute"
	var out []string
	add := func(s string) {
		if s = plain(s); s != "" {
			out = append(out, s)
		}
	}
	for _, a := range t.attrs {
		key := strings.ToLower(a.key)
		switch {
		case lowerCase:
			if key == "alt" || key == "title" && t.name == "abbr" || key == "label" || key == "placeholder" {
				add(a.value)
			}
		case field && (key == "path" || key == "query" || key == "body" || key == "header" || key == "type"):
			add(a.value)
		case field && (key == "required" || key == "deprecated") && (a.value == "" || a.value == "true"):
			add(key)
		case field && key == "default" && a.literal:
			add("default: " + a.value)
		case readerAttributes[key] || key == "name":
			add(a.value)
		case key == "value" && (t.name == "TabItem" || t.name == "Color.Item") && (t.attr("label") == "" || t.name == "Color.Item"):
			add(a.value)
		}
		if key == "tags" || key == "items" || key == "rss" {
			for _, s := range a.list {
				add(s)
			}
		}
	}
	return strings.Join(out, " ")
}

// Captions and descriptions of components are often Markdown themselves.
var (
	writtenLink = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()\s]*\)`)
	writtenBold = regexp.MustCompile(`\*\*([^*\s](?:[^*]*[^*\s])?)\*\*`)
)

// plain makes text safe to stand in Markdown. Backticks keep their meaning:
// components read them as code too.
func plain(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if strings.Contains(s, "](") {
		s = writtenLink.ReplaceAllString(s, "$1")
	}
	if strings.Contains(s, "**") {
		s = writtenBold.ReplaceAllString(s, "$1")
	}
	var b strings.Builder
	ticks := strings.Count(s, "`")%2 == 0
	code := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '`' && ticks:
			code = !code
		case code:
		case c == '\\' || c == '`' || c == '*' || c == '_' || c == '[' || c == ']' || c == '<' || c == '>' || c == '#' || c == '|' || c == '~',
			i == 0 && (c == '-' || c == '+' || c == '='):
			b.WriteByte('\\')
		case (c == '.' || c == ')') && i < 10 && strings.Trim(s[:i], "0123456789") == "" && i > 0:
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

var commentID = regexp.MustCompile(`^\{/\*\s*#([^\s*]+)\s*\*/\}$`)

// expression rewrites {…}: text if it is a string, else nothing.
func (p *preparer) expression() bool {
	if p.heading && bytes.HasPrefix(p.src[p.pos:], []byte("{#")) {
		return false // an explicit id
	}
	end := p.balanced(p.pos, min(len(p.src), p.pos+maxTag))
	if end < 0 {
		return false
	}
	code := p.src[p.pos:end]
	p.pos = end
	if m := commentID.FindSubmatch(code); m != nil && p.heading {
		p.emit("{#" + string(m[1]) + "}")
		return true
	}
	value, _, ok := literal(code[1 : len(code)-1])
	switch {
	case !ok:
	case strings.Contains(strings.TrimSpace(value), "\n"):
		p.codeBlock("", value)
	case strings.TrimSpace(value) == "":
		p.emit(value)
	default:
		p.emit(plain(value))
	}
	return true
}

var (
	importLine = regexp.MustCompile(`^import\s+(?:['"]|\*\s+as\s|[\w$]+\s+from\s+['"]|(?:type\s+)?(?:[\w$]+\s*,\s*)?\{|[\w$]+\s*,\s*\*)`)
	exportLine = regexp.MustCompile(`^export\s+(?:(?:const|let|var|function|async|class|type|interface|enum)\s|default\b|\{|\*)`)
)

// module returns the index behind the import or export that begins at pos,
// or pos itself.
func (p *preparer) module() int {
	head := p.src[p.pos:min(len(p.src), p.pos+300)]
	if !importLine.Match(head) && !(exportLine.Match(head) && p.mdx) {
		return p.pos
	}
	if p.budget < 0 {
		return p.pos
	}
	depth := 0
	src := p.src
	for i := p.pos; i < len(src); i++ {
		switch src[i] {
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			depth--
		case '"', '\'':
			if e := stringEnd(src, i); e > 0 {
				i = e - 1
			}
		case '`':
			if e := templateEnd(src, i); e > 0 {
				i = e - 1
			}
		case '\n':
			if depth <= 0 {
				line := bytes.TrimRight(src[p.pos:i], " \t")
				if n := len(line); n > 0 && (line[n-1] == '=' || line[n-1] == ',' || line[n-1] == '>' && n > 1 && line[n-2] == '=') {
					continue
				}
				return i + 1
			}
		}
	}
	if depth <= 0 {
		return len(src)
	}
	p.budget -= len(src) - p.pos
	// Brackets that never close: the paragraph it stands in is left out.
	if i := bytes.Index(src[p.pos:], []byte("\n\n")); i >= 0 {
		return p.pos + i + 1
	}
	return len(src)
}
