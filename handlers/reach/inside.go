package reach

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

const (
	// insideTimeout bounds a request inside the process, with its redirects.
	insideTimeout = 2 * time.Second
	// insideAtOnce bounds the requests of a site in the background,
	// backgroundAtOnce those of all sites, and readersAtOnce those on behalf of
	// readers.
	insideAtOnce     = 16
	backgroundAtOnce = 64
	readersAtOnce    = 64
	// maxRedirects are followed on the same host.
	maxRedirects = 5
	// maxHashed is how much of a body is compared with other bodies, and maxRead
	// how much is read before the handler is stopped.
	maxHashed = 256 << 10
	maxRead   = 16 << 20
)

// answer is what a request for a page gets.
type answer struct {
	// status is 0 if no handler answered, and statusAborted if the connection
	// would have been closed without an answer.
	status      int
	contentType string
	// path is the final one, after redirects on the same host.
	path string
	// elsewhere is the host of a redirect that was not followed.
	elsewhere string
	// body identifies the body, if it was asked for.
	body uint64
}

// statusAborted is the status of a request that abort or a panic ended.
const statusAborted = -1

// Routes are the routes of a configuration, for requests inside the process.
// All sites share them.
type Routes struct {
	ctx                 caddy.Context
	background, readers chan struct{} // hold an element for each request

	mu     sync.Mutex
	chains map[*caddyhttp.Server]caddyhttp.Handler
}

// NewRoutes returns the routes of the configuration that ctx belongs to.
func NewRoutes(ctx caddy.Context) *Routes {
	return &Routes{
		ctx: ctx, chains: make(map[*caddyhttp.Server]caddyhttp.Handler),
		background: make(chan struct{}, backgroundAtOnce), readers: make(chan struct{}, readersAtOnce),
	}
}

// of returns the routes of a server.
func (rs *Routes) of(server *caddyhttp.Server) (caddyhttp.Handler, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if chain := rs.chains[server]; chain != nil {
		return chain, nil
	}
	// Provisioned again without metrics, which would count these requests. The
	// handlers are the server's own.
	routes := slices.Clone(server.Routes)
	if err := routes.ProvisionHandlers(rs.ctx, nil); err != nil {
		return nil, err
	}
	nobody := caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil })
	rs.chains[server] = routes.Compile(nobody)
	return rs.chains[server], nil
}

// inside makes requests to a site's pages through the routes of this Caddy,
// without a socket, an access log or metrics. Bodies are discarded.
type inside struct {
	server *caddyhttp.Server
	routes *Routes
	chain  caddyhttp.Handler
	scheme string
	host   string // with port, as clients send it
	public string // that of the site's URL; a proxy may send another one here
}

// seed makes the hashes of bodies.
var seed = maphash.MakeSeed()

// insideCtxKey marks the requests inside the process.
type insideCtxKey struct{}

// IsInside reports whether this module itself makes the request, to see what
// a client would get. The module's own handlers pass it on.
func IsInside(r *http.Request) bool { return r.Context().Value(insideCtxKey{}) != nil }

// newInside prepares requests to the host of a site's URL through the routes
// of a server.
func newInside(routes *Routes, server *caddyhttp.Server, host string) (*inside, error) {
	chain, err := routes.of(server)
	if err != nil {
		return nil, err
	}
	return &inside{server: server, routes: routes, chain: chain, scheme: scheme(server), host: host, public: host}, nil
}

// ask requests a path for a reader and follows redirects on the same host.
// With body the answer identifies the body, too. The method is GET: templates,
// for example, fail only where there is a body.
func (s *inside) ask(ctx context.Context, path string, c *reader, body bool) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, insideTimeout)
	defer cancel()
	return s.askIn(ctx, s.routes.readers, path, c, body)
}

// look is ask as a stranger in the background, where other sites' requests may
// come first.
func (s *inside) look(ctx context.Context, path string, body bool) (answer, error) {
	return s.askIn(ctx, s.routes.background, path, stranger, body)
}

