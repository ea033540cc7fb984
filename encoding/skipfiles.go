package encoding

import (
	"bytes"
	"io"
)

const (
	// keptOfFile is how much of a skipped file's data URL is kept: its type.
	keptOfFile = 500
	// maxMediaType is the longest media type of a data URL, with parameters.
	maxMediaType = 200
)

// SkipFiles returns a reader of the JSON in r in which data URLs of other types
// than text/* end after their first 500 bytes. Only their type is ever read
// (attachment), but chat hooks send the images of a conversation again with
// each question.
func SkipFiles(r io.Reader) io.Reader { return &fileSkipper{r: r} }

// fileSkipper copies JSON. It looks only at strings: a string begins with a
// quote outside of one, and ends with the next quote that is not escaped.
type fileSkipper struct {
	r        io.Reader
	inString bool
	escape   int    // bytes of an escape sequence that are still to come
	head     []byte // the beginning of the string
	length   int    // of the string so far
	decided  bool   // it is known whether the string is a file
	skip     bool   // it is one
}

func (f *fileSkipper) Read(p []byte) (int, error) {
	for {
		n, err := f.r.Read(p)
		if kept := f.filter(p[:n]); kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}

// filter moves the bytes that are kept to the beginning of p, and returns their
// number.
func (f *fileSkipper) filter(p []byte) (kept int) {
	for i := 0; i < len(p); {
		if f.inString && f.decided && f.escape == 0 {
			// What comes before the next quote or escape has no meaning here.
			n := bytes.IndexAny(p[i:], "\"\\")
			if n < 0 {
				n = len(p) - i
			}
			if !f.skip {
				copy(p[kept:], p[i:i+n])
				kept += n
			}
			i += n
			if i == len(p) {
				break
			}
		}
		if c := p[i]; f.keep(c) {
			p[kept] = c
			kept++
		}
		i++
	}
	return kept
}

func (f *fileSkipper) keep(c byte) bool {
	switch {
	case !f.inString:
		if c == '"' {
			f.inString, f.head, f.length, f.decided, f.skip = true, f.head[:0], 0, false, false
		}
		return true
	case f.escape > 0:
		f.escape--
		if f.escape == 0 && c == 'u' {
			f.escape = 4
		}
	case c == '\\':
		// A sequence that begins is kept or skipped as a whole.
		f.escape = 1
		f.decide()
	case c == '"':
		f.inString = false
		return true
	default:
		f.decide()
	}
	if len(f.head) < maxMediaType {
		f.head = append(f.head, c)
	}
	f.length++
	return !f.skip
}

// decide finds out, once a string, whether the rest of it is skipped.
func (f *fileSkipper) decide() {
	if !f.decided && f.length >= keptOfFile {
		f.decided, f.skip = true, f.isFile()
	}
}

// isFile reports whether the string is a data URL of a type that is not read.
// One without a type may be text.
func (f *fileSkipper) isFile() bool {
	if !hasScheme(f.head, "data:") {
		return false
	}
	mediaType, _, ok := bytes.Cut(f.head[len("data:"):], []byte(","))
	if !ok || bytes.IndexByte(mediaType, ' ') >= 0 {
		return false
	}
	mediaType, _, _ = bytes.Cut(mediaType, []byte(";"))
	return len(mediaType) > 0 && !hasScheme(mediaType, "text/")
}
