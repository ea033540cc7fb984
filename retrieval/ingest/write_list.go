package ingest

import (
	"regexp"
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
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			f.node(c)
		}
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
				item.line.raw(mark)
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
		mark := string(marker) + " "
		if n.DataAtom == atom.Ol {
			mark = strconv.Itoa(number+i) + string(marker) + " "
		}
		between := "\n"
		if loose {
			between = "\n\n"
		}
		if i > 0 {
			b.WriteString(between)
		}
		indent := strings.Repeat(" ", len(mark))
		if startsIndented(blocks[0]) { // code may not begin in the marker's line
			b.WriteString(strings.TrimRight(mark, " ") + "\n" + indent)
		} else {
			b.WriteString(mark)
		}
		b.WriteString(indentLines(strings.Join(blocks, between), indent))
	}
	f.add(b.String())
	f.list = marker
}

// startsIndented reports whether a block can't follow a list marker.
func startsIndented(block string) bool { return strings.HasPrefix(block, "    ") }

// isTight reports whether an item is a paragraph with lists below it.
func isTight(blocks []string) bool {
	for i, b := range blocks {
		isList := listStart.MatchString(b)
		if (i == 0) == isList && i > 0 || i > 0 && strings.Contains(b, "\n\n") {
			return false
		}
		if i == 0 && (strings.HasPrefix(b, "```") || strings.HasPrefix(b, "|") || strings.HasPrefix(b, "> ")) {
			return false
		}
	}
	return true
}

var listStart = regexp.MustCompile(`^(?:[-*]|\d+[.)]) `)

// indentLines indents all lines but the first; empty ones stay empty.
func indentLines(s, indent string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", "\n"+indent), "\n"+indent+"\n", "\n\n")
}

func indentRest(blocks []string, indent string) []string {
	out := make([]string, len(blocks))
	for i, b := range blocks {
		out[i] = indentLines(b, indent)
		if i > 0 {
			out[i] = indent + out[i]
		}
	}
	return out
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

// definitions writes a definition list: documented objects of Sphinx as
// headings, others as a list of terms.
func (f *flow) definitions(n *html.Node) {
	w := f.w
	f.flush()
	level := w.level
	var items []string
	flushItems := func() {
		if len(items) > 0 {
			f.add(strings.Join(items, "\n"))
			items = nil
		}
	}
	objects := false
	for _, c := range definitionParts(n) {
		if c.Type != html.ElementNode || w.skips(c) {
			continue
		}
		id := w.walk.termAnchor(c)
		switch {
		case id != "":
			flushItems()
			objects = true
			w.level = min(max(level, 1)+1, 6)
			f.add(headingLine(w.level, codeSpan(headingText(c)), id))
		case c.DataAtom == atom.Dd && (objects || w.nested > maxNested):
			flushItems()
			f.apart(c)
		case c.DataAtom == atom.Dt:
			var l inline
			w.inlines(&l, c)
			term := l.String()
			if term != "" && !strings.ContainsAny(term, "*`[") {
				term = "**" + term + "**"
			}
			if term != "" {
				items = append(items, "- "+indentLines(term, "  "))
			}
		case c.DataAtom == atom.Dd:
			blocks := w.inner(c)
			switch {
			case len(blocks) == 0:
			case len(items) == 0:
				f.add(blocks...)
			default:
				items = append(items, "\n  "+indentLines(strings.Join(blocks, "\n\n"), "  ")+"\n")
			}
		}
	}
	for i := range items {
		if i == len(items)-1 {
			items[i] = strings.TrimSuffix(items[i], "\n")
		}
	}
	flushItems()
	w.level = level
}

// definitionParts are the children of a definition list, also those grouped
// in elements.
func definitionParts(n *html.Node) (parts []*html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Div && (c.FirstChild != nil && findAll(c, func(n *html.Node) bool { return n.DataAtom == atom.Dt }) != nil) {
			parts = append(parts, definitionParts(c)...)
			continue
		}
		parts = append(parts, c)
	}
	return parts
}
