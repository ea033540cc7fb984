package encoding

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
)

// keptOfFile is how much of a skipped file's data URL is kept: its type.
const keptOfFile = 500

// SkipFiles returns a reader of the JSON in r in which data URLs of other types
// than text/* end after their first 500 bytes. Only their type is ever read
// (attachment), but chat hooks send the images of a conversation again with
// each question.
func SkipFiles(r io.Reader) io.Reader { return &fileSkipper{in: bufio.NewReader(r)} }

// fileSkipper copies JSON, at most up to the next quote at a time. A string
// begins with a quote outside of one, and ends with the next quote that is not
// escaped.
type fileSkipper struct {
	in       *bufio.Reader
	err      error
	ready    []byte // to be copied
	inString bool
	begins   bool // nothing of the string was read yet
	skip     bool // the rest of the string is not copied
	escapes  bool // the last byte read escapes the next one
}

func (f *fileSkipper) Read(p []byte) (int, error) {
	for len(f.ready) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		if f.begins {
			f.begins = false
			f.skipFile()
		} else {
			f.next()
		}
	}
	n := copy(p, f.ready)
	f.ready = f.ready[n:]
	return n, nil
}

// skipFile keeps the beginning of a string that is a file.
func (f *fileSkipper) skipFile() {
	if head, _ := f.in.Peek(len("data:")); !hasScheme(head, "data:") {
		return
	}
	head, _ := f.in.Peek(keptOfFile)
	if m := fileURL.FindSubmatch(head); m == nil || len(head) < keptOfFile || hasScheme(bytes.ReplaceAll(m[1], []byte(`\/`), []byte("/")), "text/") {
		return
	}
	if i := bytes.LastIndexByte(head, '\\'); i > len(head)-len(`\u0000`) { // a sequence that is kept or skipped as a whole
		head = bytes.TrimRight(head[:i], `\`)
	}
	f.ready, f.skip = bytes.Clone(head), true
	_, f.err = f.in.Discard(len(head))
}

// fileURL matches the beginning of a string that is a data URL: a type, its
// parameters, and data. One without a type may be text.
var fileURL = regexp.MustCompile(`(?is)^data:([^,;" ]+)(?:[^,"\\ ]|\\.)*,(?:[^"\\]|\\.)*\\?$`)

// next reads up to the next quote.
func (f *fileSkipper) next() {
	part, err := f.in.ReadSlice('"')
	text, quoted := bytes.CutSuffix(part, []byte(`"`))
	if !quoted && err != bufio.ErrBufferFull {
		f.err = err
	}
	if f.inString {
		before := bytes.TrimRight(text, `\`)
		f.escapes = (f.escapes && len(before) == 0) != ((len(text)-len(before))%2 == 1)
		quoted, f.escapes = quoted && !f.escapes, f.escapes && !quoted
	}
	if !f.skip {
		f.ready = part
	} else if quoted {
		f.ready = part[len(text):]
	}
	if quoted {
		f.inString, f.begins, f.skip = !f.inString, !f.inString, false
	}
}
