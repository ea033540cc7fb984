//go:build unix

package assistant

import (
	"context"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// Connections that send nothing, and headers and bodies that trickle, keep
// nobody from an answer.
func TestReadersAreAnsweredBesideThousandsOfSlowConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("opens as many connections as the system allows, up to 10,000")
	}
	m, url := caddytest.StartModel(t)
	m.Always(modelserver.Reply{Text: caddytest.ModelAnswer})
	s := caddytest.StartWithModel(t, url, "first", "")
	path, body := caddytest.Message(2, caddytest.InstallQuestion, nil)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	n := min(10_000, (int(limit.Cur)-500)/2) // both ends are this process's
	conns := make([]net.Conn, 0, n)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range n {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.Base, "http://"))
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		conns = append(conns, c)
		switch i % 3 {
		case 1: // slow headers
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nX-A: ", path)
		case 2: // slow bodies
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", path, caddytest.Key, len(body))
		}
	}
	trickled := make(chan struct{})
	go func() {
		defer close(trickled)
		for ctx.Err() == nil {
			for i, c := range conns {
				if i%3 > 0 {
					_, _ = c.Write([]byte(" "))
				}
				if i%100 == 0 {
					select {
					case <-ctx.Done():
						return
					case <-time.After(10 * time.Millisecond):
					}
				}
			}
		}
	}()
	for range 10 {
		for v, r := range s.AskAll(t, caddytest.InstallQuestion, nil) {
			if !r.Finished || r.Text != caddytest.ModelAnswer {
				t.Errorf("v%d beside %d connections: finished %t, text %q", v, n, r.Finished, r.Text)
			}
		}
	}
	cancel()
	<-trickled
}
