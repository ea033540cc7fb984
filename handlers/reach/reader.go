package reach

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// reader is a client as far as the locks of a site may look at it: its
// address, certificate, cookies, and credentials other than our key.
type reader struct {
	// remoteAddr is an IP with a port.
	remoteAddr string
	header     http.Header
	tls        *tls.ConnectionState
}

// stranger has no credentials. The address is one for documentation (RFC
// 5737), not of loopback or a private network, which locks often let in.
var stranger = &reader{remoteAddr: "192.0.2.1:49152"}

// newReader returns the reader who sends a request to the API. isKey reports
// whether a value of the Authorization header is a key of the API.
func newReader(r *http.Request, isKey func(authorization string) bool) *reader {
	c := &reader{remoteAddr: r.RemoteAddr, header: make(http.Header), tls: r.TLS}
	names := []string{"Cookie", "Authorization", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "User-Agent", "Accept-Language"}
	if server, ok := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server); ok {
		names = append(names, server.ClientIPHeaders...)
	}
	for _, name := range names {
		name = http.CanonicalHeaderKey(name)
		if _, done := c.header[name]; done {
			continue
		}
		for _, v := range r.Header[name] {
			if name != "Authorization" || !isKey(v) {
				c.header.Add(name, v)
			}
		}
	}
	return c
}

// hash identifies the reader to locks: equal readers open the same pages.
func (r *reader) hash() (sum [sha256.Size]byte) {
	h := sha256.New()
	host, _, err := net.SplitHostPort(r.remoteAddr)
	if err != nil {
		host = r.remoteAddr
	}
	fmt.Fprintf(h, "%s\n", host)
	_ = r.header.Write(h) // in the order of the names
	if r.tls != nil {
		for _, c := range r.tls.PeerCertificates {
			fmt.Fprintf(h, "\n%d\n%s", len(c.Raw), c.Raw)
		}
	}
	h.Sum(sum[:0])
	return sum
}

type readerCtxKey struct{}

// WithReader returns a context for what is done on behalf of the reader who
// sends a request to the API. isKey reports whether a value of the
// Authorization header is a key of the API, which no lock sees.
func WithReader(ctx context.Context, r *http.Request, isKey func(authorization string) bool) context.Context {
	return context.WithValue(ctx, readerCtxKey{}, sync.OnceValue(func() *reader { return newReader(r, isKey) }))
}

// readerFrom returns the reader of a context, the stranger if it has none.
func readerFrom(ctx context.Context) *reader {
	if from, ok := ctx.Value(readerCtxKey{}).(func() *reader); ok {
		return from()
	}
	return stranger
}

// isLogin reports whether a redirect to a path of the same host asks for a
// login.
func isLogin(path string) bool {
	for segment := range strings.SplitSeq(strings.ToLower(path), "/") {
		switch segment {
		case "login", "log-in", "signin", "sign-in", "sign_in", "auth", "oauth", "oauth2", "sso", "saml", "outpost.goauthentik.io", "authorize", "session":
			return true
		}
	}
	return false
}
