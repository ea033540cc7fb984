package ingest

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
)

// openBlock is a block or element whose tag or marker was left out.
type openBlock struct {
	name     string
	block    bool   // its content is indented below its tag
	column   int    // of its tag in the source
	content  int    // column of its content in the source, -1 if not seen yet
	indent   int    // column of its content in the output
	closing  string // what replaces its closing tag
	indented bool   // ends with its indentation (MkDocs), not with a tag
}

// push opens a block. Beyond a depth that no page has, tags count as
// unclosed.
func (p *preparer) push(b openBlock) {
	if len(p.open) < 500 {
		p.open = append(p.open, b)
	}
}

// top returns the index of the innermost block that shapes indentation, or -1.
func (p *preparer) top() int {
	i := len(p.open) - 1
	for i >= 0 && !p.open[i].block {
		i--
	}
	return i
}

// indentFor closes the blocks that end before a line at this column, and
// returns the line's indentation in the output.
func (p *preparer) indentFor(column int) int {
	t := p.top()
	for t >= 0 && p.open[t].indented && column <= p.open[t].column {
		closing, indent := p.open[t].closing, p.open[t].indent
		p.open = p.open[:t]
		if closing != "" {
			p.separate()
			p.indent = indent
			p.paragraph(closing)
		}
		t = p.top()
	}
	if t < 0 {
		return column
	}
	b := &p.open[t]
	if b.content < 0 {
		b.content = column
	}
	return b.indent + max(0, column-b.content)
}

// admonition and directive match lines that open a note or a tab: !!! note
// "Title", === "Tab", :::note[Title]{…}, ::: {.note title="Title"}.
var (
	admonition = regexp.MustCompile(`^(?:(?:!!!|\?\?\?\+?)[ \t]+(\w+)[\w -]*?|===[!+]?)[ \t]*(?:"((?:[^"\\]|\\.)*)")?[ \t]*$`)
	directive  = regexp.MustCompile(`^:{3,}[ \t]*(?:\{[ \t]*\.?([\w-]*)([^}]*)\}|([\w-]*))[ \t]*(?:\[([^\]]*)\])?[ \t]*(\{[^}]*\})?[ \t]*(.*)$`)
)

// openNote writes the mark of a note of a kind, if it is one, and returns what
// closes it.
func (p *preparer) openNote(kind string, titled bool) (closing string) {
	kind = strings.TrimPrefix(strings.ToLower(kind), "callout-")
	if kindOfNote(kind) == "" {
		return ""
	}
	mark := `<div class="admonition ` + kind + `"`
	if titled {
		mark += ` data-title`
	}
	p.paragraph(mark + ">")
	return "</div>"
}

// block rewrites a line that opens or closes a directive (:::note), an
// admonition (!!! note) or a tab (=== "Tab"), and reports whether it did.
func (p *preparer) block(line string) bool {
	switch line[0] {
	case ':':
		m := directive.FindStringSubmatch(line)
		if m == nil {
			return false
		}
		kind, title := m[1]+m[3], cmp.Or(m[4], m[6])
		if a := fenceTitle.FindStringSubmatch(m[2] + strings.Trim(m[5], "{}")); title == "" && a != nil {
			title = a[1] + a[2]
		}
		p.separate()
		if kind == "" && title == "" && len(p.notes) > 0 {
			p.paragraph(p.notes[len(p.notes)-1])
			p.notes = p.notes[:len(p.notes)-1]
		} else {
			p.notes = append(p.notes, p.openNote(kind, title != ""))
		}
		p.paragraph(title)
		return true
	case '!', '?', '=':
		m := admonition.FindStringSubmatch(line)
		if m == nil || p.mdx || line[0] == '=' && !strings.Contains(line, `"`) {
			return false
		}
		p.separate()
		closing := p.openNote(m[1], m[2] != "")
		title := strings.ReplaceAll(m[2], `\"`, `"`)
		if line[0] == '=' && title != "" {
			title = "**" + title + "**"
		}
		p.paragraph(title)
		p.push(openBlock{block: true, indented: true, column: p.column, content: -1, indent: p.indent, closing: closing})
		return true
	}
	return false
}

var listMark = regexp.MustCompile(`^(?:(?:[-*+]|\d{1,9}[.)])[ \t]+|>[ \t]?)+`)

// fenceOpens returns the marker, and how often it is repeated, of a line that
// opens a code block. n is 0 for other lines.
func fenceOpens(line []byte) (marker byte, n int) {
	if len(line) > 0 && line[0] != '`' && line[0] != '~' {
		line = line[len(listMark.Find(line[:min(len(line), 100)])):]
	}
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return 0, 0
	}
	if n = len(line) - len(bytes.TrimLeft(line, string(line[:1]))); n < 3 || line[0] == '`' && bytes.IndexByte(line[n:], '`') >= 0 {
		return 0, 0
	}
	return line[0], n
}

// fenceCloses reports whether a line, without its indentation, closes a code
// block that was opened by n markers.
func fenceCloses(line []byte, marker byte, n int) bool {
	rest := bytes.TrimLeft(line, string(marker))
	return len(line)-len(rest) >= n && len(bytes.TrimSpace(rest)) == 0
}

// fence copies a code block, moved to its block's column.
func (p *preparer) fence(marker byte, n int) {
	shift := 0 // columns to take away
	if t := p.top(); t >= 0 {
		shift = p.open[t].content - p.open[t].indent
	}
	p.copyLine()
	for p.pos < len(p.src) {
		columns, first := p.leading(p.pos)
		closes := fenceCloses(bytes.TrimLeft(p.src[first:p.lineEnd(first)], "> \t"), marker, n)
		p.indent = 0
		if shift > 0 || columns < shift || p.endsLine(first) {
			p.indent = max(0, columns-shift)
			p.pos = first
		}
		p.copyLine()
		if closes {
			return
		}
	}
}

// copyLine copies the rest of the line as it is.
func (p *preparer) copyLine() {
	p.copy(p.lineEnd(p.pos) - p.pos)
	p.newline()
	p.pos = min(p.pos+1, len(p.src))
}

// codeBlock writes code as a fence.
func (p *preparer) codeBlock(language, code string) {
	fence := fenceFor(code)
	p.separate()
	indent := strings.Repeat(" ", p.indent)
	p.emit(fence + strings.TrimSpace(language) + "\n")
	for line := range strings.Lines(strings.Trim(code, "\n")) {
		p.out = append(append(p.out, indent...), line...)
	}
	p.newline()
	p.emit(fence)
	p.separate()
}

// fenceFor returns the shortest fence that no line of code can be taken for.
func fenceFor(code string) string { return strings.Repeat("`", max(2, longestRun(code))+1) }
