package ingest

import (
	"bytes"
	"fmt"
)

// The Markdown parser takes quadratic time for some inputs without an empty
// line, such as many thousand brackets. No real paragraph is this long.
const (
	longestLine      = 4 << 10
	longestParagraph = 16 << 10
)

// The parser's footnotes, escaped pipes and short rows of wide tables cost it
// quadratic time or memory too. The bounds are some ten times what the
// largest pages of real sites hold.
const (
	maxFootnotes    = 2000
	maxEscapedPipes = 5000
	maxPadding      = 50_000 // cells that rows lack, of all tables of a page
)

// A page of more than denseFrom bytes of which a fifth and more are brackets,
// stars and underscores takes the parser over a second a megabyte.
const denseFrom = 2 << 20

// nestingMarks begin quotes and lists; a line that holds nothing else at its
// beginning nests deeper than any text.
const nestingMarks = "> \t-*+0123456789.)"

// bounded puts line breaks into lines, and empty lines into paragraphs and
// tables, that are larger than those of real pages. Code, tables and HTML
// stay whole where their lines are of normal length. Warnings name what is
// read otherwise than its author meant it.
func bounded(src []byte) (out []byte, warnings []string) {
	if len(src) <= longestLine {
		return src, nil
	}
	if n := bytes.Count(src, []byte(`\|`)); n > maxEscapedPipes {
		src = bytes.ReplaceAll(src, []byte(`\|`), []byte(" |"))
		warnings = append(warnings, fmt.Sprintf("it has %d escaped pipes, which are read as borders of table cells", n))
	}
	if len(src) > denseFrom && dense(src) {
		src = bytes.Map(func(r rune) rune {
			if r == '[' || r == '*' || r == '_' {
				return ' '
			}
			return r
		}, src)
		warnings = append(warnings, "it has more markup than text, so it is read without links and emphasis")
	}
	nested, short := 0, 0 // lines nested too deeply, tables cut short
	changed := false
	copied, run := 0, 0
	columns, padding := 0, 0 // of the table that the line may belong to
	var fence byte
	fenceLength := 0
	for at := 0; at < len(src); {
		end := len(src)
		if n := bytes.IndexByte(src[at:], '\n'); n >= 0 {
			end = at + n
		}
		line := src[at:end]
		body := bytes.TrimLeft(line[:min(len(line), 200)], " \t>")
		run += len(line)
		if fence != 0 {
			n := 0
			for n < len(body) && body[n] == fence {
				n++
			}
			if n >= fenceLength && len(bytes.TrimSpace(body[n:])) == 0 {
				fence = 0
			}
			run = 0
		} else if marker, n := fenceOpens(body); n > 0 {
			fence, fenceLength, run, columns = marker, n, 0, 0
		} else {
			if len(body) == 0 {
				columns = 0
			} else if columns > 0 {
				padding += max(0, columns-bytes.Count(line, []byte("|"))-1)
			} else {
				columns = tableColumns(line)
			}
			switch {
			case len(line) > 200 && len(bytes.TrimLeft(line[:200], nestingMarks)) == 0:
				out = append(out, src[copied:at]...)
				out = breakLine(out, bytes.TrimLeft(line, nestingMarks))
				copied, run, changed = end, 0, true
				nested++
			case len(body) == 0:
				run = 0
			case len(line) > longestLine:
				out = append(out, src[copied:at]...)
				out = breakLine(out, line)
				copied, run, changed = end, 0, true
			case padding > maxPadding:
				out = append(append(out, src[copied:at]...), '\n')
				copied, run, changed = at, 0, true
				columns, padding = 0, maxPadding/2
				short++
			case run > longestParagraph && body[0] != '|' && body[0] != '<':
				out = append(append(out, src[copied:at]...), '\n')
				copied, run, changed = at, 0, true
			}
		}
		at = end + 1
	}
	if nested > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of its lines are nested more than a hundred deep and are read as plain text", nested))
	}
	if short > 0 {
		warnings = append(warnings, "a table's rows lack most of its cells: from some row on they are read as plain text")
	}
	if !changed {
		return src, warnings
	}
	return append(out, src[copied:]...), warnings
}

func dense(src []byte) bool {
	n := 0
	for _, c := range src {
		if c == '[' || c == '*' || c == '_' {
			n++
		}
	}
	return n > len(src)/5
}

// tableColumns counts the columns of a table by its delimiter row; 0 for any
// other line.
func tableColumns(line []byte) int {
	if bytes.IndexByte(line, '|') < 0 || bytes.IndexByte(line, '-') < 0 || len(bytes.TrimLeft(line, "|-: \t>\r")) > 0 {
		return 0
	}
	return bytes.Count(line, []byte("-|")) + bytes.Count(line, []byte("- |")) + bytes.Count(line, []byte(":|")) + bytes.Count(line, []byte(": |")) + 1
}

// breakLine writes a long line as several paragraphs, at blanks if it can.
func breakLine(out, line []byte) []byte {
	for len(line) > longestLine {
		cut := bytes.LastIndexByte(line[:longestLine], ' ')
		if cut < longestLine/2 {
			cut = longestLine
			for cut > longestLine-4 && line[cut]&0xc0 == 0x80 {
				cut-- // not within a letter
			}
		}
		out = append(append(out, line[:cut]...), "\n\n"...)
		line = bytes.TrimLeft(line[cut:], " \t")
	}
	return append(out, line...)
}
