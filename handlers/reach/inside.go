package reach

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/handlers/evidence"
	"github.com/caddy-docs/caddy-docs/handlers/hosting"
)

const (
	// insideTimeout bounds a request inside the process, with its redirects.
	insideTimeout = 2 * time.Second
	// insideAtOnce bounds a site's concurrent background requests, whatever the
	// number of cores, and backgroundAtOnce those of all sites together;
	// readersInsideAtOnce and readersAtOnce do so for requests on behalf of
	// readers. So a site whose locks hang leaves slots to the readers of others.
	// frontAtOnce bounds those for a site's front page, which don't wait for locks.
	insideAtOnce, backgroundAtOnce     = 16, 64
	readersInsideAtOnce, readersAtOnce = 32, 64
	frontAtOnce                        = 8
	// maxRedirects are followed on the same host.
	maxRedirects = 5
	// maxKept is how much of a body is kept, to look for a page's text in it, and
	// maxRead how much is read before the handler is stopped.
	maxKept = 4 << 20
	maxRead = 32 << 20
)

// answer is the response to a request for a page.
type answer struct {
	// status is 0 if no handler answered, and statusAborted if the connection
	// would have been closed without an answer.
	status      int
	contentType string
	// path is the final one, after redirects on the same host.
	path string
	// elsewhere is the host of a redirect that was not followed.
	elsewhere string
	// lock is the number of the handler that answered, in the order of the
	// configuration.
	lock int32
	// hash is the hash of the whole body, and body its beginning.
	hash uint64
	body []byte
}

// text is the body, to look for a page's text in it.
func (a *answer) text() evidence.Response {
	return evidence.Response{HTML: isHTML(a.contentType), Body: a.body}
}

// sameBytes reports whether a response is a file, byte for byte.
func sameBytes(a answer, file []byte) bool {
	return a.hash == maphash.Bytes(seed, file)+uint64(len(file))
}

// statusAborted is the status of a request that was ended by abort or by a panic.
const statusAborted = -1

// Routes are the routes of a configuration, for requests inside the process.
// All sites share them.
type Routes struct {
	ctx                 caddy.Context
	background, readers chan struct{} // have an element for each request

	mu       sync.Mutex
	chains   map[*caddyhttp.Server]caddyhttp.Handler
	handlers []any // by their number; 0 is none
}

// NewRoutes returns the routes of the configuration that ctx belongs to.
func NewRoutes(ctx caddy.Context) *Routes {
	return &Routes{
		ctx: ctx, chains: make(map[*caddyhttp.Server]caddyhttp.Handler), handlers: make([]any, 1),
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
	routes := rs.marked(server.Routes)
	if err := routes.ProvisionHandlers(rs.ctx, nil); err != nil {
		return nil, err
	}
	nobody := caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil })
	rs.chains[server] = routes.Compile(nobody)
	return rs.chains[server], nil
}

// marked returns routes in which each handler leaves its number with the request
// before it runs: the last number is that of the handler that answered.
func (rs *Routes) marked(routes caddyhttp.RouteList) caddyhttp.RouteList {
	out := make(caddyhttp.RouteList, len(routes))
	for i, route := range routes {
		var handlers []caddyhttp.MiddlewareHandler
		for _, h := range route.Handlers {
			if sub, ok := h.(*caddyhttp.Subroute); ok {
				copied := *sub
				copied.Routes = rs.marked(sub.Routes)
				if err := copied.Routes.ProvisionHandlers(rs.ctx, nil); err == nil {
					h = &copied
				}
			}
			handlers = append(handlers, mark(len(rs.handlers)), h)
			rs.handlers = append(rs.handlers, h)
		}
		route.Handlers = handlers
		out[i] = route
	}
	return out
}

// ctxKey is the type of keys in the contexts of requests.
type ctxKey int

const (
	isInside   ctxKey = iota // of a request inside the process
	isSignedIn               // of one on behalf of a person who has signed in
	lastMark                 // a *mark: the last handler that it came to
	atAPI                    // a *bool: it finds out whether the API is reached
	ofVisit                  // the *visit of a request of the API
)

// mark is a handler that leaves a number with requests inside the process.
type mark int32

func (m mark) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if last, ok := r.Context().Value(lastMark).(*mark); ok {
		*last = m
	}
	return next.ServeHTTP(w, r)
}

// inside makes requests to a site's pages through the routes of this Caddy,
// without a socket, an access log or metrics.
type inside struct {
	server *caddyhttp.Server
	chain  caddyhttp.Handler
	scheme string
	host   string // with port, as clients send it
	public string // that of the site's URL; a proxy may send another one here
	// background are the slots of requests in the background, the site's and those
	// of all sites, readers those on behalf of readers, and front those for the
	// front page.
	background, readers, front []chan struct{}
}

// seed makes the hashes of bodies.
var seed = maphash.MakeSeed()

// IsInside reports whether this module itself makes the request, to see what
// a client would get. The module's own handlers pass it on.
func IsInside(r *http.Request) bool { return r.Context().Value(isInside) != nil }

// newInside prepares requests to the host of a site's URL through the routes
// of a server.
func newInside(routes *Routes, server *caddyhttp.Server, host string) (*inside, error) {
	chain, err := routes.of(server)
	if err != nil {
		return nil, err
	}
	host = hosting.HostHeader(host)
	return &inside{
		server: server, chain: chain, scheme: hosting.Scheme(server), host: host, public: host,
		background: []chan struct{}{make(chan struct{}, atOnce()), routes.background}, readers: []chan struct{}{make(chan struct{}, readersInsideAtOnce), routes.readers},
		front: []chan struct{}{make(chan struct{}, frontAtOnce)},
	}, nil
}

