package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Sizes of the read buffer. A stream that waits has none; one that something
// came for gets smallBuffer, and one that fills it in a single read
// largeBuffer, so that a fast model costs fewer reads. A longer line grows
// the buffer up to maxLine, which bounds what a broken endpoint can make a
// stream hold.
const (
	smallBuffer = 8 << 10
	largeBuffer = 16 << 10
	maxLine     = 4 << 20
)

var (
	smallBuffers = sync.Pool{New: func() any { b := make([]byte, smallBuffer); return &b }}
	largeBuffers = sync.Pool{New: func() any { b := make([]byte, largeBuffer); return &b }}
)

var errLineTooLong = fmt.Errorf("a line of the stream is longer than %d MB", maxLine>>20)

// lines cuts a stream into lines that end with LF, CRLF or CR, as the event
// stream format has them (WHATWG HTML §9.2.5). The bytes of a line stand in
// the read buffer and are valid until the next call of next.
type lines struct {
	src io.Reader
	// beforeRead, where not nil, is called before each read that may wait.
	beforeRead func() error

	pooled  *[]byte // where buf is from; nil where it was grown
	buf     []byte
	one     [1]byte // what a stream waits with
	r, w    int     // unread bytes are buf[r:w]
	scan    int     // no line end stands in buf[r:scan]
	skipLF  bool    // the last line ended with CR at the buffer's end
	started bool
	full    bool // the last read filled the buffer
	partial bool // the last line had no line end: the stream ended in it
	err     error
}

func newLines(src io.Reader) lines {
	return lines{src: src}
}

// release gives the buffer back; no line may be used afterwards.
func (l *lines) release() {
	l.giveBack()
	l.buf, l.r, l.w, l.err = nil, 0, 0, io.EOF
}

// borrow gets a buffer; the one before was given back.
func (l *lines) borrow(from *sync.Pool) {
	l.pooled = from.Get().(*[]byte)
	l.buf = *l.pooled
}

func (l *lines) giveBack() {
	if l.pooled == nil {
		return
	}
	if len(*l.pooled) == smallBuffer {
		smallBuffers.Put(l.pooled)
	} else {
		largeBuffers.Put(l.pooled)
	}
	l.pooled = nil
}

// next returns a line without its end. After the last one it returns the
// reader's error, io.EOF for a regular end.
func (l *lines) next() ([]byte, error) {
	for {
		if l.skipLF && l.r < l.w {
			if l.buf[l.r] == '\n' {
				l.r++
			}
			l.skipLF = false
		}
		if i := l.lineEnd(); i >= 0 {
			line := l.buf[l.r:i]
			l.r = i + 1
			if l.buf[i] == '\r' {
				if l.r == l.w {
					l.skipLF = true
				} else if l.buf[l.r] == '\n' {
					l.r++
				}
			}
			return line, nil
		}
		if l.err != nil {
			if l.r < l.w {
				line := l.buf[l.r:l.w]
				l.r, l.partial = l.w, true
				return line, nil
			}
			return nil, l.err
		}
		l.fill()
	}
}

// first waits for the first byte that is not white space (nor part of a
// byte order mark), and returns it without consuming it; 0 at the end.
func (l *lines) first() byte {
	for {
		if !l.started {
			if bom := []byte("\xef\xbb\xbf"); bytes.HasPrefix(l.buf[l.r:l.w], bom) {
				l.r += len(bom)
				l.started = true
			} else if l.w-l.r >= len(bom) {
				l.started = true
			}
		}
		for i := l.r; i < l.w; i++ {
			switch c := l.buf[i]; c {
			case ' ', '\t', '\r', '\n':
			case 0xef:
				if !l.started && l.err == nil {
					i = l.w // wait for the whole mark
					continue
				}
				return c
			default:
				return c
			}
		}
		if l.err != nil {
			return 0
		}
		l.fill()
	}
}

// rest reads everything up to the end of the stream, at most maxLine.
func (l *lines) rest() ([]byte, error) {
	for l.err == nil {
		l.fill()
	}
	b := l.buf[l.r:l.w]
	l.r = l.w
	if !errors.Is(l.err, io.EOF) {
		return b, l.err
	}
	return b, nil
}

// lineEnd returns the index of the end of the line at r, -1 if it is not
// in the buffer yet.
func (l *lines) lineEnd() int {
	from := max(l.r, l.scan)
	i := lineEnd(l.buf[from:l.w])
	if i < 0 {
		l.scan = l.w
		return -1
	}
	return from + i
}

func lineEnd(b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if j := bytes.IndexByte(b[:i], '\r'); j >= 0 {
		return j
	}
	return i
}

// fill reads once. Errors are kept for next.
func (l *lines) fill() {
	empty := l.r == l.w
	switch {
	case empty:
		l.r, l.w, l.scan = 0, 0, 0
	case l.w == len(l.buf) && l.r > 0:
		n := copy(l.buf, l.buf[l.r:l.w])
		l.scan = max(0, l.scan-l.r)
		l.r, l.w = 0, n
	case l.w == len(l.buf):
		if len(l.buf) >= maxLine {
			l.err = errLineTooLong
			return
		}
		grown := make([]byte, min(2*len(l.buf), maxLine))
		copy(grown, l.buf[:l.w])
		l.giveBack()
		l.buf = grown
	}
	if l.beforeRead != nil {
		if l.err = l.beforeRead(); l.err != nil {
			return
		}
	}
	into := l.buf[l.w:]
	switch {
	case !empty:
	case l.full: // more has likely come already
		l.giveBack()
		l.borrow(&largeBuffers)
		into = l.buf
	default:
		// The first byte is read alone, and then what came with it; after a
		// line's end nothing may have.
		l.giveBack()
		l.buf, l.full = nil, false
		if l.read(l.one[:]) == 0 {
			return
		}
		l.borrow(&smallBuffers)
		l.buf[0], l.w = l.one[0], 1
		if l.err != nil || l.one[0] == '\n' || l.one[0] == '\r' {
			return
		}
		into = l.buf[1:]
	}
	l.w += l.read(into)
	l.full = l.w == len(l.buf)
}

// read reads something.
func (l *lines) read(into []byte) int {
	for range 100 {
		n, err := l.src.Read(into)
		if err != nil {
			l.err = err
		}
		if n > 0 || err != nil {
			return n
		}
	}
	l.err = io.ErrNoProgress
	return 0
}
