package handlers

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding/datastream"
	"github.com/caddy-docs/caddy-docs/encoding/uimessage"
)

const (
	// keepAlive is the longest silence on a stream. Proxies and load
	// balancers commonly cut connections that are silent for 60 s (nginx
	// proxy_read_timeout, AWS ALB), some for 30 s.
	keepAlive = 15 * time.Second

	// writeTimeout is the default of Assistant.WriteTimeout. Without it a
	// client that stopped reading would hold its reply, and the model's, for
	// ever.
	writeTimeout = 30 * time.Second

	// lastWrite is how long the end of a reply may take once it must end.
	lastWrite = time.Second
)

// encoder is what both protocol generations offer.
type encoder interface {
	reply.Sink
	// KeepAlive writes and flushes bytes that clients ignore.
	KeepAlive() error
}

// stream brings the events of one reply to the client: it starts the
// response with the first event, keeps a silent one alive, and bounds how
// long a write may take. Send and Flush are called by one goroutine; the
// keep-alive comes from another.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	version int
	timeout time.Duration // of writes
	hurried atomic.Bool   // the reply must end
	steady  steadyDeadline

	mu       sync.Mutex
	encoder  encoder // v1 or v2
	silence  *time.Timer
	started  bool
	closed   bool
	last     bool      // the deadline is the last one
	failed   bool      // a write failed: the client is gone, or doesn't read
	written  time.Time // last write
	deadline time.Time // of writes, as last set

	// They stand here, and are no objects of their own, since every token
	// fetches each object that it goes through from memory.
	v1 datastream.Encoder
	v2 uimessage.Encoder
}

// open makes ready to answer a request with w.
func (s *stream) open(w http.ResponseWriter, r *http.Request, version int, literalFinish bool, timeout time.Duration) {
	s.w, s.version, s.timeout = w, version, timeout
	if guarded, ok := w.(*startWriter); ok {
		w = guarded.ResponseWriter // begin tells it; what is written then goes past it
	}
	w = s.steady.install(r.Context(), w, timeout)
	s.control = http.NewResponseController(w)
	if version == 1 {
		s.v1 = *datastream.NewEncoder(w, s.flush)
		s.encoder = &s.v1
	} else {
		o := uimessage.Options{FinishEvent: uimessage.SDK}
		if literalFinish {
			o.FinishEvent = uimessage.Literal
		}
		s.v2 = *uimessage.NewEncoder(w, s.flush, o)
		s.encoder = &s.v2
	}
}

// begun tells whether anything was sent.
func (s *stream) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

func (s *stream) Send(e *reply.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.begin()
	}
	return s.note(s.encoder.Send(e))
}

func (s *stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		return nil
	}
	s.extend()
	return s.note(s.encoder.Flush())
}

// note remembers that a write failed.
func (s *stream) note(err error) error {
	s.failed = s.failed || err != nil
	return err
}

// broken tells whether a write failed: nobody reads the reply any more.
func (s *stream) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// fail ends a stream that can't be finished with an error in it.
func (s *stream) fail(message string) {
	if s.Send(&reply.Event{Kind: reply.Error, Message: message}) == nil {
		_ = s.Flush()
	}
}

// begin sends the header. The status is written explicitly: without it
// Caddy's encode handler would hold back the first flush.
func (s *stream) begin() {
	s.started = true
	if s.version == 1 {
		datastream.SetHeader(s.w.Header())
	} else {
		uimessage.SetHeader(s.w.Header())
	}
	s.extend()
	s.w.WriteHeader(http.StatusOK)
	s.silence = time.AfterFunc(keepAlive, s.keepAlive)
}

// extend moves the write deadline ahead. It is only set anew every few
// seconds: with hundreds of streams, once a token is measurable.
func (s *stream) extend() {
	s.written = time.Now()
	if s.hurried.Load() {
		s.lastDeadline()
		return
	}
	if s.deadline.Sub(s.written) < s.timeout-s.timeout/6 {
		s.deadline = s.written.Add(s.timeout)
		_ = s.control.SetWriteDeadline(s.deadline) // not every writer has one
	}
}

// hurry bounds what a reply that must end may still take to write. A write
// under way holds the lock, perhaps for as long as the client reads nothing:
// its deadline is set on the innermost writer, since Caddy's own are not
// made for two at a time.
func (s *stream) hurry() {
	s.hurried.Store(true)
	if s.mu.TryLock() {
		s.lastDeadline()
		s.mu.Unlock()
		return
	}
	w := s.w
	for {
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			break
		}
		w = outer.Unwrap()
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(lastWrite))
}

// lastDeadline sets the deadline of a reply that must end, once.
func (s *stream) lastDeadline() {
	if !s.last {
		s.last = true
		_ = s.control.SetWriteDeadline(time.Now().Add(lastWrite))
	}
}

func (s *stream) flush() error { return s.control.Flush() }

func (s *stream) keepAlive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if quiet := time.Since(s.written); quiet < keepAlive {
		s.silence.Reset(keepAlive - quiet)
		return
	}
	s.extend()
	if s.note(s.encoder.KeepAlive()) == nil {
		s.silence.Reset(keepAlive)
	}
}

// close ends the keep-alive. The write deadline stays for what net/http still
// has to send; it takes it off the connection before the next request.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.steady.remove()
	if s.silence != nil {
		s.silence.Stop()
	}
}