func (s *inside) askIn(ctx context.Context, slots chan struct{}, path string, c *reader, body bool) (answer, error) {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, insideTimeout)
	defer cancel()
	// A handler that ignores the context keeps its slot until it returns.
	type result struct {
		answer answer
		err    error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-slots }()
		a, err := s.follow(ctx, path, c, body)
		done <- result{a, err}
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

func (s *inside) follow(ctx context.Context, path string, c *reader, body bool) (answer, error) {
	for redirects := 0; ; {
		target, err := url.ParseRequestURI(path)
		if err != nil {
			return answer{}, fmt.Errorf("path %q: %w", path, err)
		}
		w, err := s.once(context.WithValue(ctx, insideCtxKey{}, true), http.MethodGet, target, c, body)
		if err != nil {
			return answer{}, err
		}
		got := answer{status: w.status, contentType: w.contentType(), path: target.Path, body: w.hash.Sum64() + uint64(w.read)}
		if w.status < 300 || w.status > 399 || w.header.Get("Location") == "" {
			return got, nil
		}
		base := *target
		base.Scheme, base.Host = s.scheme, s.host
		next, err := base.Parse(w.header.Get("Location"))
		if err != nil {
			return got, nil
		}
		if redirects++; redirects > maxRedirects {
			return got, nil
		}
		if !strings.EqualFold(next.Hostname(), hostname(s.host)) && !strings.EqualFold(next.Hostname(), hostname(s.public)) {
			got.elsewhere = next.Host
			return got, nil
		}
		path = next.RequestURI()
	}
}

// once makes one request.
func (s *inside) once(ctx context.Context, method string, target *url.URL, c *reader, body bool) (w *discarded, err error) {
	w = &discarded{header: make(http.Header), wanted: body}
	w.hash.SetSeed(seed)
	header := c.header.Clone()
	if header == nil {
		header = make(http.Header)
	}
	header.Set("Accept", "text/html,text/markdown,*/*;q=0.8")
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "caddy-docs")
	}
	u := *target // rewrites change it
	r := (&http.Request{
		Method: method, URL: &u, RequestURI: target.RequestURI(), Host: s.host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: http.NoBody, RemoteAddr: c.remoteAddr, TLS: c.tls,
	}).WithContext(ctx)
	if s.scheme == "https" && r.TLS == nil {
		r.TLS = &tls.ConnectionState{Version: tls.VersionTLS13, HandshakeComplete: true, ServerName: hostname(s.host)}
	}
	r = caddyhttp.PrepareRequest(r, caddy.NewReplacer(), w, s.server)

	defer func() {
		if p := recover(); p != nil { // abort panics, and so may any handler
			w.status, err = statusAborted, nil
		}
	}()
	err = s.chain.ServeHTTP(w, r)
	var failed caddyhttp.HandlerError
	switch {
	case err == nil || errors.Is(err, io.ErrShortWrite):
		err = nil
	case w.status != 0: // after the response began
		err = nil
	case errors.As(err, &failed) && failed.StatusCode != 0:
		w.status, err = failed.StatusCode, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	default:
		w.status, err = http.StatusInternalServerError, nil
	}
	return w, err
}

// discarded is a response of which the status, the header and, if it is
// wanted, a hash of the body remain.
type discarded struct {
	header http.Header
	status int
	wanted bool
	hash   maphash.Hash
	// read is how much of the body there was, and kind the content type by its
	// first bytes, if the header has none.
	read int
	kind string
}

// contentType is the response's, or what clients take the body for.
func (w *discarded) contentType() string {
	if declared := w.header.Get("Content-Type"); declared != "" {
		return declared
	}
	return w.kind
}

// Header implements http.ResponseWriter.
func (w *discarded) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *discarded) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
}

// Write implements http.ResponseWriter. Past maxRead it fails, so that
// handlers stop.
func (w *discarded) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.read >= maxRead {
		return 0, io.ErrShortWrite
	}
	if w.read == 0 && len(p) > 0 && w.header.Get("Content-Type") == "" {
		w.kind = http.DetectContentType(p)
	}
	if w.wanted && w.read < maxHashed {
		w.hash.Write(p[:min(len(p), maxHashed-w.read)])
	}
	w.read += len(p)
	return len(p), nil
}

// hostname is a host without its port.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.Trim(host, "[]")
}
