//go:build unix

package model

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// lateRead reads from a connection into a buffer that it borrows only once
// there is something to read.
type lateRead struct {
	c   net.Conn
	raw syscall.RawConn // nil where c has none
	try func(fd uintptr) bool

	// Of the read at hand:
	from *sync.Pool
	buf  *[]byte
	n    int
	err  error
}

func (r *lateRead) conn(c net.Conn) {
	r.c = c
	if sc, ok := c.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			r.raw, r.try = raw, r.ready
		}
	}
}

// read waits for something to read. The buffer is from's, and the caller's
// then; it may be nil where there is an error.
func (r *lateRead) read(from *sync.Pool) (buf *[]byte, n int, err error) {
	if r.raw == nil {
		buf = from.Get().(*[]byte)
		n, err = r.c.Read(*buf)
		return buf, n, err
	}
	r.from = from
	err = r.raw.Read(r.try)
	buf, r.buf = r.buf, nil
	if err == nil {
		n, err = r.n, r.err
	}
	return buf, n, err
}

// ready is called before each wait, and once there is something to read.
func (r *lateRead) ready(fd uintptr) bool {
	buf := r.from.Get().(*[]byte)
	for {
		n, err := syscall.Read(int(fd), *buf)
		switch {
		case err == nil && n > 0:
			r.n, r.err = n, nil
		case err == nil:
			r.n, r.err = 0, io.EOF
		case errors.Is(err, syscall.EAGAIN):
			r.from.Put(buf)
			return false
		case errors.Is(err, syscall.EINTR):
			continue
		default:
			at, to := r.c.LocalAddr(), r.c.RemoteAddr()
			r.n, r.err = 0, &net.OpError{Op: "read", Net: to.Network(), Source: at, Addr: to, Err: os.NewSyscallError("read", err)}
		}
		r.buf = buf
		return true
	}
}
