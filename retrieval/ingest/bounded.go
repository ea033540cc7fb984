package ingest

import "bytes"

// The Markdown parser takes quadratic time for some inputs without an empty
// line, such as many thousand brackets. No real paragraph is this long.
const (
	longestLine      = 4 << 10
	longestParagraph = 16 << 10
)

// nestingMarks begin quotes and lists; a line that holds nothing else at its
// beginning nests deeper than any text.
const nestingMarks = "> \t-*+0123456789.)"

// bounded puts line breaks into lines, and empty lines into paragraphs, that
// are longer than those of real pages. Code, tables and HTML stay whole
// where their lines are of normal length.
func bounded(src []byte) []byte {
	if len(src) <= longestLine {
		return src
	}
	var out []byte // nil until something is changed
	copied, run := 0, 0
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
			fence, fenceLength, run = marker, n, 0
		} else {
			switch {
			case len(line) > 200 && len(bytes.TrimLeft(line[:200], nestingMarks)) == 0:
				out = append(out, src[copied:at]...)
				out = breakLine(out, bytes.TrimLeft(line, nestingMarks))
				copied, run = end, 0
			case len(body) == 0:
				run = 0
			case len(line) > longestLine:
				out = append(out, src[copied:at]...)
				out = breakLine(out, line)
				copied, run = end, 0
			case run > longestParagraph && body[0] != '|' && body[0] != '<':
				out = append(append(out, src[copied:at]...), '\n')
				copied, run = at, 0
			}
		}
		at = end + 1
	}
	if out == nil {
		return src
	}
	return append(out, src[copied:]...)
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
