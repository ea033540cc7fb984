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
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"
)

// reader is a client as far as the locks of a site may look at it: its
// address, certificate and headers, other than our key.
type reader struct {
	// remoteAddr is an IP with a port.
	remoteAddr string
	header     http.Header
	size       int // of header, in bytes
	tls        *tls.ConnectionState
	// signedIn is true for a person whose access token was verified.
	signedIn bool
}

// stranger has no credentials. The address is one for documentation (RFC
// 5737), not of loopback or a private network, which locks often let in.
var stranger = &reader{remoteAddr: "192.0.2.1:49152", header: http.Header{}}

// unseen are headers that locks don't look at, since they describe a message or
// differ from request to request. Names that end with a hyphen are prefixes.
var unseen = map[string]bool{
	"Accept": true, "Accept-Charset": true, "Accept-Encoding": true, "Access-Control-Request-Headers": true,
	"Access-Control-Request-Method": true, "Cache-Control": true, "Connection": true, "Content-Encoding": true,
	"Content-Length": true, "Content-Type": true, "Date": true, "Dnt": true, "Expect": true,
	"If-Match": true, "If-Modified-Since": true, "If-None-Match": true, "If-Range": true, "If-Unmodified-Since": true,
	"Keep-Alive": true, "Last-Event-Id": true, "Mcp-": true, "Origin": true, "Pragma": true,
	"Priority": true, "Range": true, "Referer": true, "Te": true, "Trailer": true, "Transfer-Encoding": true,
	"Upgrade": true, "Upgrade-Insecure-Requests": true, "Sec-": true,
	"Baggage": true, "Cf-Ray": true, "Traceparent": true, "Tracestate": true, "X-Amzn-Trace-Id": true, "X-B3-": true,
	"X-Cloud-Trace-Context": true, "X-Correlation-Id": true, "X-Request-Id": true, "X-Request-Start": true, "X-Thread-Id": true,
}

// newReader returns the reader who sends a request to the API. isKey reports
// whether a value of a header is a key of the API.
func newReader(r *http.Request, isKey func(value string) bool) *reader {
	c := &reader{remoteAddr: r.RemoteAddr, header: make(http.Header), tls: r.TLS, signedIn: Kept(r, signedInKey) == true}
	for name, values := range r.Header {
		if Unseen(name) {
			continue
		}
		for _, v := range values {
			if (name == "Authorization" || name == "X-Api-Key") && isKey(v) {
				continue
			}
			c.header.Add(name, v)
			c.size += len(name) + len(v)
		}
	}
	return c
}

// Unseen reports whether locks don't see a header of the API's requests.
func Unseen(name string) bool {
	prefix, _, _ := strings.Cut(name, "-")
	if strings.HasPrefix(name, "X-B3-") {
		prefix = "X-B3"
	}
	return unseen[name] || unseen[prefix+"-"]
}

// presents reports whether the reader presents anything, besides an address, that
// a lock may take for credentials.
func (r *reader) presents() bool {
	return r.signedIn || r.header.Get("Cookie") != "" || r.header.Get("Authorization") != "" || r.tls != nil && len(r.tls.PeerCertificates) > 0
}

// ip is the address of the reader without its port.
func (r *reader) ip() string {
	if ip, _, err := net.SplitHostPort(r.remoteAddr); err == nil {
		return ip
	}
	return r.remoteAddr
}

// readerHash identifies a reader to locks: equal readers open the same pages.
type readerHash [sha256.Size]byte

func (r *reader) hash() (sum readerHash) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%t\n", r.ip(), r.signedIn) // who sends the same headers has not signed in
	_ = r.header.Write(h)                          // in the order of the names
	if r.tls != nil {
		for _, c := range r.tls.PeerCertificates {
			fmt.Fprintf(h, "\n%d\n%s", len(c.Raw), c.Raw)
		}
	}
	h.Sum(sum[:0])
	return sum
}

// visit is one request of a reader.
type visit struct {
	*reader
	hash func() readerHash
	// incomplete is set when not every page could be checked for it.
	incomplete atomic.Bool
}

// Keep stores a value with a request for later handlers. Caddy's variables won't
// do: a connection that forward_auth has just opened may still read them, and a map
// that is read and written concurrently ends the process. The replacer has a lock.
func Keep(r *http.Request, key string, value any) {
	if repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		repl.Set(key, value)
	}
}

// Kept returns what Keep keeps, nil if there is nothing.
func Kept(r *http.Request, key string) any {
	if repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		value, _ := repl.Get(key)
		return value
	}
	return nil
}

// WithReader returns a context for what is done on behalf of the reader who
// sends a request to the API. isKey reports whether a value of the
// Authorization or X-API-Key header is a key of the API, which no lock sees.
func WithReader(ctx context.Context, r *http.Request, isKey func(value string) bool) context.Context {
	v, ok := Kept(r, "docs_visit").(*visit)
	if !ok {
		v = &visit{reader: newReader(r, isKey)}
		v.hash = sync.OnceValue(v.reader.hash)
		Keep(r, "docs_visit", v)
	}
	return context.WithValue(ctx, ofVisit, v)
}

// signedInKey is what a request of a person keeps that under.
const signedInKey = "docs_signed_in"

// SignIn makes a request count as that of a person whose access token was verified,
// with the headers that it has now. What was found out for it before was found out
// for a stranger.
func SignIn(r *http.Request) {
	Keep(r, signedInKey, true)
	Keep(r, "docs_visit", nil)
}

// SignedIn reports whether a request inside the process is on behalf of such a
// person. Requests of clients never are.
func SignedIn(r *http.Request) bool { return r.Context().Value(isSignedIn) != nil }

// visitOf returns the visit of a context, nil for a stranger's.
func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(ofVisit).(*visit)
	return v
}

// Incomplete reports whether results for the context's reader may lack pages that
// the reader could open, because not every page could be checked in time.
func Incomplete(ctx context.Context) bool {
	v := visitOf(ctx)
	return v != nil && v.incomplete.Load()
}

func setIncomplete(ctx context.Context) {
	if v := visitOf(ctx); v != nil {
		v.incomplete.Store(true)
	}
}
