//go:build !unix

package model

import (
	"net"
	"sync"
)

// lateRead reads from a connection into a borrowed buffer. Here it is
// borrowed while there is nothing to read, too: Windows has no other way.
type lateRead struct{ c net.Conn }

func (r *lateRead) conn(c net.Conn) { r.c = c }

func (r *lateRead) read(from *sync.Pool) (buf *[]byte, n int, err error) {
	buf = from.Get().(*[]byte)
	n, err = r.c.Read(*buf)
	return buf, n, err
}
