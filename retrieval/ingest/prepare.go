package ingest

import (
	"bytes"
	"regexp"
	"strings"
)

// prepare rewrites what CommonMark does not know into what it does, outside
// of code: MDX and JSX (jsx.go), directives (:::note), MkDocs admonitions
// and tabs (!!! note, === "Tab"), Hugo's shortcodes and Liquid's tags.
// Content that stands indented below such a block is moved out to the
// block's own column: CommonMark would take it for code.
func prepare(src []byte, mdx bool) []byte {
	jsx := mdx
	if !mdx {
		var other bool
		if jsx, other = dialects(src); !jsx && !other {
			return src
		}
	}
	p := &preparer{src: src, mdx: mdx, jsx: jsx, bol: true, out: make([]byte, 0, len(src)+len(src)/8), budget: 64<<10 + 8*len(src), lineFrom: 1}
	for p.pos < len(p.src) {
		p.line()
	}
	return p.out
}

// dialects reports whether Markdown holds JSX, and whether it holds any other
// construct that is rewritten. Most pages hold neither.
func dialects(src []byte) (jsx, other bool) {
	jsx = bytes.Contains(src, []byte("{/*"))
	for _, s := range []string{"{{<", "{{%", "{%"} {
		other = other || bytes.Contains(src, []byte(s))
	}
	other = other || bytes.Contains(src, []byte("{{")) && templateActions.Match(src)
	for line := range bytes.Lines(src) {
		line = bytes.TrimLeft(line, " \t")
		if len(line) < 3 {
			continue
		}
		switch line[0] {
		case '<':
			c := line[1]
			if c == '/' {
				c = line[2]
			}
			jsx = jsx || c >= 'A' && c <= 'Z'
		case 'i':
			jsx = jsx || importLine.Match(line[:min(len(line), 300)])
		case ':':
			other = other || bytes.HasPrefix(line, []byte(":::"))
		case '!':
			other = other || bytes.HasPrefix(line, []byte("!!!"))
		case '?':
			other = other || bytes.HasPrefix(line, []byte("???"))
		case '=':
			other = other || bytes.HasPrefix(line, []byte("===")) && bytes.IndexByte(line[:min(len(line), 300)], '"') > 0
		}
	}
	return jsx, other
}

// Statements of Go's templates in Markdown, as Caddy's templates run them,
// leave nothing that can be known here. Values ({{.Name}}) stay: other
// generators write variables so, and readers search their names.
var (
	templateAction  = regexp.MustCompile(`^\{\{-?\s*(?:/\*|(?:include|import|readFile|template|block|define|if|else|end|range|with)\b)`)
	templateActions = regexp.MustCompile(`\{\{-?\s*(?:/\*|(?:include|import|readFile|template|block|define|if|else|end|range|with)\b)`)
)

var (
	admonish = regexp.MustCompile(`^(?:(?:!!!|\?\?\?\+?)[ \t]+[\w -]+?|===[!+]?)[ \t]*(?:"((?:[^"\\]|\\.)*)")?[ \t]*$`)
	colons   = regexp.MustCompile(`^:{3,}[ \t]*(?:\{?[\w-]+\}?)?[ \t]*(?:\[([^\]]*)\])?[ \t]*(\{[^}]*\})?[ \t]*(.*)$`)
	listMark = regexp.MustCompile(`^(?:(?:[-*+]|\d{1,9}[.)])[ \t]+|>[ \t]?)+`)
)

// container is a block whose tag or marker was dropped.
type container struct {
	name    string
	block   bool
	own     int    // column of its tag in the source
	content int    // column of its content in the source, -1 not seen yet
	out     int    // column of its content in the output
	close   string // what stands for its closing tag
	indents bool   // ends with its indentation (MkDocs), not by a tag
}

