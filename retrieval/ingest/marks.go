package ingest

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Marks are around inline code and the alternative texts of images while a
// page's text is collected. They are noncharacters, which no text has.
const (
	codeBegins  = '\ufdd0'
	codeEnds    = '\ufdd1'
	imageBegins = '\ufdd2'
	imageEnds   = '\ufdd3'
	allMarks    = "\ufdd0\ufdd1\ufdd2\ufdd3"
)

func isMark(r rune) bool { return r >= codeBegins && r <= imageEnds }

// mark adds a mark to the block being collected.
func (b *builder) mark(r rune) {
	if r == codeBegins || r == imageBegins {
		b.writeSpace()
	}
	b.line = utf8.AppendRune(b.line, r)
}

// writeSpace writes the white space that is due, unless a line begins.
func (b *builder) writeSpace() {
	if b.space {
		text := bytes.TrimRight(b.line, allMarks)
		if n := len(text); n > 0 && text[n-1] != '\n' && text[n-1] != ' ' {
			b.line = append(b.line, ' ')
		}
	}
	b.space = false
}

// countMarks returns how many bytes of a text are marks.
func countMarks(s string) (n int) {
	for _, r := range s {
		if isMark(r) {
			n += utf8.RuneLen(r)
		}
	}
	return n
}

// images returns a block without the marks of its images, unless it has nothing
// else: an image within a sentence is part of it.
func images(block string) string {
	if !strings.ContainsRune(block, imageBegins) {
		return block
	}
	alone, within := true, false
	for _, r := range block {
		switch {
		case r == imageBegins || r == imageEnds:
			within = r == imageBegins
		case !within && !unicode.IsSpace(r):
			alone = false
		}
	}
	if alone {
		return block
	}
	return strings.NewReplacer(string(imageBegins), "", string(imageEnds), "").Replace(block)
}

// unmarked returns a text without its marks, and where they were. What is
// marked ends with its line.
func unmarked(s string) (string, retrieval.Marks) {
	if !strings.ContainsAny(s, allMarks) {
		return s, nil
	}
	var b strings.Builder
	b.Grow(len(s))
	var marks retrieval.Marks
	begin, last, kind := -1, 0, rune(0)
	for _, r := range s {
		switch {
		case r == codeBegins || r == imageBegins:
			if begin < 0 {
				begin, kind = b.Len(), r
			}
		case begin >= 0 && (r == kind+1 || r == '\n'):
			if end := b.Len(); end > begin {
				marks = marks.Append(begin-last, end-begin, kind == imageBegins)
				last = end
			}
			begin = -1
		}
		if !isMark(r) {
			b.WriteRune(r)
		}
	}
	return b.String(), marks
}
