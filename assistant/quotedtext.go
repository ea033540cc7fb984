package assistant

import (
	"cmp"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isTable reports whether a block of a section's text is a table: a row a line,
// with " | " between cells (see retrieval.Section.Text).
func isTable(block string) bool {
	rows := strings.Split(block, "\n")
	if len(rows) < 2 {
		return false
	}
	whole := 0
	for _, row := range rows {
		if isRow(row) {
			whole++
		}
	}
	return isRow(rows[0]) && whole*10 >= len(rows)*9 // cells may break lines
}

// isRow reports whether a line has cells; the first or last one may be empty.
func isRow(line string) bool { return strings.Contains(" "+line+" ", " | ") }

// tableItems makes list items of a table's rows, "- name: meaning (column: cell;
// …)", so that a row can be quoted alone, also by clients that can't show
// tables. The name is in the first column, the meaning in the one with the
// longest cells.
func tableItems(block string) []string {
	var rows [][]string
	for line := range strings.SplitSeq(block, "\n") {
		// Empty cells in a row share their spaces.
		line = strings.ReplaceAll(strings.ReplaceAll(line, "| |", "|  |"), "| |", "|  |")
		line = strings.TrimLeft(strings.TrimRight(line, " |"), " ")
		if strings.HasPrefix(line, "|") {
			line = " " + line // the first cell is empty
		}
		cells := strings.Split(line, " | ")
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], `\|`, "|")
		}
		rows = append(rows, cells)
	}
	labels := rows[0]
	for _, l := range labels {
		if strings.HasSuffix(l, ".") || utf8.RuneCountInString(l) > 40 {
			labels = nil // a table without a head
			break
		}
	}
	if labels != nil {
		rows = rows[1:]
	}
	said, longest := 1, -1
	if labels != nil && labels[0] == "" {
		said, longest = 0, math.MaxInt // a matrix: each cell needs its label
	}
	for i := 1; i < len(rows[0]); i++ {
		n := 0
		for _, cells := range rows {
			if i < len(cells) {
				n += len(cells[i])
			}
		}
		if n > longest {
			said, longest = i, n
		}
	}
	out := make([]string, 0, len(rows))
	for _, cells := range rows {
		item := "- " + codeCell(cells[0])
		var note string
		var rest []string
		for i := 1; i < len(cells); i++ {
			c := codeSpans(strings.TrimSpace(cells[i]))
			switch {
			case c == "":
			case i == said:
				note = ": " + c
			case i < len(labels) && labels[i] != "":
				rest = append(rest, labels[i]+": "+c)
			default:
				rest = append(rest, c)
			}
		}
		if item == "- " {
			note = strings.TrimPrefix(note, ": ")
		}
		item += note
		if len(rest) > 0 {
			item += " (" + strings.Join(rest, "; ") + ")"
		}
		out = append(out, item)
	}
	return out
}

// codeCell makes a row's name a code span if it is syntax.
func codeCell(s string) string {
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, "`") || !strings.ContainsAny(s, "<>{}[]*") || len(strings.Fields(s)) > 5 {
		return codeSpans(s)
	}
	return codeSpan(s)
}

// codeSpans writes a section's text so that a Markdown renderer shows it as the
// page does. Between the code spans that it has, words with characters that
// mean something in Markdown or HTML (<site>, /blog/*, {env.X}), and identifiers
// (max_body, --wait), become code spans, too.
func codeSpans(text string) string {
	var b strings.Builder
	for text != "" {
		begin, end := codeSpanIn(text)
		b.WriteString(plainSpans(text[:begin]) + text[begin:end])
		text = text[end:]
	}
	return b.String()
}

// codeSpanIn returns where the first code span of a text is, or the text's end.
func codeSpanIn(text string) (begin, end int) {
	begin = strings.IndexByte(text, '`')
	if begin < 0 {
		return len(text), len(text)
	}
	fence := text[begin : len(text)-len(strings.TrimLeft(text[begin:], "`"))]
	n := strings.Index(text[begin+len(fence):], fence)
	if n < 0 {
		return len(text), len(text)
	}
	return begin, begin + n + 2*len(fence)
}

// plainSpans marks the words of a text without code spans.
func plainSpans(text string) string {
	if !strings.ContainsAny(text, "<>*_{[\\&-~#|") {
		return text // nothing to mark
	}
	var b strings.Builder
	run := "" // words of the span being made
	flush := func() {
		if run != "" {
			b.WriteString(codeSpan(run))
			run = ""
		}
	}
	lead, rest := "", text
	if s, ok := strings.CutPrefix(text, "- "); ok {
		lead, rest = "- ", s
	}
	b.WriteString(lead)
	for i, word := range strings.Split(rest, " ") {
		open, core, tail := trimWord(word)
		if !codeLike(core) {
			flush()
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(word)
			continue
		}
		if open != "" || run == "" {
			flush()
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(open)
			run = core
		} else {
			run += " " + core
		}
		if tail != "" {
			flush()
			b.WriteString(tail)
		}
	}
	flush()
	return b.String()
}

// trimWord separates a word from the punctuation around it.
func trimWord(word string) (open, core, tail string) {
	core = strings.TrimLeft(word, "(\"'“„«")
	open = word[:len(word)-len(core)]
	trimmed := strings.TrimRight(core, ".,;:!?\"'”“»")
	if strings.HasSuffix(core, "...") && strings.ContainsAny(core, "<>[]") {
		trimmed = core // <glob>... is syntax
	}
	for strings.HasSuffix(trimmed, ")") && strings.Count(trimmed, ")") > strings.Count(trimmed, "(") {
		trimmed = strings.TrimRight(strings.TrimSuffix(trimmed, ")"), ".,;:!?\"'”")
	}
	if strings.IndexByte(trimmed, '&') >= 0 && strings.HasPrefix(core[len(trimmed):], ";") {
		trimmed += ";" // an entity
	}
	return open, trimmed, core[len(trimmed):]
}

// codeLike reports whether a word is code, or would mean something else as text.
func codeLike(w string) bool {
	if w == "" || strings.Contains(w, "://") {
		return false // package citation checks URLs
	}
	letters := strings.IndexFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0
	switch {
	case strings.ContainsAny(w, "*\\"):
		return true
	case !letters:
		return strings.Trim(w, "_~#") == "" && len(w) > 1
	case strings.ContainsAny(w, "<>{}"), strings.HasPrefix(w, "--"), strings.HasPrefix(w, "~~"), strings.HasPrefix(w, "["), strings.HasSuffix(w, "]"):
		return true
	case strings.IndexByte(w, '_') >= 0:
		return strings.IndexFunc(w, func(r rune) bool { return r > 0x7f }) < 0
	case strings.IndexByte(w, '&') >= 0:
		return strings.IndexByte(w, ';') > 0
	}
	return false
}

// codeSpan makes a code span. A "|" would end it for a renderer that sees a
// table, so it is put between two spans.
func codeSpan(s string) string {
	parts := strings.Split(s, "|")
	for i, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			parts[i] = "`" + p + "`"
		}
	}
	return cmp.Or(strings.Join(parts, "|"), s)
}
