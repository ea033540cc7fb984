package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// load opens streams and reads them to their end, on raw connections, so that
// it sees each chunk of a response, which is one flush of the server.
type load struct {
	addr    string
	request []byte // header and body
	streams int    // at once
	each    int    // streams on each connection, in turn
	ramp    time.Duration
	tokens  int // of each stream
	// idle, if not nil, is called when all streams have their first token.
	idle func()

	steady *atomic.Bool // all streams are open; made by run
}

// seen is the result of a load.
type seen struct {
	tokens, chunks int64
	lost           int64           // tokens lost, duplicated or out of order
	failed         int64           // streams
	failure        error           // one of them
	latency        []uint32        // of each token but the first, in µs
	steady         []uint32        // of those that arrived while all streams were open
	first          []time.Duration // request to the first byte of the body
	asked          []time.Duration // request to its arrival at the model
	wall           time.Duration
}

func (l *load) run(ctx context.Context) *seen {
	var (
		total seen
		mu    sync.Mutex
		wg    sync.WaitGroup
		begun atomic.Int64
	)
	l.steady = new(atomic.Bool)
	start := time.Now()
	onFirst := func() {
		if begun.Add(1) == int64(l.streams) {
			l.steady.Store(true)
			if l.idle != nil {
				l.idle()
			}
		}
	}
	for i := range l.streams {
		wg.Go(func() {
			if pause(ctx, l.ramp*time.Duration(i)/time.Duration(l.streams)) != nil {
				return
			}
			c := &streamClient{load: l, onFirst: onFirst}
			defer c.close()
			for range max(1, l.each) {
				if err := c.stream(ctx); err != nil {
					c.failed++
					c.failure = err
					c.close()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(&c.seen)
		})
	}
	wg.Wait()
	total.wall = time.Since(start)
	return &total
}

func (s *seen) add(o *seen) {
	s.tokens += o.tokens
	s.chunks += o.chunks
	s.lost += o.lost
	s.failed += o.failed
	if o.failure != nil {
		s.failure = o.failure
	}
	s.latency = append(s.latency, o.latency...)
	s.steady = append(s.steady, o.steady...)
	s.first = append(s.first, o.first...)
	s.asked = append(s.asked, o.asked...)
}

// err returns the first error of the streams.
func (s *seen) err() error {
	switch {
	case s.failed > 0:
		return fmt.Errorf("%w: %d, one by: %w", errStreams, s.failed, s.failure)
	case s.lost > 0:
		return fmt.Errorf("%w: %d tokens lost, duplicated or out of order", errStreams, s.lost)
	}
	return nil
}

type streamClient struct {
	*load
	seen
	onFirst func()
	conn    net.Conn
	br      *bufio.Reader

	next int    // token expected
	part []byte // the beginning of a mark
}

func (c *streamClient) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

const streamTimeout = 180 * time.Second

func (c *streamClient) stream(ctx context.Context) (err error) {
	if c.conn == nil {
		d := net.Dialer{Timeout: 20 * time.Second}
		if c.conn, err = d.DialContext(ctx, "tcp", c.addr); err != nil {
			c.conn = nil
			return err
		}
		c.br = bufio.NewReaderSize(c.conn, 8192)
	}
	start, sent := time.Now(), clock()
	_ = c.conn.SetDeadline(start.Add(streamTimeout))
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	if err := c.header(); err != nil {
		return err
	}
	c.next, c.part = 0, c.part[:0]
	begun := false
	var tail [64]byte // the last bytes have the end of the stream
	for {
		n, err := c.chunkSize()
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if !begun {
			begun = true
			c.first = append(c.first, time.Since(start))
		}
		if c.next > 0 || n > 0 {
			c.chunks++
		}
		now := clock()
		for n > 0 {
			b, err := c.br.Peek(min(n, max(1, c.br.Buffered())))
			if err != nil {
				return err
			}
			was := c.next
			c.marks(b, now, sent)
			if was == 0 && c.next > 0 {
				c.onFirst()
			}
			if len(b) >= len(tail) {
				copy(tail[:], b[len(b)-len(tail):])
			} else {
				copy(tail[:], tail[len(b):])
				copy(tail[len(tail)-len(b):], b)
			}
			n -= len(b)
			if _, err := c.br.Discard(len(b)); err != nil {
				return err
			}
		}
		if _, err := c.br.Discard(2); err != nil { // the line end after the chunk
			return err
		}
	}
	if _, err := c.br.Discard(2); err != nil {
		return err
	}
	c.load.steady.Store(false)
	c.lost += int64(max(0, c.load.tokens-c.next))
	if !bytes.Contains(tail[:], []byte("[DONE]")) {
		return errors.New("the stream ended without [DONE]")
	}
	return nil
}

// header reads the response's header.
func (c *streamClient) header() error {
	for first := true; ; first = false {
		line, err := c.br.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !strings.HasPrefix(string(line), "HTTP/1.1 200") {
			rest, _ := io.ReadAll(io.LimitReader(c.br, int64(c.br.Buffered())))
			return fmt.Errorf("%s … %s", bytes.TrimSpace(line), rest[max(0, len(rest)-200):])
		}
		if len(line) <= 2 {
			return nil
		}
	}
}

func (c *streamClient) chunkSize() (int, error) {
	line, err := c.br.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
	return int(n), err
}

// marks finds the marks in the next bytes of the stream.
func (c *streamClient) marks(b []byte, now, sent uint64) {
	for len(b) > 0 {
		if len(c.part) == 0 {
			i := bytes.IndexByte(b, '~')
			if i < 0 {
				return
			}
			b = b[i:]
			if len(b) >= markLength {
				c.mark(b[:markLength], now, sent)
				b = b[markLength:]
				continue
			}
		}
		n := min(len(b), markLength-len(c.part))
		c.part = append(c.part, b[:n]...)
		b = b[n:]
		if len(c.part) == markLength {
			c.mark(c.part, now, sent)
			c.part = c.part[:0]
		}
	}
}

func (c *streamClient) mark(m []byte, now, sent uint64) {
	if m[5] != '=' || m[16] != ';' {
		return // a tilde of a page's title
	}
	n, at := hexNumber(m[1:5]), hexNumber(m[6:16])
	c.seen.tokens++
	if int(n) != c.next&0xffff {
		c.lost++
	}
	if c.next == 0 {
		c.asked = append(c.asked, time.Duration(at-sent)*time.Microsecond)
	} else {
		c.latency = append(c.latency, uint32(now-at))
		if c.load.steady.Load() {
			c.seen.steady = append(c.seen.steady, uint32(now-at))
		}
	}
	c.next++
}

func hexNumber(b []byte) (n uint64) {
	for _, ch := range b {
		n <<= 4
		if i := strings.IndexByte(hexDigits, ch); i >= 0 {
			n |= uint64(i)
		}
	}
	return n
}

// messageRequest returns a request for a reply in v2.
func messageRequest(path, host, question string) []byte {
	body := jsonOf(map[string]any{
		"fp": "bench", "retrievalPageSize": 5,
		"messages": []any{map[string]any{"id": "m1", "role": "user", "parts": []any{map[string]any{"type": "text", "text": question}}}},
	})
	return post(path, host, body)
}

// modelRequest returns a request to the model, for the proxy.
func modelRequest(host, question string) []byte {
	return post("/v1/chat/completions", host, jsonOf(map[string]any{
		"model": "bench", "stream": true, "stream_options": map[string]any{"include_usage": true},
		"messages": []any{map[string]any{"role": "system", "content": "You answer questions about the documentation."}, map[string]any{"role": "user", "content": question}},
	}))
}

func post(path, host string, body []byte) []byte {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", path, host, benchKey, len(body))
	return slices.Concat([]byte(head), body)
}
