package ingest

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxColumns bounds the columns of a table.
const maxColumns = 100

// table writes a table. Blocks in its cells are separated by <br>; a table
// with code blocks or tables in its cells is written as those blocks.
func (f *flow) table(n *html.Node) {
	w := f.w
	f.flush()
	// Code beside its line numbers.
	pres := findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.Pre })
	if len(pres) == 2 && strings.Trim(rawText(pres[0]), "0123456789 \n") == "" {
		f.add(fences(pres[1])...)
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Caption && !w.skips(c) {
			f.add(w.wrapped(c, "**"))
		}
	}
	rows := tableRows(n, nil)
	if holdsBlocks(rows) {
		for _, row := range rows {
			for c := row.FirstChild; c != nil; c = c.NextSibling {
				if c.Type == html.ElementNode && !w.skips(c) {
					f.apart(c)
				}
			}
		}
		return
	}
	if lines := w.tableLines(rows); len(lines) > 0 {
		f.add(writtenTable(lines))
	}
}

// tableLines are the cells of the rows with words, the first of which is the
// head. It is empty for a table without one, as Markdown has no such tables.
func (w *writer) tableLines(rows []*html.Node) (lines [][]string) {
	for _, row := range rows {
		if w.skips(row) {
			continue
		}
		var cells []string
		words, heads := false, true
		for c := row.FirstChild; c != nil && len(cells) < maxColumns; c = c.NextSibling {
			if c.DataAtom != atom.Td && c.DataAtom != atom.Th || w.skips(c) {
				continue
			}
			s := w.cell(c)
			words = words || s != ""
			heads = heads && c.DataAtom == atom.Th
			cells = append(cells, s)
		}
		if !words {
			continue
		}
		if len(lines) == 0 && !heads && (row.Parent == nil || row.Parent.DataAtom != atom.Thead) {
			lines = append(lines, nil)
		}
		lines = append(lines, cells)
	}
	return lines
}

// writtenTable writes a table, of which the first line is the head.
func writtenTable(lines [][]string) string {
	columns := 0
	for _, cells := range lines {
		columns = max(columns, len(cells))
	}
	var b strings.Builder
	for i, cells := range lines {
		n := len(cells)
		for n > 0 && cells[n-1] == "" {
			n--
		}
		b.WriteString(asSyntax("| "))
		for c, s := range cells[:n] {
			if c > 0 {
				b.WriteString("| ")
			}
			if b.WriteString(s); s != "" && c < n-1 {
				b.WriteByte(' ')
			}
		}
		rest := strings.Repeat(" |", columns-max(n, 1)+1)[min(1, max(0, 1-n)):]
		if i == 0 {
			rest += "\n|" + strings.Repeat(" --- |", columns)
		}
		b.WriteString(asSyntax(rest))
		if i < len(lines)-1 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// tableRows are the rows of a table, without those of tables in its cells.
func tableRows(n *html.Node, rows []*html.Node) []*html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Tr:
			rows = append(rows, c)
		case atom.Thead, atom.Tbody, atom.Tfoot:
			rows = tableRows(c, rows)
		}
	}
	return rows
}

// holdsBlocks reports whether cells hold what no line of a table can: code of
// several lines, headings, tables.
func holdsBlocks(rows []*html.Node) bool {
	for _, row := range rows {
		for _, n := range findAll(row, func(n *html.Node) bool {
			return n.DataAtom == atom.Pre || n.DataAtom == atom.Table || isHeading(n) && attr(n, "id") != ""
		}) {
			if n.DataAtom != atom.Pre || strings.Contains(strings.TrimSpace(rawText(n)), "\n") {
				return true
			}
		}
	}
	return false
}

// cellItem begins an item of a list in a cell.
const cellItem = "\xf7- \xf9"

// cell writes a cell in one line.
func (w *writer) cell(n *html.Node) string {
	l := inline{cell: true}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if !isList(c) || w.furniture[c] || w.skips(c) {
			w.inline(&l, c)
			continue
		}
		for li := c.FirstChild; li != nil; li = li.NextSibling {
			if li.DataAtom == atom.Li && !w.skips(li) {
				l.br()
				l.raw(cellItem)
				w.inlines(&l, li)
			}
		}
		l.br()
	}
	s := strings.TrimSuffix(withoutImages(l.String()), cellBreak)
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", " "), "|", "\xf5|")
}