type preparer struct {
	src     []byte
	pos     int
	mdx     bool // all tags are JSX, braces are expressions
	jsx     bool // components' tags are JSX
	out     []byte
	bol     bool // nothing was written in the output's line yet
	indent  int  // of the output's line
	own     int  // column of the source's line
	heading bool // in a heading's line: line breaks are blanks
	stack   []container
	// budget bounds the bytes that are looked at in vain: a page of
	// unclosed tags would else take quadratic time.
	budget int
	// lineFrom to lineTo hold no line break: one long line is not searched
	// again for each of its tags.
	lineFrom, lineTo int
}

func (p *preparer) emit(s string) {
	if s == "" {
		return
	}
	if p.bol {
		for range p.indent {
			p.out = append(p.out, ' ')
		}
		p.bol = false
	}
	p.out = append(p.out, s...)
}

func (p *preparer) newline() {
	p.out = append(p.out, '\n')
	p.bol = true
}

// parted makes the next text a new block.
func (p *preparer) parted() {
	if !p.bol {
		p.newline()
	}
	if n := len(p.out); n > 0 && !bytes.HasSuffix(p.out, []byte("\n\n")) {
		p.newline()
	}
}

// paragraph writes text as a block of its own.
func (p *preparer) paragraph(markdown string) {
	if markdown != "" {
		p.parted()
		p.emit(markdown)
		p.parted()
	}
}

// push enters a container. Beyond a depth that no page has, tags are taken
// as unclosed.
func (p *preparer) push(c container) {
	if len(p.stack) < 500 {
		p.stack = append(p.stack, c)
	}
}

// top is the innermost container that shapes indentation.
func (p *preparer) top() *container {
	for i := len(p.stack) - 1; i >= 0; i-- {
		if p.stack[i].block {
			return &p.stack[i]
		}
	}
	return nil
}

// lineEnd is the index of the line break at or after i.
func (p *preparer) lineEnd(i int) int {
	if i < p.lineFrom || i > p.lineTo {
		p.lineFrom, p.lineTo = i, len(p.src)
		if n := bytes.IndexByte(p.src[i:], '\n'); n >= 0 {
			p.lineTo = i + n
		}
	}
	return p.lineTo
}

// leading measures the white space at i: its columns, and where it ends.
func (p *preparer) leading(i int) (columns, end int) {
	for ; i < len(p.src); i++ {
		switch p.src[i] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		default:
			return columns, i
		}
	}
	return columns, i
}

// line rewrites one line, or the several that a tag on it takes.
func (p *preparer) line() {
	end := p.lineEnd(p.pos)
	columns, first := p.leading(p.pos)
	if first >= end {
		p.bol = true
		p.newline()
		p.pos = min(end+1, len(p.src))
		return
	}
	for t := p.top(); t != nil && t.indents && columns <= t.own; t = p.top() {
		p.drop(t)
	}
	out := columns
	if t := p.top(); t != nil {
		if t.content < 0 {
			t.content = columns
		}
		out = t.out + max(0, columns-t.content)
	}
	p.indent, p.own = out, columns
	p.pos = first
	rest := p.src[first:end]
	if marker, n := fenceOpens(rest); n > 0 {
		p.fence(marker, n)
		return
	}
	if p.block(string(rest[:min(len(rest), 2000)]), columns, end) {
		return
	}
	if p.jsx && columns == 0 && (len(p.out) == 0 || bytes.HasSuffix(p.out, []byte("\n\n")) || p.mdx) {
		if e := p.module(); e > p.pos {
			p.pos = e
			return
		}
	}
	p.heading = rest[0] == '#'
	p.inline()
	p.heading = false
}

// drop leaves a container, and those within it.
func (p *preparer) drop(t *container) {
	for i := range p.stack {
		if &p.stack[i] == t {
			p.stack = p.stack[:i]
			return
		}
	}
}

