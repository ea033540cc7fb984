package model

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// scripted is a server that answers each request with the next of the texts,
// byte for byte, and tells how many connections came. A text that begins with
// "…" is sent without a request; "close" ends the connection.
func scripted(t *testing.T, texts ...string) (address string, connections *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	connections = new(atomic.Int32)
	next := make(chan string, len(texts))
	for _, s := range texts {
		next <- s
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					for answered := false; ; {
						select {
						case s := <-next:
							if s == "close" {
								return
							}
							unasked := strings.TrimPrefix(s, "…")
							if unasked == s && answered {
								next <- s // for the next request
							} else {
								_, _ = io.WriteString(c, unasked)
								answered = true
								continue
							}
						default:
						}
						break
					}
				}
			}()
		}
	}()
	return l.Addr().String(), connections
}

func directly(t *testing.T) *direct {
	d := &direct{dial: dial}
	t.Cleanup(d.CloseIdleConnections)
	return d
}

func post(t *testing.T, ctx context.Context, d *direct, address, body string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return d.RoundTrip(r)
}

func TestAnswersOfDirectRequests(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, c := range map[string]struct {
		answers     []string
		connections int32
		body, err   string
	}{
		"length, the connection is used again":        {[]string{ok, ok}, 1, "ok", ""},
		"chunks, the connection is used again":        {[]string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", ok}, 1, "ok", ""},
		"chunks and a trailer":                        {[]string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", ok}, 1, "ok", ""},
		"more than the chunks came":                   {[]string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 408 Request Timeout\r\n\r\n", ok}, 2, "ok", ""},
		"answers before the answer":                   {[]string{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok, ok}, 1, "ok", ""},
		"the endpoint wants no other request":         {[]string{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", ok}, 2, "ok", ""},
		"HTTP/1.0 without a length":                   {[]string{"HTTP/1.0 200 OK\r\n\r\nok", "close", ok}, 2, "ok", ""},
		"the endpoint changes the protocol":           {[]string{"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", ok}, 2, "", ""},
		"more than the answer came":                   {[]string{ok + "HTTP/1.1 408 Request Timeout\r\n\r\n", ok}, 2, "ok", ""},
		"an idle connection ends with another answer": {[]string{ok, "…HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n", ok}, 2, "ok", ""},
		"a header without end":                        {[]string{"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*maxHeader), ok}, 2, "", "longer than 64 kB"},
		"a header of many lines":                      {[]string{"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", maxHeader/4), ok}, 2, "", "longer than 64 kB"},
		"no HTTP at all":                              {[]string{"220 mail.example.com ESMTP\r\n", ok}, 2, "", "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			address, connections := scripted(t, c.answers...)
			d := directly(t)
			resp, err := post(t, t.Context(), d, address, "{}")
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q in it", err, c.err)
				}
			case err != nil:
				t.Fatal(err)
			default:
				b, err := io.ReadAll(resp.Body)
				if err != nil || !strings.HasPrefix(string(b), c.body) {
					t.Fatalf("%q, %v", b, err)
				}
				resp.Body.Close()
				if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err == nil {
					t.Error("a closed body can be read")
				}
			}
			time.Sleep(10 * time.Millisecond) // what comes unasked comes now
			if resp, err = post(t, t.Context(), d, address, "{}"); err != nil {
				t.Fatal("the next request:", err)
			}
			if b, _ := io.ReadAll(resp.Body); string(b) != "ok" || resp.StatusCode != 200 {
				t.Errorf("the next request: %s %q", resp.Status, b)
			}
			if n := connections.Load(); n != c.connections {
				t.Errorf("%d connections, want %d", n, c.connections)
			}
		})
	}
}

func TestAConnectionClosedWithoutAnAnswer(t *testing.T) {
	address, _ := scripted(t, "close")
	if _, err := post(t, t.Context(), directly(t), address, "{}"); !errors.Is(err, errNoAnswer) {
		t.Error(err)
	}
}

// A refusal is read though the endpoint took only a part of the request.
func TestARefusalBeforeTheRequestIsTaken(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, "too long")
	}))
	defer srv.Close()
	resp, err := post(t, t.Context(), directly(t), srv.Listener.Addr().String(), strings.Repeat("x", 200<<10))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusRequestEntityTooLarge || string(b) != "too long" {
		t.Errorf("%s %q", resp.Status, b)
	}
}

func TestACancelledRequestEndsWithItsCause(t *testing.T) {
	cause := errors.New("enough")
	for _, when := range []string{"header", "body"} {
		begun := make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if when == "body" {
				w.(http.Flusher).Flush()
			}
			close(begun)
			<-r.Context().Done()
		}))
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-begun
			cancel(cause)
		}()
		d := directly(t)
		resp, err := post(t, ctx, d, srv.Listener.Addr().String(), "{}")
		if err == nil {
			_, err = io.ReadAll(resp.Body)
		}
		if !errors.Is(err, cause) {
			t.Errorf("in the %s: %v", when, err)
		}
		if len(d.idle) > 0 {
			t.Errorf("in the %s: its connection is kept", when)
		}
		srv.Close()
	}
}

