package ingest

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// listOf writes a list. One right after another gets the other marker, which
// keeps them apart.
func (f *flow) listOf(n *html.Node) {
	w := f.w
	f.flush()
	if w.nested > maxNested {
		f.children(n)
		return
	}
	var items [][]string
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || w.skips(c) {
			continue
		}
		item := flow{w: w}
		w.nested++
		if c.DataAtom == atom.Li {
			if box := findCheckbox(c); box != nil {
				mark := "[ ] "
				if hasAttr(box, "checked") {
					mark = "[x] "
				}
				item.line.raw(asSyntax(mark))
			}
			item.children(c)
		} else {
			item.node(c)
		}
		item.flush()
		w.nested--
		if len(item.out) > 0 {
			items = append(items, item.out)
		}
	}
	if len(items) == 0 {
		return
	}
	marker := byte('-')
	number := 1
	if n.DataAtom == atom.Ol {
		marker = '.'
		if start, err := strconv.Atoi(attr(n, "start")); err == nil && start >= 0 && start < 1e8 {
			number = start
		}
	}
	if f.list == marker {
		marker = map[byte]byte{'-': '*', '.': ')'}[marker]
	}
	loose := slices.ContainsFunc(items, func(blocks []string) bool { return len(blocks) > 1 && !isTight(blocks) })
	var b strings.Builder
	for i, blocks := range items {
		mark, indent := "- ", "  "
		if n.DataAtom == atom.Ol {
			count := strconv.Itoa(number + i)
			mark, indent = asSyntax(count+string(marker)+" ")+asPlain("- "), asSyntax(strings.Repeat(" ", len(count)))+"  "
		} else if marker == '*' {
			mark = asSyntax("* ") + asPlain("- ")
		}
		switch {
		case i == 0:
		case loose && isTight(items[i-1]):
			b.WriteString("\n" + asSyntax("\n"))
		case loose:
			b.WriteString("\n\n")
		default:
			b.WriteString("\n")
		}
		var item strings.Builder
		for i, block := range blocks {
			switch {
			case i == 0:
			case !loose:
				item.WriteString("\n")
			case kindOf(block) == 'l': // plain text has no empty line before a list
				item.WriteString("\n" + asSyntax("\n"))
			default:
				item.WriteString("\n\n")
			}
			item.WriteString(block)
		}
		b.WriteString(mark + indentLines(item.String(), indent))
	}
	f.add(b.String())
	f.list = marker
}

// sectionsOfPage writes the sections that Sphinx lists below a link to a page, in
// Markdown alone: as text, they would be found instead of the page.
func (f *flow) sectionsOfPage(n *html.Node) {
	f.flush()
	list := flow{w: f.w}
	list.listOf(n)
	if last := len(f.out) - 1; last < 0 {
		f.add(list.out...)
	} else if len(list.out) > 0 {
		f.out[last] += asSyntax("\n" + list.out[0])
	}
}

// kindOf is 'l' for a list, 'p' for a paragraph, and 0 for other blocks.
func kindOf(block string) byte {
	rest, marked := strings.CutPrefix(block, "\xf7")
	switch {
	case strings.HasPrefix(block, "- "), marked && strings.HasPrefix(rest, "* "),
		marked && rest[0] >= '0' && rest[0] <= '9' && strings.ContainsAny(rest[:min(len(rest), 11)], ".)"):
		return 'l'
	case block[0] == '`', block[0] == quoteMark, block[0] == sectionMark, marked && (rest[0] == '|' || rest[0] == '#'):
		return 0
	}
	return 'p'
}

// isTight reports whether an item is a paragraph with lists below it.
func isTight(blocks []string) bool {
	for i, b := range blocks {
		kind := kindOf(b)
		if kind == 0 || i > 0 && (kind != 'l' || strings.Contains(b, "\n\n") || strings.Contains(b, "\n\xf7\n")) {
			return false
		}
	}
	return true
}

// indentLines indents all lines but the first; empty ones stay empty.
func indentLines(s, indent string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", "\n"+indent), "\n"+indent+"\n", "\n\n")
}

// findCheckbox returns the checkbox that a task begins with.
func findCheckbox(li *html.Node) *html.Node {
	n := firstElement(li)
	for n != nil && (n.DataAtom == atom.P || n.DataAtom == atom.Label) {
		n = firstElement(n)
	}
	if n != nil && n.DataAtom == atom.Input && attr(n, "type") == "checkbox" {
		return n
	}
	return nil
}

// definitions writes a definition list: terms that open sections as headings,
// others as a list.
func (f *flow) definitions(n *html.Node) {
	w := f.w
	f.flush()
	outer, path, level := w.current, w.path, w.level
	depth := min(max(w.headers[outer].Level, 1)+1, 4)
	opened, defined := false, false // a section, its text
	var items []string
	list := func() {
		f.add(strings.Join(items, "\n"))
		items = nil
	}
	for _, c := range findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.Dt || n.DataAtom == atom.Dd }) {
		if w.furniture[c] || w.skips(c) {
			continue
		}
		id := w.termAnchor(c)
		if c.DataAtom == atom.Dt && opened && !defined {
			id = "" // another name of what the section is about
		} else if c.DataAtom == atom.Dt && opened {
			w.path, opened = path, false
			if id == "" {
				f.resume(outer, path)
			}
		}
		switch {
		case id != "":
			list()
			w.level = level
			f.term(c, id, depth)
			opened, defined = true, false
		case c.DataAtom == atom.Dt && opened:
			if text := headingText(c); text != "" {
				f.add(codeSpan(text)) // another signature
			}
		case c.DataAtom == atom.Dd && (opened || w.nested > maxNested):
			list()
			f.apart(c)
			defined = true
		case c.DataAtom == atom.Dt:
			var l inline
			w.inlines(&l, c)
			term, mark := l.String(), "**"
			if strings.ContainsAny(term, "*`[") {
				mark = ""
			}
			if term != "" {
				items = append(items, asSyntax("- "+mark)+indentLines(term, asSyntax("  "))+asSyntax(mark))
			}
		case c.DataAtom == atom.Dd:
			blocks := w.nest(c)
			switch {
			case len(blocks) == 0:
			case len(items) == 0:
				f.add(blocks...)
			default:
				items = append(items, asSyntax("\n")+"  "+indentLines(strings.Join(blocks, "\n\n"), "  ")+"\n")
			}
		}
	}
	if len(items) > 0 {
		items[len(items)-1] = strings.TrimSuffix(items[len(items)-1], "\n")
	}
	list()
	if w.level = level; w.current != outer {
		f.resume(outer, path)
	}
}

// term writes a term that opens a section. A signature is text besides, as its
// section is named by its id.
func (f *flow) term(n *html.Node, id string, depth int) {
	w := f.w
	w.terms++
	w.level = min(max(w.level, 1)+1, 6)
	text, l := headingText(n), inline{single: true}
	if !hasClass(n, "sig") {
		w.headingInlines(&l, n)
		f.add(w.section(depth, clean(text), id) + headingLine(w.level, l.String(), id, false))
		return
	}
	f.add(w.section(depth, id, id) + headingLine(w.level, codeSpan(text), id, false) + asPlain(text))
}
