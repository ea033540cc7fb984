package handlers

import (
	"net/http"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding/datastream"
	"github.com/caddy-docs/caddy-docs/encoding/uimessage"
)

// keepAlive is the longest silence on a stream. Proxies and load balancers
// commonly cut connections that are silent for 60 s (nginx proxy_read_timeout,
// AWS ALB), some for 30 s.
const keepAlive = 15 * time.Second

// stream sends the events of one reply to the client: it starts the response
// with the first event, keeps a silent one alive, and bounds how long a write
// may take. It implements reply.Sink.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	encoder interface {
		reply.Sink
		KeepAlive() error // writes and flushes bytes that clients ignore
	}
	setHeader func(http.Header)
	requestID string
	timeout   time.Duration // of a write
	silence   time.Duration // until a keep-alive

	mu          sync.Mutex // the keep-alive has its own goroutine
	timer       *time.Timer
	extendAgain time.Time
	started     bool
	closed      bool
	failed      bool // a write failed: the client is gone, or doesn't read
}

// newStream returns a stream that answers with w. A write may take timeout.
func newStream(w http.ResponseWriter, requestID string, version int, literal bool, timeout time.Duration) *stream {
	// Over HTTP/2 a deadline resets the stream even when nothing is being
	// written, so the keep-alive has to come before it.
	s := &stream{w: w, control: http.NewResponseController(w), requestID: requestID, timeout: timeout, silence: min(keepAlive, timeout/2)}
	if version == 1 {
		s.encoder, s.setHeader = datastream.NewEncoder(w, s.control.Flush), datastream.SetHeader
	} else {
		s.encoder, s.setHeader = uimessage.NewEncoder(w, s.control.Flush, literal), uimessage.SetHeader
	}
	return s
}

// Send encodes an event; Flush sends it.
func (s *stream) Send(e *reply.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.start()
	}
	if e.Kind == reply.Error && e.Code != "" {
		failed := *e
		failed.RequestID = s.requestID
		e = &failed
	}
	return s.note(s.encoder.Send(e))
}

// Flush sends what was encoded.
func (s *stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		return nil
	}
	s.extend()
	return s.note(s.encoder.Flush())
}

// start sends the header. The status is written explicitly: without it
// Caddy's encode handler would hold back the first flush.
func (s *stream) start() {
	s.started = true
	s.setHeader(s.w.Header())
	s.timer = time.AfterFunc(s.silence, s.keepAlive)
	s.extend()
	s.w.WriteHeader(http.StatusOK)
}

// extend moves the deadline of writes, and the next keep-alive. It does so a
// few times within a silence, not with every token.
func (s *stream) extend() {
	now := time.Now()
	if now.Before(s.extendAgain) {
		return
	}
	slack := min(s.timeout, s.silence) / 4
	s.extendAgain = now.Add(slack)
	_ = s.control.SetWriteDeadline(now.Add(s.timeout + slack)) // not every writer has one
	s.timer.Reset(s.silence)
}

// note records that a write failed.
func (s *stream) note(err error) error {
	s.failed = s.failed || err != nil
	return err
}

func (s *stream) keepAlive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.failed {
		return
	}
	s.extend()
	_ = s.note(s.encoder.KeepAlive())
}

// fail ends a stream that can't be finished with an error in it.
func (s *stream) fail(code, message string) {
	if s.Send(&reply.Event{Kind: reply.Error, Code: code, Message: message}) == nil {
		_ = s.Flush()
	}
}

// state reports whether the response has begun, and whether a write failed.
func (s *stream) state() (begun, broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started, s.failed
}

// close stops the keep-alive. The write deadline stays for what net/http
// still has to send; net/http clears it before the next request.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
}
