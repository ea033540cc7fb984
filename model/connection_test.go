package model

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// overSockets serves h over real connections, and returns a chain that asks it
// with the package's own client, and the number of connections so far.
func overSockets(t *testing.T, h http.Handler) (*Chain, *atomic.Int32) {
	t.Helper()
	opened := new(atomic.Int32)
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	c, err := New(Options{Endpoints: []Endpoint{{URL: srv.URL + "/v1", Model: "fake"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, opened
}

func TestRepliesInSuccessionShareAConnection(t *testing.T) {
	fake := modelserver.New()
	fake.Always(modelserver.Reply{Text: "whole"})
	c, opened := overSockets(t, fake)
	question := strings.Repeat("a long question ", 10_000)
	prompt := &assistant.Prompt{Messages: []assistant.PromptMessage{{Role: "user", Content: question}}}
	for range 3 {
		if got, _, err := askAs(t.Context(), c, prompt); err != nil || got.text != "whole" {
			t.Fatal(got.text, err)
		}
		if got := fake.Last().Question(); got != question {
			t.Fatalf("%d bytes of the question arrived", len(got))
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for 3 replies", n)
	}
}

// An endpoint that fails after it has read a question may have generated, and
// billed, the reply.
func TestAQuestionIsNotSentTwice(t *testing.T) {
	fake := modelserver.New()
	fake.Always(modelserver.Reply{Text: "whole"})
	var generations atomic.Int32
	c, opened := overSockets(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if generations.Add(1) > 1 {
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		}
		fake.ServeHTTP(w, r)
	}))
	if _, _, err := ask(t, c); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(t, c); kindOf(err) != Unreachable {
		t.Errorf("error %v", err)
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections: the second question did not reuse the first", n)
	}
	if n := generations.Load(); n != 2 {
		t.Errorf("%d generations for 2 questions", n)
	}
}

// One op is one token from an endpoint through a server to a client, over
// sockets. The next token is sent when the client has read it, so each one is
// flushed. With -cpu 1 on an idle machine, ns/op is the CPU time of endpoint,
// server and client together.
func BenchmarkPerTokenOverHTTP(b *testing.B) {
	for name, server := range map[string]func(*url.URL) http.Handler{
		"reverse proxy": func(u *url.URL) http.Handler {
			proxy := httputil.NewSingleHostReverseProxy(u)
			proxy.FlushInterval = -1
			return proxy
		},
		"stream": func(u *url.URL) http.Handler {
			c, err := New(Options{Endpoints: []Endpoint{{URL: u.String(), Model: "fake"}}, MaxTokens: 100_000_000})
			if err != nil {
				b.Fatal(err)
			}
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = c.Stream(r.Context(), &assistant.Prompt{}, func(d *assistant.Delta) error {
					if d.More {
						_, err := fmt.Fprintf(w, "data: %s\n\n", d.Text)
						return err
					}
					return http.NewResponseController(w).Flush()
				})
			})
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			next := make(chan string)
			endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for token := range next {
					_, _ = io.WriteString(w, strings.Replace(tokenEvent, " token", token, 1))
					_ = http.NewResponseController(w).Flush()
				}
			}))
			defer endpoint.Close()
			u, err := url.Parse(endpoint.URL)
			if err != nil {
				b.Fatal(err)
			}
			srv := httptest.NewServer(server(u))
			defer srv.Close()
			defer close(next)
			go func() { next <- "first" }()
			resp, err := http.Get(srv.URL)
			if err != nil {
				b.Fatal(err)
			}
			defer resp.Body.Close()
			in := bufio.NewScanner(resp.Body)
			arrive := func() {
				for in.Scan() {
					if len(in.Bytes()) == 0 {
						return
					}
				}
				b.Fatal("the reply ended: ", in.Err())
			}
			arrive()
			for n := 0; b.Loop(); n++ {
				next <- strconv.Itoa(n) // repetition would end the reply
				arrive()
			}
		})
	}
}