// A stream that waits is its reader's goroutine and nothing else.
func TestAWaitingStreamHasNoGoroutineOfItsOwn(t *testing.T) {
	const streams = 50
	var inServer atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.(http.Flusher).Flush()
		inServer.Add(1)
		<-r.Context().Done()
	}))
	defer srv.Close()
	count := func(with func(c *http.Client)) int {
		inServer.Store(0)
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := newClient()
		defer c.CloseIdleConnections()
		with(c)
		for range streams {
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader("{}"))
			resp, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
		}
		for inServer.Load() < streams {
			time.Sleep(time.Millisecond)
		}
		return runtime.NumGoroutine() - before
	}
	first := runtime.NumGoroutine()
	directly := count(func(*http.Client) {})
	for runtime.NumGoroutine() > first {
		time.Sleep(time.Millisecond) // until the server has seen all of them go
	}
	through := count(func(c *http.Client) { c.Transport = c.Transport.(*transport).Transport })
	// The server has its own, as many in both cases.
	if directly > through-2*streams {
		t.Errorf("%d goroutines for %d streams, %d with net/http's transport", directly, streams, through)
	}
}

// answeredBy asks a server that answers one request as told, piece by piece.
func answeredBy(t *testing.T, answer func(*net.TCPConn)) *http.Response {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			answer(c.(*net.TCPConn))
		}
	}()
	c := newClient()
	t.Cleanup(c.CloseIdleConnections)
	resp, err := c.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// Lines come as they are sent, whatever body they come in and however it is cut.
func TestAStreamWaitsForEveryKindOfBody(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	for name, pieces := range map[string][]string{
		"chunks":                  {head + "Transfer-Encoding: chunked\r\n\r\n", "4\r\none\n\r\n", "4\r\ntwo\n\r\n", "0\r\n\r\n"},
		"chunks cut anywhere":     {head + "Transfer-Encoding: chunked\r\n\r\n4", "\r\none", "\n", "\r", "\n4\r", "\ntwo\n\r\n", "0", "\r\n\r", "\n"},
		"with the end at once":    {head + "Transfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n"},
		"of a known length":       {head + "Content-Length: 8\r\n\r\n", "one\n", "two\n"},
		"of a known length, all":  {head + "Content-Length: 8\r\n\r\none\ntwo\n"},
		"none, said to be chunks": {"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"},
		"up to the end":           {head + "\r\n", "one\n", "two\n", "close"},
	} {
		t.Run(name, func(t *testing.T) {
			resp := answeredBy(t, func(c *net.TCPConn) {
				for _, s := range pieces {
					if s == "close" {
						c.Close()
						return
					}
					time.Sleep(2 * time.Millisecond) // so that they come one by one
					_, _ = io.WriteString(c, s)
				}
			})
			in := newLines(resp.Body)
			got := ""
			for {
				line, err := in.next()
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Error(err)
					}
					break
				}
				got += string(line) + " "
			}
			if want := "one two "; got != want && !(got == "" && resp.StatusCode == http.StatusNoContent) {
				t.Errorf("%q came", got)
			}
		})
	}
}

// A stream that waits for a body in chunks has no buffer.
func TestAStreamThatWaitsHoldsNoBuffer(t *testing.T) {
	const streams = 100
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer srv.Close()
	d := directly(t)
	ctx, cancel := context.WithCancel(t.Context())
	var made atomic.Int32
	pool := sync.Pool{New: func() any { made.Add(1); b := make([]byte, 100); return &b }}
	var waiting, ended sync.WaitGroup
	for range streams {
		resp, err := post(t, ctx, d, srv.Listener.Addr().String(), "{}")
		if err != nil {
			t.Fatal(err)
		}
		waiting.Add(1)
		ended.Go(func() {
			waiting.Done()
			if _, _, err := resp.Body.(lateReader).ReadLate(&pool); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	waiting.Wait()
	time.Sleep(20 * time.Millisecond)
	if n := made.Load(); n > streams/2 { // the race detector drops some
		t.Errorf("%d streams hold %d buffers", streams, n)
	}
	cancel()
	ended.Wait()
}

// What ended a connection while a stream waited is told.
func TestTheReasonOfABrokenConnectionIsKept(t *testing.T) {
	waiting := make(chan struct{})
	resp := answeredBy(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
		<-waiting
		_ = c.SetLinger(0) // a reset
		c.Close()
	})
	in := newLines(resp.Body)
	if line, err := in.next(); string(line) != "one" || err != nil {
		t.Fatalf("%q %v", line, err)
	}
	close(waiting)
	_, err := in.next()
	var op *net.OpError
	if !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &op) || op.Op != "read" {
		t.Errorf("%v, want a reset", err)
	}
}

// A stream that outlives its configuration leaves no connection behind.
func TestAConnectionIsNotKeptAfterTheClientWasClosed(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	address, connections := scripted(t, ok, ok, ok)
	d := directly(t)
	resp, err := post(t, t.Context(), d, address, "{}")
	if err != nil {
		t.Fatal(err)
	}
	d.CloseIdleConnections()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	if len(d.idle) > 0 {
		t.Error("it is kept")
	}
	for range 2 { // a request opens the pool again
		if resp, err = post(t, t.Context(), d, address, "{}"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

func TestIdleConnectionsAreClosedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Bool
		d := &direct{dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				in := bufio.NewReader(theirs)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						closed.Store(true)
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					_, _ = io.WriteString(theirs, "HTTP/1.1 204 No Content\r\n\r\n")
				}
			}()
			return ours, nil
		}}
		ask := func() {
			resp, err := post(t, t.Context(), d, "model", "{}")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		ask()
		time.Sleep(idleTime / 2)
		ask()
		time.Sleep(idleTime * 3 / 4)
		if synctest.Wait(); closed.Load() {
			t.Fatal("closed while it was used lately")
		}
		time.Sleep(idleTime)
		if synctest.Wait(); !closed.Load() {
			t.Error("kept for ever")
		}
	})
}
