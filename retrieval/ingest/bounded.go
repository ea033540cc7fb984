package ingest

import (
	"bytes"
	"fmt"
)

// Goldmark takes quadratic time or memory for some inputs: many brackets
// without an empty line, footnotes, escaped pipes, short rows of wide tables,
// deep nesting. These bounds are beyond the largest pages of real sites.
const (
	longestLine      = 4 << 10
	longestParagraph = 16 << 10
	maxFootnotes     = 2000
	maxEscapedPipes  = 5000
	maxMissingCells  = 50_000 // that rows lack, in all tables of a page
	longestNesting   = 200    // bytes of marks of quotes and lists in a line
	// A page of more than denseFrom bytes of which a fifth are brackets,
	// stars and underscores is read without them.
	denseFrom = 2 << 20
)

// nestingMarks begin quotes and lists.
const nestingMarks = "> \t-*+0123456789.)"

// bounded breaks lines, paragraphs and tables that exceed the bounds. Code
// stays whole, and so do tables and HTML if their lines are of normal length.
// Warnings name what is read otherwise than its author meant it.
func bounded(src []byte) (out []byte, warnings []string) {
	if len(src) <= longestLine {
		return src, nil
	}
	src, warnings = withoutDenseMarkup(src)
	var fence byte
	var fenceLength, run, columns, missing int // run: bytes since an empty line; columns of the table, 0 outside
	var nested, short int                      // lines nested too deeply, tables cut short
	for line := range bytes.Lines(src) {
		text := bytes.TrimSuffix(line, []byte("\n"))
		start := text[:min(len(text), longestNesting)]
		body := bytes.TrimLeft(start, " \t>")
		run += len(line)
		marker, n := fenceOpens(body)
		switch {
		case fence != 0:
			if fenceCloses(body, fence, fenceLength) {
				fence = 0
			}
			run = 0
		case n > 0:
			fence, fenceLength, run, columns = marker, n, 0, 0
		case len(text) > longestNesting && len(bytes.TrimLeft(start, nestingMarks)) == 0:
			line = breakLine(bytes.TrimLeft(line, nestingMarks))
			run, columns = 0, 0
			nested++
		case len(body) == 0:
			run, columns = 0, 0
		default:
			if columns > 0 {
				missing += max(0, columns-bytes.Count(text, []byte("|"))-1)
			} else {
				columns = tableColumns(text)
			}
			switch {
			case len(text) > longestLine:
				line = breakLine(line)
				run = 0
			case missing > maxMissingCells:
				out = append(out, '\n')
				run, columns, missing = 0, 0, maxMissingCells/2
				short++
			case run > longestParagraph && body[0] != '|' && body[0] != '<':
				out = append(out, '\n')
				run = 0
			}
		}
		out = append(out, line...)
	}
	if nested > 0 {
		warnings = append(warnings, fmt.Sprintf("%d lines are nested more than a hundred deep and are read as plain text", nested))
	}
	if short > 0 {
		warnings = append(warnings, "a table's rows lack most of its cells, so the last rows are read as plain text")
	}
	return out, warnings
}

// withoutDenseMarkup blanks marks that are so many that the parser would take
// long.
func withoutDenseMarkup(src []byte) (out []byte, warnings []string) {
	if n := bytes.Count(src, []byte(`\|`)); n > maxEscapedPipes {
		src = bytes.ReplaceAll(src, []byte(`\|`), []byte(" |"))
		warnings = append(warnings, fmt.Sprintf("the page has %d escaped pipes, which are read as borders of table cells", n))
	}
	if len(src) > denseFrom && bytes.Count(src, []byte("["))+bytes.Count(src, []byte("*"))+bytes.Count(src, []byte("_")) > len(src)/5 {
		src = bytes.Map(func(r rune) rune {
			if r == '[' || r == '*' || r == '_' {
				return ' '
			}
			return r
		}, src)
		warnings = append(warnings, "the page has more markup than text, so it is read without links and emphasis")
	}
	return src, warnings
}

// tableColumns counts the columns of a table by its delimiter row. It is 0
// for any other line.
func tableColumns(line []byte) int {
	if bytes.IndexByte(line, '|') < 0 || bytes.IndexByte(line, '-') < 0 || len(bytes.TrimLeft(line, "|-: \t>\r")) > 0 {
		return 0
	}
	return bytes.Count(bytes.ReplaceAll(bytes.ReplaceAll(line, []byte(" "), nil), []byte(":"), nil), []byte("-|")) + 1
}

// breakLine splits a long line into paragraphs, at blanks if it can.
func breakLine(line []byte) (out []byte) {
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
