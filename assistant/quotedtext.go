package assistant

import (
	"math"
	"regexp"
	"strings"
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
		item := "- " + codeSpans(strings.TrimSpace(cells[0]))
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

// codeSpans writes a section's text so that a Markdown renderer shows it as the
// page does. Between the code spans that it has, words with characters that
// mean something in Markdown or HTML (<site>, /blog/*, {env.X}), and identifiers
// (max_body, --wait), become code spans, too.
func codeSpans(text string) string {
	var b strings.Builder
	for text != "" {
		begin, end := codeSpanIn(text)
		for i, word := range strings.Split(text[:begin], " ") {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(codeWord(word))
		}
		b.WriteString(text[begin:end])
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

// syntax matches words that are code, or would mean something else as text.
var syntax = regexp.MustCompile(`[*\\]|^[_~#]{2,}$|[\pL\d].*[<>{}]|[<>{}].*[\pL\d]|^(--|~~|\[).*[\pL\d]|[\pL\d].*\]$|&.+;|^[!-~]+_[!-~]*$|^_[!-~]+$`)

// codeWord makes a code span of a word that is code, without the punctuation
// around it. Package citation checks URLs.
func codeWord(word string) string {
	if !strings.ContainsAny(word, "<>*_{[]\\&-~#") || strings.Contains(word, "://") {
		return word
	}
	core := strings.TrimLeft(word, "(\"'“„«")
	around := ".,;:!?\"'”“»"
	if !strings.Contains(core, "(") {
		around += ")"
	}
	if !strings.HasPrefix(core, "&") { // an entity
		core = strings.TrimRight(core, around)
	}
	if !syntax.MatchString(core) {
		return word
	}
	return strings.Replace(word, core, "`"+core+"`", 1)
}
