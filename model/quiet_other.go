//go:build !unix

package model

import (
	"errors"
	"net"
	"os"
	"time"
)

// quiet tells whether an idle connection has neither ended nor anything to
// read: some servers end theirs with an answer that nobody asked for, which
// must not be taken for the next request's. It waits a millisecond.
func quiet(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded) && c.SetReadDeadline(time.Time{}) == nil
}