// block rewrites a line that opens or closes a block of Markdown's dialects.
func (p *preparer) block(line string, columns, end int) bool {
	next := min(end+1, len(p.src))
	switch line[0] {
	case ':':
		m := colons.FindStringSubmatch(line)
		if m == nil {
			return false
		}
		title := m[1]
		if title == "" {
			title = m[3]
		}
		if a := fenceTitle.FindStringSubmatch(strings.Trim(m[2], "{}")); title == "" && a != nil {
			title = a[1] + a[2]
		}
		p.parted()
		p.paragraph(title)
	case '!', '?', '=':
		m := admonish.FindStringSubmatch(line)
		if m == nil || p.mdx || line[0] == '=' && !strings.Contains(line, `"`) {
			return false
		}
		p.parted()
		p.paragraph(strings.ReplaceAll(m[1], `\"`, `"`))
		p.push(container{block: true, indents: true, own: columns, content: -1, out: p.indent})
	default:
		return false
	}
	p.pos = next
	return true
}

// fenceOpens reports whether a line opens a code block, and with what.
func fenceOpens(line []byte) (marker byte, n int) {
	if len(line) > 0 && line[0] != '`' && line[0] != '~' {
		m := listMark.Find(line[:min(len(line), 100)])
		line = line[len(m):]
	}
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return 0, 0
	}
	for n < len(line) && line[n] == line[0] {
		n++
	}
	if n < 3 || line[0] == '`' && bytes.IndexByte(line[n:], '`') >= 0 {
		return 0, 0
	}
	return line[0], n
}

// fence copies a code block, moved to its container's column.
func (p *preparer) fence(marker byte, n int) {
	shift := 0 // columns to take away
	if t := p.top(); t != nil {
		shift = t.content - t.out
	}
	p.copyLine()
	for p.pos < len(p.src) {
		end := p.lineEnd(p.pos)
		columns, first := p.leading(p.pos)
		if first >= end {
			p.newline()
			p.pos = min(end+1, len(p.src))
			continue
		}
		body := bytes.TrimLeft(p.src[first:end], "> \t")
		run := 0
		for run < len(body) && body[run] == marker {
			run++
		}
		closes := run >= n && len(bytes.TrimSpace(body[run:])) == 0
		if shift > 0 || columns < shift {
			p.indent = max(0, columns-shift)
			p.pos = first
		} else {
			p.indent = 0
		}
		p.copyLine()
		if closes {
			return
		}
	}
}

// copyLine copies the rest of the line as it is.
func (p *preparer) copyLine() {
	end := p.lineEnd(p.pos)
	p.emit(string(p.src[p.pos:end]))
	p.newline()
	p.pos = min(end+1, len(p.src))
}

// inline rewrites running text up to the end of its line.
func (p *preparer) inline() {
	for p.pos < len(p.src) {
		start := p.pos
		for p.pos < len(p.src) && !special[p.src[p.pos]] {
			p.pos++
		}
		p.emit(string(p.src[start:p.pos]))
		if p.pos >= len(p.src) {
			break
		}
		switch p.src[p.pos] {
		case '\n':
			p.pos++
			if p.heading && len(p.stack) > 0 && p.stack[len(p.stack)-1].close != "" && p.mdx && isHeadingTag(p.stack[len(p.stack)-1].name) {
				p.emit(" ")
				_, p.pos = p.leading(p.pos)
				continue
			}
			p.newline()
			return
		case '\\':
			n := min(2, len(p.src)-p.pos)
			if n == 2 && p.src[p.pos+1] == '\n' {
				n = 1
			}
			p.emit(string(p.src[p.pos : p.pos+n]))
			p.pos += n
		case '`':
			p.codeSpan()
		case '<':
			p.angle()
		case '{':
			p.brace()
		}
	}
	p.bol = p.bol || len(p.out) == 0
}

var special = [256]bool{'\n': true, '\\': true, '`': true, '<': true, '{': true}

