package retrieval

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// Marks say which parts of a section's text are inline code, and which stand
// for an image: for each part the bytes since the last one, and twice its
// length, plus one for an image, as varints.
type Marks []byte

// Append adds a part, so many bytes behind the last one.
func (m Marks) Append(gap, length int, image bool) Marks {
	kind := 0
	if image {
		kind = 1
	}
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(gap)), uint64(2*length+kind)) //nolint:gosec // lengths
}

// Marked returns the section's text with its inline code in code spans, as in
// Markdown, and without its images.
func (s *Section) Marked() string {
	out := make([]byte, 0, len(s.Text)+len(s.Marks))
	at := 0
	for rest := []byte(s.Marks); len(rest) > 0; {
		gap, n := binary.Uvarint(rest)
		length, m := binary.Uvarint(rest[max(n, 0):])
		left := uint64(len(s.Text) - at)
		if n <= 0 || m <= 0 || gap > left || length/2 > left-gap {
			break // of another text
		}
		rest = rest[n+m:]
		begin := at + int(gap)       //nolint:gosec // within the text
		end := begin + int(length/2) //nolint:gosec // within the text
		out = append(out, s.Text[at:begin]...)
		if at = end; length%2 == 0 {
			out = appendCode(out, s.Text[begin:end])
		} else if line := bytes.LastIndexByte(out, '\n') + 1; len(bytes.Trim(out[line:], " -")) == 0 {
			out = out[:line] // the item of a list
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
