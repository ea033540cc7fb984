package fallback

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// What a site sends before its response, and instead of one, reaches the client.
func TestEarlyHintsAndUpgradesPass(t *testing.T) {
	site := caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if r.URL.Path == "/socket" {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return err
			}
			_, err = io.WriteString(c, "hello")
			return err
		}
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		_, err := io.WriteString(w, "page")
		return err
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := NotFound(w, r, site, func(http.Header) bool { return true }, func(*Response) bool { return false })
		if err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()

	hints := ""
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
		hints = h.Get("Link")
		return nil
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/page", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if hints == "" {
		t.Error("the early hints are gone")
	}

	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /socket HTTP/1.1\r\nHost: acme\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	switched, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal("no response: ", err)
	}
	defer switched.Body.Close()
	if switched.StatusCode != http.StatusSwitchingProtocols {
		t.Error("the status is ", switched.Status)
	}
}
