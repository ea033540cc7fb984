package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant"
)

const (
	// maxLine is the longest line of a stream, in bytes, and the longest
	// answer that is not a stream.
	maxLine = 4 << 20
	// finishTimeout is how long usage and [DONE] may take after the finish
	// reason.
	finishTimeout = 2 * time.Second
	// drainTimeout is how long the body may take to end after [DONE]. Only a
	// connection whose body was read to the end is used again.
	drainTimeout = 100 * time.Millisecond
)

// errEnough ends a reply that repeats itself or exceeds its limit. What was
// sent of it stays; its finish reason is length.
var errEnough = errors.New("the reply is long enough")

// errTimeout is the cause with which the timer of a stream cancels its request.
var errTimeout = errors.New("timeout")

// stream reads one reply from an endpoint's event stream and passes it on.
type stream struct {
	e         *endpoint
	each      func(*assistant.Delta) error
	onFirst   func() // called with the first token
	maxTokens int
	idle      time.Duration

	body io.Reader
	// timer cancels the request. It runs while the endpoint is waited for, up
	// to deadline, which is limit after the wait that followed the last
	// progress. A slow reader of the reply costs the endpoint no time.
	timer    *time.Timer
	deadline time.Time
	limit    time.Duration
	progress bool

	begun     bool  // a token arrived
	sent      bool  // each was called
	sendErr   error // what each returned
	unflushed bool  // each was called since the last empty delta
	delta     assistant.Delta

	isError bool   // the event's name is error
	pending []byte // data lines of an event that is not complete JSON yet
	done    bool   // [DONE] was read
	refused bool   // there was text in a refusal field
	finish  string // the finish reason in the words of reply.Event
	usage   []byte
	calls   []*pendingCall

	answering bool   // no tag can begin
	half      string // the first half of a surrogate pair
	held      []byte // content that may be the beginning of a tag
	closeTag  string // of the reasoning that is being read
	deltas    int    // of the answer
	bytes     int    // of the answer
	thoughts  int    // bytes of reasoning
	tail      []byte // of the answer
	unchecked int    // bytes at the end of tail
}

// Read reads from the endpoint. The scanner calls it when its buffer holds no
// complete line: what was passed on until then goes to the client first.
func (s *stream) Read(p []byte) (int, error) {
	if s.unflushed {
		s.unflushed = false
		s.delta = assistant.Delta{}
		if s.sendErr = s.each(&s.delta); s.sendErr != nil {
			return 0, s.sendErr
		}
	}
	now := time.Now()
	if s.progress {
		s.progress = false
		s.deadline = now.Add(s.limit)
	}
	s.timer.Reset(s.deadline.Sub(now))
	n, err := s.body.Read(p)
	s.timer.Stop()
	return n, err
}

// token notes that something of the reply arrived. Chunks without a token don't
// extend the wait: an endpoint could send them for ever.
func (s *stream) token() {
	if !s.begun {
		s.begun = true
		s.onFirst()
	}
	s.progress = true
}

// wait sets the limit of the waits that follow.
func (s *stream) wait(limit time.Duration) { s.limit, s.progress = limit, true }

// run reads until the end of the reply. It returns nil if the reply is whole.
func (s *stream) run() error {
	err := s.read()
	var failure *Error
	switch {
	case s.sendErr != nil:
		return s.sendErr
	case errors.Is(err, errEnough):
		s.finish = "length"
		return nil
	case errors.As(err, &failure):
		return err
	case s.finish != "":
		// Whole, even if the connection broke before [DONE].
	case errors.Is(err, bufio.ErrTooLong):
		return s.e.fail(Malformed, "a line of the stream is longer than %d MB", maxLine>>20)
	case err != nil:
		return err
	case !s.begun:
		return s.e.fail(Empty, "the stream is empty")
	default:
		return s.e.fail(Truncated, "the stream ended in the middle of the reply")
	}
	if err := s.release(); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	switch {
	case s.finish == "error":
		return s.e.fail(ServerError, "the endpoint ended the reply with an error")
	case s.begun || len(s.toolCalls()) > 0:
		return nil
	case s.finish == "content-filter":
		return s.e.fail(ContentFilter, "a content filter removed the whole reply")
	}
	return s.e.fail(Empty, "the reply is empty")
}

