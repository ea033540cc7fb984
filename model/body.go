package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
)

// newBody is the body of an answer that came over l, whose header was read. l
// is free once the body is read to its end.
func newBody(d *direct, l *link, resp *http.Response, stop func() bool) io.ReadCloser {
	r := resp.Request
	on := lease{d: d, l: l, stop: stop, ctx: r.Context(), again: !resp.Close && !r.Close && resp.StatusCode >= 200}
	if resp.Body == http.NoBody || !slices.Equal(resp.TransferEncoding, []string{"chunked"}) {
		return &plainBody{lease: on, body: resp.Body}
	}
	b := &chunkedBody{lease: on}
	if n := l.in.Buffered(); n > 0 {
		early, _ := l.in.Peek(n)
		b.early = slices.Clone(early)
	}
	l.letGo()
	b.late.conn(l.Conn)
	return b
}

// lease is what a body has of its link.
type lease struct {
	d     *direct
	l     *link       // nil once it is let go of
	stop  func() bool // ends the watch of ctx
	ctx   context.Context
	again bool // the link can be used again
}

// Close ends the connection of a body that was not read to its end.
func (b *lease) Close() error {
	b.end(false)
	return nil
}

func (b *lease) end(again bool) {
	l := b.l
	if l == nil {
		return
	}
	b.l = nil
	if !b.stop() || !again || l.in != nil && l.in.Buffered() > 0 {
		l.drop()
		return
	}
	l.letGo()
	b.d.keep(l)
}

// why is the reason behind an error of reading.
func (b *lease) why(err error) error {
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	return err
}

// plainBody is a body of known length, or one that ends with its connection.
type plainBody struct {
	lease
	body io.Reader
}

func (b *plainBody) Read(p []byte) (int, error) {
	if b.l == nil {
		return 0, io.EOF
	}
	n, err := b.body.Read(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.end(b.again)
	default:
		err = b.why(err)
	}
	return n, err
}

// chunkedBody is a body in chunks, as streams are. It is read from the
// connection into the reader's buffer, so that a stream which waits holds
// none.
type chunkedBody struct {
	lease
	chunks chunks
	late   lateRead
	early  []byte // came with the header
}

func (b *chunkedBody) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil && len(p) > 0 {
		switch {
		case b.l == nil:
			return 0, io.EOF
		case len(b.early) > 0:
			n, err = b.took(p[:b.takeEarly(p)], nil)
		default:
			n, err = b.l.Conn.Read(p)
			n, err = b.took(p[:n], err)
		}
	}
	return n, err
}

// ReadLate implements lateReader.
func (b *chunkedBody) ReadLate(from *sync.Pool) (buf *[]byte, n int, err error) {
	for {
		switch {
		case b.l == nil:
			return nil, 0, io.EOF
		case len(b.early) > 0:
			buf = from.Get().(*[]byte)
			n, err = b.took((*buf)[:b.takeEarly(*buf)], nil)
		default:
			if buf, n, err = b.late.read(from); buf == nil {
				_, err = b.took(nil, err)
				return nil, 0, err
			}
			n, err = b.took((*buf)[:n], err)
		}
		if n > 0 || err != nil {
			return buf, n, err
		}
		from.Put(buf) // nothing but the line of a chunk
	}
}

func (b *chunkedBody) takeEarly(p []byte) int {
	n := copy(p, b.early)
	if b.early = b.early[n:]; len(b.early) == 0 {
		b.early = nil
	}
	return n
}

// took makes data of what was read.
func (b *chunkedBody) took(p []byte, readErr error) (int, error) {
	n, rest, err := b.chunks.strip(p)
	switch {
	case errors.Is(err, io.EOF):
		b.end(b.again && rest == 0 && len(b.early) == 0)
		return n, io.EOF
	case err != nil:
		return n, err
	case errors.Is(readErr, io.EOF):
		return n, io.ErrUnexpectedEOF
	case readErr != nil:
		return n, b.why(readErr)
	}
	return n, nil
}
