package model

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"
)

// transport brings requests to endpoints. Those at http:// addresses, mostly
// models of one's own, go directly; net/http's Transport does the rest: TLS
// with HTTP/2, proxies.
type transport struct {
	*http.Transport
	direct direct
}

func newTransport() *transport {
	t := &transport{Transport: plainTransport()}
	t.direct.dial = t.DialContext
	return t
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "http" && isASCII(r.URL.Host) {
		if proxy, err := t.Proxy(r); proxy == nil && err == nil {
			return t.direct.RoundTrip(r)
		}
	}
	return t.Transport.RoundTrip(r)
}

func (t *transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.Transport.CloseIdleConnections()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Bounds of connections.
const (
	maxIdleConns  = 512 // of an address; a stream has one to itself
	idleTime      = 90 * time.Second
	maxHeader     = 64 << 10              // of an answer, in bytes
	earlyPatience = 50 * time.Millisecond // for the answer of an endpoint that took only a part of the request
	requestBuffer = 32 << 10              // most requests go out in one write
	answerBuffer  = 8 << 10
)

// direct sends requests over connections without TLS, HTTP/1.1, and keeps
// those that can be used again. net/http's Transport keeps two goroutines a
// connection, whose stacks are a fifth of what a waiting stream costs; here
// the caller's own goroutine writes the request and reads the answer, with
// net/http's functions for both. So an answer that comes before the whole
// request was taken is only seen then.
type direct struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu    sync.Mutex
	idle  map[string][]*link // by address, the latest used last
	shut  bool               // CloseIdleConnections came after the last request
	sweep *time.Timer        // of links that were idle for long
}

// link is a connection to an endpoint.
type link struct {
	net.Conn
	address string
	in      *bufio.Reader
	header  int64 // bytes that the answer's header may still have, or headerRead
	since   time.Time
}

var errNoAnswer = errors.New("the connection was closed without an answer")

var errHeaderTooLong = fmt.Errorf("the header of the answer is longer than %d kB", maxHeader>>10)

// headerRead: what comes is the body.
const headerRead = -1

// Read reads from the connection: of a header no more than its bound.
func (l *link) Read(p []byte) (int, error) {
	switch {
	case l.header == headerRead:
		return l.Conn.Read(p)
	case l.header <= 0:
		return 0, errHeaderTooLong
	}
	n, err := l.Conn.Read(p)
	l.header = max(0, l.header-int64(n))
	return n, err
}

var (
	requestWriters = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, requestBuffer) }}
	answerReaders  = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, answerBuffer) }}
)

// RoundTrip implements http.RoundTripper.
func (d *direct) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	l, err := d.link(ctx, r.URL)
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	resp, err := l.exchange(r)
	if err != nil {
		stop()
		l.drop()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	resp.Body = newBody(d, l, resp, stop)
	return resp, nil
}

// exchange writes a request and reads the header of its answer.
func (l *link) exchange(r *http.Request) (*http.Response, error) {
	w := requestWriters.Get().(*bufio.Writer)
	w.Reset(l.Conn)
	err := r.Write(w)
	if err == nil {
		err = w.Flush()
	}
	w.Reset(nil)
	requestWriters.Put(w)
	if err != nil {
		// Perhaps it was refused before it was read.
		_ = l.SetReadDeadline(time.Now().Add(earlyPatience))
	}
	resp, readErr := l.answer(r)
	switch {
	case readErr == nil && err != nil:
		_ = l.SetReadDeadline(time.Time{})
		resp.Close = true
		return resp, nil
	case err != nil:
		return nil, err
	}
	return resp, readErr
}

// answer reads the header of an answer, past those that only say that one
// will come.
func (l *link) answer(r *http.Request) (*http.Response, error) {
	l.in = answerReaders.Get().(*bufio.Reader)
	l.in.Reset(l)
	l.header = maxHeader
	for {
		resp, err := http.ReadResponse(l.in, r)
		if errors.Is(err, io.ErrUnexpectedEOF) && l.header == maxHeader {
			return nil, errNoAnswer
		}
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			l.header = headerRead
			return resp, nil
		}
	}
}

// drop closes a link that is not used again.
func (l *link) drop() {
	l.Close()
	l.letGo()
}

// letGo gives the buffer back.
func (l *link) letGo() {
	if l.in != nil {
		l.in.Reset(nil)
		answerReaders.Put(l.in)
		l.in = nil
	}
}

// link returns a connection to the address of u.
func (d *direct) link(ctx context.Context, u *url.URL) (*link, error) {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	address := net.JoinHostPort(u.Hostname(), port)
	trace := httptrace.ContextClientTrace(ctx)
	for l := d.take(address); l != nil; l = d.take(address) {
		if !quiet(l.Conn) {
			l.Close()
			continue
		}
		if trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: l.Conn, Reused: true, WasIdle: true})
		}
		return l, nil
	}
	c, err := d.dial(ctx, "tcp", address)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	if trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: c})
	}
	return &link{Conn: c, address: address}, nil
}

func (d *direct) take(address string) *link {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = false
	idle := d.idle[address]
	if len(idle) == 0 {
		return nil
	}
	l := idle[len(idle)-1]
	idle[len(idle)-1] = nil
	d.idle[address] = idle[:len(idle)-1]
	return l
}

// keep keeps a link for another request.
func (d *direct) keep(l *link) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut || len(d.idle[l.address]) >= maxIdleConns {
		l.Close()
		return
	}
	if d.idle == nil {
		d.idle = make(map[string][]*link)
	}
	l.since = time.Now()
	d.idle[l.address] = append(d.idle[l.address], l)
	if d.sweep == nil {
		d.sweep = time.AfterFunc(idleTime, d.closeOld)
	}
}

// closeOld closes links that have been idle for long.
func (d *direct) closeOld() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep = nil
	for address, idle := range d.idle {
		n := 0
		for n < len(idle) && time.Since(idle[n].since) >= idleTime {
			idle[n].Close()
			n++
		}
		if idle = idle[n:]; len(idle) == 0 {
			delete(d.idle, address)
		} else {
			d.idle[address] = idle
		}
	}
	if len(d.idle) > 0 {
		d.sweep = time.AfterFunc(idleTime/3, d.closeOld)
	}
}

// CloseIdleConnections closes the links that wait for another request, and,
// until there is one, those in use once they are free.
func (d *direct) CloseIdleConnections() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
	for _, idle := range d.idle {
		for _, l := range idle {
			l.Close()
		}
	}
	clear(d.idle)
	if d.sweep != nil {
		d.sweep.Stop()
		d.sweep = nil
	}
}