// completion returns what is known after run.
func (s *stream) completion() *assistant.Completion {
	c := &assistant.Completion{Model: s.e.Model, Reason: s.finish, Usage: readUsage(s.usage), ToolCalls: s.toolCalls()}
	switch {
	case len(c.ToolCalls) > 0 && (c.Reason == "stop" || c.Reason == "other"):
		c.Reason = "tool-calls" // Ollama and Gemini say stop
	case s.refused:
		c.Reason = "content-filter"
	case c.Reason == "tool-calls" && len(c.ToolCalls) == 0:
		c.Reason = "stop"
	}
	return c
}

// read reads the body: an event stream (WHATWG HTML §9.2), or one JSON
// document from endpoints that don't stream and from those that failed.
func (s *stream) read() error {
	in := bufio.NewScanner(s)
	in.Buffer(nil, maxLine)
	first := true
	for in.Scan() {
		line := in.Bytes()
		if first {
			line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\uFEFF")))
			if len(line) == 0 {
				continue
			}
			if line[0] == '{' || line[0] == '[' {
				return s.document(in)
			}
			first = false
		}
		if s.done {
			continue
		}
		if err := s.line(line); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	if isJSON(s.pending) { // an event that lacks its empty line
		return s.chunk(s.pending)
	}
	return nil
}

// document reads an answer whose first line begins a JSON document.
func (s *stream) document(in *bufio.Scanner) error {
	doc := bytes.Clone(in.Bytes())
	for in.Scan() {
		if doc = append(append(doc, '\n'), in.Bytes()...); len(doc) > maxLine {
			return bufio.ErrTooLong
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	doc = bytes.TrimSpace(bytes.TrimPrefix(doc, []byte("\uFEFF")))
	if !isJSON(doc) {
		return s.failBody(doc)
	}
	if err := s.chunk(doc); err != nil {
		return err
	}
	if !s.begun && len(s.calls) == 0 {
		return s.e.fail(Empty, "no reply in the response: %.200s", doc)
	}
	if s.finish == "" {
		s.finish = "stop"
	}
	return nil
}

// line reads a line of the event stream.
func (s *stream) line(line []byte) error {
	if len(line) == 0 {
		s.isError = false
		if len(s.pending) == 0 {
			return nil
		}
		event := s.pending
		if s.pending = nil; !isJSON(event) {
			return s.e.fail(Malformed, "an event is not JSON: %.200s", event)
		}
		return s.chunk(event)
	}
	switch line[0] {
	case '{': // JSON without a field name: an error written into the stream
		return s.data(line)
	case '<':
		return s.e.fail(Malformed, "HTML instead of a stream: %.200s", line)
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch string(field) {
	case "data":
		return s.data(value)
	case "event":
		s.isError = string(value) == "error"
	case "error": // llama.cpp
		return s.failBody(value)
	}
	return nil
}

// data reads the value of a data line.
func (s *stream) data(b []byte) error {
	switch {
	case len(s.pending) > 0:
		if s.pending = append(append(s.pending, '\n'), b...); len(s.pending) > maxLine {
			return bufio.ErrTooLong
		}
	case len(b) == 0:
	case s.isError:
		return s.failBody(b)
	case string(b) == "[DONE]":
		if s.done = true; s.finish == "" {
			s.finish = "stop"
		}
		s.wait(drainTimeout)
	default:
		if err := s.chunk(b); err != errNotJSON {
			return err
		}
		s.pending = append(s.pending, b...) // perhaps an event of several data lines
	}
	return nil
}
