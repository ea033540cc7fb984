package retrieval

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// Marks say which parts of a section's text are inline code, which describe an
// image, and where links begin and end: for each the bytes since the last one,
// and four times its value, plus its kind, as varints.
type Marks []byte

// The kinds of marks. The value is the length in bytes, 0, or the number of the
// link in Document.Links.
const (
	MarkCode = iota
	MarkImage
	MarkLink
	MarkLinkEnd
)

// Append adds a mark, so many bytes behind the last one.
func (m Marks) Append(gap, kind, value int) Marks {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(gap)), uint64(4*value+kind)) //nolint:gosec // not negative
}

// Marked returns the section's text with its inline code in code spans, as in
// Markdown, and without its images. Links to what target returns an address for
// are Markdown, too; target may be nil.
func (s *Section) Marked(target func(link int) string) string {
	out := make([]byte, 0, len(s.Text)+len(s.Marks))
	at, opened := 0, -1
	for rest := []byte(s.Marks); len(rest) > 0; {
		gap, n := binary.Uvarint(rest)
		v, m := binary.Uvarint(rest[max(n, 0):])
		left := uint64(len(s.Text) - at)
		kind, value := v%4, v/4
		if n <= 0 || m <= 0 || gap > left || kind < MarkLink && value > left-gap || value > math.MaxInt32 {
			break // of another text
		}
		rest = rest[n+m:]
		begin := at + int(gap) //nolint:gosec // within the text
		end := begin
		if kind < MarkLink {
			end += int(value)
		}
		out = append(out, s.Text[at:begin]...)
		at = end
		switch kind {
		case MarkCode:
			out = appendCode(out, s.Text[begin:end])
		case MarkImage:
			if line := bytes.LastIndexByte(out, '\n') + 1; len(bytes.Trim(out[line:], " -")) == 0 {
				out = out[:line] // the item of a list
			}
		case MarkLink:
			opened = len(out)
		case MarkLinkEnd:
			if opened >= 0 && opened < len(out) && target != nil && !bytes.ContainsAny(out[opened:], "[]\n") {
				if address := target(int(value)); address != "" {
					out = append(append(slices.Insert(out, opened, '['), "]("...), address+")"...)
				}
			}
			opened = -1
		}
	}
	return string(append(out, s.Text[at:]...))
}

// appendCode appends a code span, with a fence that the code doesn't have.
func appendCode(out []byte, code string) []byte {
	if !strings.Contains(code, "`") {
		return append(append(append(out, '`'), code...), '`')
	}
	fence := "``"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return append(out, fence+" "+code+" "+fence...)
}