// codeSpan copies an inline code span, or a run of backticks that opens none.
func (p *preparer) codeSpan() {
	n := 0
	for p.pos+n < len(p.src) && p.src[p.pos+n] == '`' {
		n++
	}
	limit := min(len(p.src), p.pos+4000)
	if i := bytes.Index(p.src[p.pos:limit], []byte("\n\n")); i >= 0 {
		limit = p.pos + i
	}
	for i := p.pos + n; i < limit; i++ {
		if p.src[i] != '`' {
			continue
		}
		run := i
		for i < limit && p.src[i] == '`' {
			i++
		}
		if i-run == n {
			p.emit(string(p.src[p.pos:i]))
			p.pos = i
			return
		}
	}
	p.emit(string(p.src[p.pos : p.pos+n]))
	p.pos += n
}

// alone reports whether what stands from start to end has its line for itself.
func (p *preparer) alone(end int) bool {
	if !p.bol {
		return false
	}
	return blankUntil(p.src[end:p.lineEnd(end)])
}

// blankUntil reports whether a line holds nothing more, and stops looking at
// its first character that is something.
func blankUntil(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' {
			return false
		}
	}
	return true
}

// brace rewrites an expression, a shortcode or a Liquid tag.
func (p *preparer) brace() {
	rest := p.src[p.pos:]
	switch {
	case !p.mdx && (bytes.HasPrefix(rest, []byte("{{<")) || bytes.HasPrefix(rest, []byte("{{%"))):
		if p.shortcode(rest[2]) {
			return
		}
	case !p.mdx && templateAction.Match(rest[:min(len(rest), 60)]):
		if _, end := p.until(p.pos+2, "}}"); end > 0 {
			// Not nothing: an empty line would end the HTML around it.
			p.emit("\u200b")
			p.pos = end
			return
		}
	case !p.mdx && bytes.HasPrefix(rest, []byte("{%")):
		if p.liquid() {
			return
		}
	case p.jsx && bytes.HasPrefix(rest, []byte("{/*")) || p.mdx:
		if p.expression() {
			return
		}
	}
	p.emit("{")
	p.pos++
}

var (
	quoted     = regexp.MustCompile("\"((?:[^\"\\\\]|\\\\.)*)\"|`([^`]*)`|'((?:[^'\\\\]|\\\\.)*)'")
	namedValue = regexp.MustCompile("([\\w-]+)\\s*=\\s*(?:\"((?:[^\"\\\\]|\\\\.)*)\"|`([^`]*)`|'((?:[^'\\\\]|\\\\.)*)')")
	wordFirst  = regexp.MustCompile(`^/?\s*([\w./-]+)`)
)

// shortcodesOfLinks give the address of a page they name.
var shortcodesOfLinks = set("ref relref link absref")

// shortcode rewrites Hugo's {{< name … >}} and {{% name … %}}.
func (p *preparer) shortcode(kind byte) bool {
	closing := ">}}"
	if kind == '%' {
		closing = "%}}"
	}
	inner, end := p.until(p.pos+3, closing)
	if end < 0 {
		return false
	}
	if strings.HasPrefix(strings.TrimSpace(inner), "/*") {
		p.emit(string(p.src[p.pos:end])) // shown, not run
		p.pos = end
		return true
	}
	inner = strings.TrimSuffix(strings.TrimSpace(inner), "/")
	m := wordFirst.FindStringSubmatch(inner)
	if m == nil {
		p.pos = end
		return true
	}
	name := m[1]
	arguments := strings.TrimSpace(inner[len(m[0]):])
	switch {
	case strings.HasPrefix(inner, "/"):
		name = ""
	case shortcodesOfLinks[name]:
		if q := quoted.FindStringSubmatch(arguments); q != nil {
			p.emit(strings.ReplaceAll(q[1]+q[2]+q[3], " ", "%20"))
		}
		p.pos = end
		return true
	case name == "highlight":
		if body, after := p.untilTag(end, "highlight"); after > 0 {
			p.codeBlock(wordFirst.FindString(strings.Trim(arguments, `"`)), body)
			p.pos = after
			return true
		}
	}
	p.replaced(end, visible(name, arguments))
	return true
}