// ask requests a path for a reader and follows redirects on the same host. It
// holds one of each kind of slots meanwhile, and gives up after patience. use gets
// the answer, whose body is valid until use returns. The method is GET: templates,
// for example, fail only where there is a body.
func (s *inside) ask(ctx context.Context, slots []chan struct{}, patience time.Duration, path string, c *reader, use func(answer)) error {
	for i, slot := range slots {
		select {
		case slot <- struct{}{}:
		case <-ctx.Done():
			release(slots[:i])
			return ctx.Err()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// A handler that ignores the context keeps its slots until it returns.
	type result struct {
		answer answer
		body   *bytes.Buffer
		err    error
	}
	done := make(chan result, 1)
	go func() {
		defer release(slots)
		body := bodies.Get().(*bytes.Buffer)
		a, err := s.follow(ctx, path, c, body)
		done <- result{a, body, err}
	}()
	select {
	case r := <-done:
		if r.err == nil {
			use(r.answer)
		}
		r.body.Reset()
		bodies.Put(r.body)
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func release(slots []chan struct{}) {
	for _, slot := range slots {
		<-slot
	}
}

// bodies are buffers for the bodies of answers.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (s *inside) follow(ctx context.Context, path string, c *reader, body *bytes.Buffer) (answer, error) {
	for redirects := 0; ; redirects++ {
		target, err := url.ParseRequestURI(path)
		if err != nil {
			return answer{status: http.StatusNotFound, path: path}, nil
		}
		body.Reset()
		var last mark
		marked := context.WithValue(context.WithValue(ctx, isInside, true), lastMark, &last)
		w, err := s.once(marked, http.MethodGet, target, c, body)
		if err != nil {
			return answer{}, err
		}
		got := answer{
			status: w.status, contentType: cmp.Or(w.header.Get("Content-Type"), w.kind), path: target.Path, lock: int32(last),
			hash: w.hash.Sum64() + uint64(w.read), body: body.Bytes(),
		}
		if w.status < 300 || w.status > 399 || w.header.Get("Location") == "" || redirects == maxRedirects {
			return got, nil
		}
		base := *target
		base.Scheme, base.Host = s.scheme, s.host
		next, err := base.Parse(w.header.Get("Location"))
		if err != nil {
			return got, nil
		}
		if to := hosting.Hostname(next.Host); to != hosting.Hostname(s.host) && to != hosting.Hostname(s.public) {
			got.elsewhere = next.Host
			return got, nil
		}
		path = next.RequestURI()
	}
}

// request returns a client's request, prepared as the server prepares it.
func (s *inside) request(ctx context.Context, method string, target *url.URL, c *reader, w http.ResponseWriter) *http.Request {
	header := c.header.Clone() // handlers change it
	header.Set("Accept", "text/html,text/markdown,*/*;q=0.8")
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "caddy-docs")
	}
	u := *target // rewrites change it
	if c.signedIn {
		ctx = context.WithValue(ctx, isSignedIn, true)
	}
	r := (&http.Request{
		Method: method, URL: &u, RequestURI: target.RequestURI(), Host: s.host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: http.NoBody, RemoteAddr: c.remoteAddr, TLS: c.tls,
	}).WithContext(ctx)
	if s.scheme == "https" && r.TLS == nil {
		r.TLS = &tls.ConnectionState{Version: tls.VersionTLS13, HandshakeComplete: true, ServerName: hosting.Hostname(s.host)}
	}
	return caddyhttp.PrepareRequest(r, caddy.NewReplacer(), w, s.server)
}

// once makes one request.
func (s *inside) once(ctx context.Context, method string, target *url.URL, c *reader, body *bytes.Buffer) (w *response, err error) {
	w = &response{header: make(http.Header), body: body}
	w.hash.SetSeed(seed)
	r := s.request(ctx, method, target, c, w)
	defer func() {
		if p := recover(); p != nil { // abort panics, and so may any handler
			w.status, err = statusAborted, nil
		}
	}()
	err = s.chain.ServeHTTP(w, r)
	var failed caddyhttp.HandlerError
	switch {
	case err == nil, errors.Is(err, io.ErrShortWrite), w.status != 0: // after the response began
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

// response records a response and keeps the beginning of its body.
type response struct {
	header http.Header
	status int
	hash   maphash.Hash
	body   *bytes.Buffer // nil: no body is wanted
	// read is how much of the body was written, and kind the content type guessed
	// from its first bytes if the header has none.
	read int
	kind string
}

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
}

// Write implements http.ResponseWriter. Past maxRead it fails, so that
// handlers stop.
func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.read >= maxRead {
		return 0, io.ErrShortWrite
	}
	if w.read == 0 && len(p) > 0 && w.header.Get("Content-Type") == "" {
		w.kind = http.DetectContentType(p)
	}
	_, _ = w.hash.Write(p)
	if w.body != nil && w.body.Len() < maxKept {
		w.body.Write(p[:min(len(p), maxKept-w.body.Len())])
	}
	w.read += len(p)
	return len(p), nil
}

// ReadFrom implements io.ReaderFrom, which file_server uses: otherwise each
// response needs a buffer.
func (w *response) ReadFrom(r io.Reader) (int64, error) {
	buffer := chunks.Get().(*[32 << 10]byte)
	defer chunks.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{w}, r, buffer[:])
}

var chunks = sync.Pool{New: func() any { return new([32 << 10]byte) }}
