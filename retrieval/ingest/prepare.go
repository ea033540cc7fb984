package ingest

import (
	"bytes"
	"regexp"
)

// prepare rewrites, outside of code, what CommonMark does not know: MDX and
// JSX (jsx.go), directives, admonitions and tabs (blocks.go), Hugo's
// shortcodes and Liquid's tags (shortcodes.go). Content that is indented below
// such a block moves to the block's own column: CommonMark would take it for
// code. Notes become <div class="admonition KIND"> with Markdown inside.
func prepare(src []byte, mdx bool) []byte {
	jsx := mdx || jsxMark.Match(src)
	if !jsx && !otherMark.Match(src) {
		return src // like most pages
	}
	p := &preparer{src: src, mdx: mdx, jsx: jsx, bol: true, out: make([]byte, 0, len(src)+len(src)/8), budget: 64<<10 + 8*len(src)}
	for p.pos < len(p.src) {
		p.line()
	}
	return p.out
}

// importPattern begins an import, templatePattern a statement of Go templates,
// as Caddy's templates run them, or of mdBook ({{#include x}}): its result is
// not known here. Values ({{.Name}}) stay: other generators write variables
// like this, and readers search for their names.
const (
	importPattern   = `import\s+(?:['"]|\*\s+as\s|[\w$]+\s+from\s+['"]|(?:type\s+)?(?:[\w$]+\s*,\s*)?\{|[\w$]+\s*,\s*\*)`
	templatePattern = `\{\{-?\s*(?:/\*|#\w|(?:include|import|readFile|template|block|define|if|else|end|range|with)\b)`
)

// jsxMark matches JSX in Markdown, otherMark any other construct that is
// rewritten.
var (
	jsxMark   = regexp.MustCompile(`(?m)\{/\*|^[ \t]*(?:</?[A-Z]|` + importPattern + `)`)
	otherMark = regexp.MustCompile(`(?m)\{\{[<%]|\{%|^[ \t]*(?::::|!!!|\?\?\?|===.*")|` + templatePattern)
)

// preparer rewrites a page from src to out.
type preparer struct {
	src     []byte
	pos     int
	mdx     bool     // all tags are JSX, braces are expressions
	jsx     bool     // components' tags are JSX
	notes   []string // open directives: the closing tags of notes, "" of others
	out     []byte
	bol     bool // nothing is written in the output's line yet
	indent  int  // of the output's line
	column  int  // of the source's line
	heading bool // in a heading's line, where line breaks become blanks
	open    []openBlock
	// budget bounds the bytes that are searched in vain. A page of unclosed
	// tags would otherwise take quadratic time.
	budget int
}

func (p *preparer) emit(s string) {
	if s == "" {
		return
	}
	if p.bol {
		p.out = append(p.out, bytes.Repeat([]byte(" "), p.indent)...)
		p.bol = false
	}
	p.out = append(p.out, s...)
}

func (p *preparer) newline() {
	p.out = append(p.out, '\n')
	p.bol = true
}

// separate makes the next text a new block.
func (p *preparer) separate() {
	if !p.bol {
		p.newline()
	}
	if len(p.out) > 0 && !bytes.HasSuffix(p.out, []byte("\n\n")) {
		p.newline()
	}
}

// paragraph writes Markdown as a block.
func (p *preparer) paragraph(markdown string) {
	if markdown != "" {
		p.separate()
		p.emit(markdown)
		p.separate()
	}
}

// lineEnd is the index of the line break at or after i.
func (p *preparer) lineEnd(i int) int {
	if n := bytes.IndexByte(p.src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(p.src)
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

// endsLine reports whether the rest of the line from i is blank.
func (p *preparer) endsLine(i int) bool {
	_, i = p.leading(i)
	return i == len(p.src) || p.src[i] == '\n'
}

// until returns what is between from and the next occurrence of s, and the
// index behind it, -1 if there is none.
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

// line rewrites one line, or the several that a tag in it spans.
func (p *preparer) line() {
	end := p.lineEnd(p.pos)
	columns, first := p.leading(p.pos)
	if first >= end {
		p.newline()
		p.pos = min(end+1, len(p.src))
		return
	}
	p.indent, p.column = p.indentFor(columns), columns
	p.pos = first
	rest := p.src[first:end]
	if marker, n := fenceOpens(rest); n > 0 {
		p.fence(marker, n)
		return
	}
	if p.block(string(rest[:min(len(rest), 2000)])) {
		p.pos = min(end+1, len(p.src))
		return
	}
	if p.jsx && columns == 0 && (p.mdx || len(p.out) == 0 || bytes.HasSuffix(p.out, []byte("\n\n"))) {
		if e := p.module(); e > p.pos {
			p.pos = e
			return
		}
	}
	p.heading = rest[0] == '#'
	p.inline()
	p.heading = false
}

// inline rewrites running text up to the end of its line.
func (p *preparer) inline() {
	for p.pos < len(p.src) {
		n := bytes.IndexAny(p.src[p.pos:], "\n\\`<{")
		if n < 0 {
			n = len(p.src) - p.pos
		}
		p.copy(n)
		if p.pos == len(p.src) {
			break
		}
		switch p.src[p.pos] {
		case '\n':
			p.pos++
			p.newline()
			return
		case '\\':
			if p.pos+1 < len(p.src) && p.src[p.pos+1] != '\n' {
				p.copy(1)
			}
			p.copy(1)
		case '`':
			p.codeSpan()
		case '<':
			p.angle()
		case '{':
			p.brace()
		}
	}
}

// copy copies n bytes as they are.
func (p *preparer) copy(n int) {
	p.emit(string(p.src[p.pos : p.pos+n]))
	p.pos += n
}

// codeSpan copies an inline code span, or a run of backticks that opens none.
func (p *preparer) codeSpan() {
	rest := p.src[p.pos:min(len(p.src), p.pos+4000)]
	rest, _, _ = bytes.Cut(rest, []byte("\n\n"))
	n := backticks(rest)
	for i := n; i < len(rest); {
		run := backticks(rest[i:])
		if i += max(run, 1); run == n {
			p.copy(i)
			return
		}
	}
	p.copy(n)
}

func backticks(s []byte) int { return len(s) - len(bytes.TrimLeft(s, "`")) }

var templateAction = regexp.MustCompile(`^` + templatePattern)

// brace rewrites an expression, a shortcode, a template statement or a Liquid
// tag.
func (p *preparer) brace() {
	rest := p.src[p.pos:]
	done := false
	switch {
	case p.mdx || p.jsx && bytes.HasPrefix(rest, []byte("{/*")):
		done = p.expression()
	case bytes.HasPrefix(rest, []byte("{{<")) || bytes.HasPrefix(rest, []byte("{{%")):
		done = p.shortcode(3, map[byte]string{'<': ">}}", '%': "%}}"}[rest[2]])
	case bytes.HasPrefix(rest, []byte("{%")):
		done = p.shortcode(2, "%}")
	default:
		if templateAction.Match(rest) {
			if _, end := p.until(p.pos+2, "}}"); end > 0 {
				p.emit("\u200b") // an empty line would end the HTML around it
				p.pos, done = end, true
			}
		}
	}
	if !done {
		p.copy(1)
	}
}