// untilTag finds a shortcode's closing tag, which may have either brackets.
func (p *preparer) untilTag(from int, name string) (body string, after int) {
	for _, c := range []string{"{{< /" + name + " >}}", "{{</" + name + ">}}", "{{% /" + name + " %}}", "{{</ " + name + " >}}", "{{< / " + name + " >}}"} {
		if b, end := p.until(from, c); end > 0 {
			return b, end
		}
	}
	return "", -1
}

// visible picks what readers see of a shortcode's or Liquid tag's arguments.
func visible(name, arguments string) string {
	var out []string
	named := namedValue.FindAllStringSubmatch(arguments, 20)
	for _, a := range named {
		if readerAttributes[strings.ToLower(a[1])] {
			out = append(out, plain(a[2]+a[3]+a[4]))
		}
	}
	if len(named) == 0 && titledShortcodes[name] {
		if q := quoted.FindStringSubmatch(arguments); q != nil {
			out = append(out, plain(q[1]+q[2]+q[3]))
		}
	}
	return strings.Join(out, " ")
}

// titledShortcodes show their first argument.
var titledShortcodes = set(`tab tabitem details expand accordion card button heading admonition alert callout hint note tip
	warning caution info danger step badge glossary_tooltip glossary term kbd collapse disclosure`)

// replaced writes what is left of a tag that ends at end: a paragraph if it
// has its line for itself, else words.
func (p *preparer) replaced(end int, text string) {
	if p.alone(end) {
		p.parted()
		p.paragraph(text)
	} else {
		p.emit(text)
	}
	p.pos = end
}

// liquid rewrites {% … %}.
func (p *preparer) liquid() bool {
	inner, end := p.until(p.pos+2, "%}")
	if end < 0 {
		return false
	}
	inner = strings.Trim(strings.TrimSpace(inner), "-")
	m := wordFirst.FindStringSubmatch(strings.TrimSpace(inner))
	name, arguments := "", ""
	if m != nil {
		name, arguments = m[1], strings.TrimSpace(inner)[len(m[0]):]
	}
	if name == "highlight" || name == "comment" {
		if body, after := p.until(end, "{% end"+name+" %}"); after > 0 {
			if name == "highlight" {
				p.codeBlock(wordFirst.FindString(strings.TrimSpace(arguments)), body)
			}
			p.pos = after
			return true
		}
	}
	p.replaced(end, visible(name, arguments))
	return true
}

// until returns what stands between from and the next occurrence of s, and
// the index behind it; -1 if there is none.
func (p *preparer) until(from int, s string) (string, int) {
	if p.budget < 0 {
		return "", -1
	}
	i := bytes.Index(p.src[from:], []byte(s))
	if i < 0 {
		p.budget -= len(p.src) - from
		return "", -1
	}
	return string(p.src[from : from+i]), from + i + len(s)
}

// codeBlock writes code as a fence.
func (p *preparer) codeBlock(language, code string) {
	fence := fenceFor(code)
	p.parted()
	indent := strings.Repeat(" ", p.indent)
	p.emit(fence + strings.TrimSpace(language) + "\n")
	for line := range strings.Lines(strings.Trim(code, "\n")) {
		p.out = append(p.out, indent...)
		p.out = append(p.out, line...)
	}
	p.out = append(p.out, '\n')
	p.bol = true
	p.emit(fence)
	p.parted()
}

// fenceFor is the shortest fence that no line of code can be taken for.
func fenceFor(code string) string {
	longest, run := 2, 0
	for i := 0; i < len(code); i++ {
		if code[i] != '`' {
			run = 0
			continue
		}
		if run++; run > longest {
			longest = run
		}
	}
	return strings.Repeat("`", longest+1)
}
