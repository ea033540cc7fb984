//go:build unix

package site

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/oracle"
)

// privateExample returns the Caddyfile below a heading of the manual's page
// "Private pages", with some of its names replaced.
func privateExample(t *testing.T, heading string, names map[string]string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/private.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n### "+heading+"\n")
	_, rest, block := strings.Cut(rest, "```caddyfile\n")
	example, _, end := strings.Cut(rest, "```")
	if !found || !block || !end {
		t.Fatalf("docs/private.md has no example %q", heading)
	}
	for name, value := range names {
		if strings.Count(example, name) != 1 {
			t.Fatalf("the example %q does not have %q once:\n%s", heading, name, example)
		}
		example = strings.Replace(example, name, value, 1)
	}
	return example
}

// opensFor checks that the secret page, search results and answers are for
// those who send certain headers, or are someone's client, and for nobody else.
func opensFor(t *testing.T, s *caddytest.Server, who string, client *http.Client, header map[string]string, open bool) {
	t.Helper()
	s.Client = client
	h := map[string]string{"X-API-Key": caddytest.Key}
	for k, v := range header {
		h[k] = v
	}
	path, body := caddytest.Message(2, "What is the secret plan of the reactor?", nil)
	for _, q := range []caddytest.Request{
		{Method: http.MethodGet, Path: "/internal/plan.html"},
		{Path: caddytest.SearchPath, Body: `{"query":"secret reactor plan","pageSize":50}`},
		{Path: path, Body: body},
	} {
		q.Key, q.Header = "-", h
		r := s.Do(q)
		if strings.Contains(string(r.Body), "zebrafish") != open {
			t.Errorf("%s: %s gets %d %s", q.Path, who, r.Status, r.Body)
		}
		if q.Path == caddytest.SearchPath && !strings.Contains(string(r.Body), "guide/cooling") {
			t.Errorf("%s: %s does not get the public pages: %d %s", q.Path, who, r.Status, r.Body)
		}
	}
}

// The example with forward_auth, with another Caddy as the authentication
// server: it knows readers by their login and by a cookie.
func TestThePagesBehindAnAuthenticationServer(t *testing.T) {
	port, dir := caddytest.FreePort(t), t.TempDir()
	config, err := caddytest.Adapt(fmt.Sprintf(`{
	admin off
	persist_config off
	auto_https off
	storage file_system %q
}
http://localhost:%d {
	@staff {
		header_regexp Cookie (^|;\s*)session=staff($|;)
		query group=staff
	}
	handle @staff {
		header Remote-User ann
		respond 204
	}
	handle {
		basic_auth {
			reader %s
		}
		header Remote-User reader
		respond 204
	}
}
`, filepath.Join(dir, "storage"), port, readerHash))
	if err != nil {
		t.Fatal(err)
	}
	auth := caddytest.StartProcess(t, dir, port, config)
	caddytest.Until(t, "the authentication server answers", func() bool {
		r, err := auth.Open(t.Context(), caddytest.Request{Method: http.MethodGet, Path: "/api/verify", Key: "-"})
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusUnauthorized
	})

	s := caddytest.New(t)
	if err := s.TryLoad(caddytest.Global(s.Dir, "") + privateExample(t, "Single sign-on with groups", map[string]string{
		"docs.acme.com": "http://localhost:0", "/srv/docs": privateFolder(t), "https://auth.acme.com": auth.Base,
	})); err != nil {
		t.Fatal(err)
	}
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	client := s.Client
	opensFor(t, s, "a stranger", client, nil, false)
	opensFor(t, s, "a reader with a wrong password", client, map[string]string{"Authorization": "Basic cmVhZGVyOndyb25n"}, false)
	opensFor(t, s, "a reader with another cookie", client, map[string]string{"Cookie": "session=guest"}, false)
	opensFor(t, s, "a reader with a login", client, map[string]string{"Authorization": readerLogin}, true)
	opensFor(t, s, "a reader with a cookie", client, map[string]string{"Cookie": "theme=dark; session=staff"}, true)
	opensFor(t, s, "a stranger who comes later", client, nil, false)
}

// The example with client certificates.
func TestThePagesForClientCertificates(t *testing.T) {
	dir, port := t.TempDir(), caddytest.FreePort(t)
	known, pool, err := oracle.ClientCertificate(dir, "clients.pem")
	if err != nil {
		t.Fatal(err)
	}
	unknown, _, err := oracle.ClientCertificate(dir, "others.pem")
	if err != nil {
		t.Fatal(err)
	}
	s := caddytest.NewIn(t, dir)
	global := strings.Replace(caddytest.Global(dir, ""), "auto_https off", "auto_https disable_redirects\n\tlocal_certs", 1)
	if err := s.TryLoad(global + privateExample(t, "Client certificates", map[string]string{
		"docs.acme.com": fmt.Sprintf("https://docs.acme.test:%d", port), "/srv/docs": privateFolder(t), "/etc/caddy/clients.pem": pool,
	})); err != nil {
		t.Fatal(err)
	}
	s.Base = fmt.Sprintf("https://docs.acme.test:%d", port)
	client := func(certificates ...tls.Certificate) *http.Client {
		transport := &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", port))
			},
		}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	s.Client = client()
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	opensFor(t, s, "a stranger", client(), nil, false)
	opensFor(t, s, "a reader with a certificate", client(known), nil, true)
	opensFor(t, s, "a stranger who comes later", client(), nil, false)
	if _, err := client(unknown).Get(s.Base + "/"); err == nil { //nolint:bodyclose // there is none
		t.Error("a certificate of another authority is accepted")
	}
}
