package model

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// newClient is the client used where Options has none: limits on everything
// but the length of a reply.
func newClient() *http.Client { return &http.Client{Transport: newTransport()} }

// plainTransport is net/http's. Each stream over HTTP/1 holds a connection:
// its buffer for writing is small, since what is longer goes past it. That
// for reading is not, since a stream which fell behind is read in pieces of
// its size.
func plainTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dial,
		TLSHandshakeTimeout:    5 * time.Second,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        idleTime,
		MaxIdleConns:           2 * maxIdleConns,
		MaxIdleConnsPerHost:    maxIdleConns, // the default of 2 would dial anew for each stream
		MaxResponseHeaderBytes: maxHeader,
		WriteBufferSize:        512,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // a compressed stream comes in blocks
	}
}

var dialer = net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := dialer.DialContext(ctx, network, address)
	if tcp, ok := c.(*net.TCPConn); ok {
		return conn{tcp}, err
	}
	return c, err
}

// conn is a connection whose ReadFrom borrows its buffer. net/http hands it
// each request's body, and net would make a buffer of the body's size.
type conn struct{ *net.TCPConn }

var copyBuffers = sync.Pool{New: func() any { b := make([]byte, 16<<10); return &b }}

func (c conn) ReadFrom(r io.Reader) (int64, error) {
	b := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(b)
	return io.CopyBuffer(struct{ io.Writer }{c.TCPConn}, r, *b)
}
