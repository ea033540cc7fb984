package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/caddy-docs/caddy-docs/assistant"
)

var dataField = []byte("data:")

// errEnough ends a reply that goes nowhere or beyond its limit: what came
// stays, the finish reason is length.
var errEnough = errors.New("the reply is long enough")

// stream reads one reply from an endpoint's answer and hands its pieces on.
// A plain text token is passed on as the bytes that came, without
// allocating.
type stream struct {
	// What every token touches stands together: with hundreds of streams
	// nothing of one is in the processor's cache when its next token comes.
	in        lines
	each      func(*assistant.Delta) error
	begun     bool // something of the reply came
	sent      bool // each was called
	unflushed bool // something was handed on since the last empty delta
	isError   bool // the event's name is error
	refused   bool // in a refusal's own field
	phase     int
	delta     assistant.Delta
	deltas    int
	bytes     int
	maxTokens int
	pending   []byte // data lines of an event that is not whole yet

	repetition repetition
	watch      watch

	// describe makes the endpoint's *Error of a kind and a message.
	describe func(k Kind, message string, cause error) error
	idle     time.Duration
	onFirst  func()

	piece    piece
	held     []byte
	closing  []byte
	finish   string
	usage    []byte
	calls    []*pendingCall
	thoughts int
}

// grace is how long usage and [DONE] may take after the finish reason.
const grace = 2 * time.Second

// run reads until the reply's end. nil means that the reply is whole.
func (s *stream) run() error {
	s.in.beforeRead = s.beforeRead
	err := s.read()
	if errors.Is(err, errEnough) {
		s.finish = "length"
		err = nil
	}
	var model *Error
	var sink *sinkError
	switch {
	case err == nil:
	case errors.As(err, &model), errors.As(err, &sink):
		return err
	case s.finish == "error":
		return s.fail(Failed, errors.New("the endpoint ended the reply with an error"))
	case s.finish != "":
		// Whole, though it ended without [DONE] or the connection broke after it.
	case errors.Is(err, errLineTooLong):
		return s.fail(Nonsense, err)
	case errors.Is(err, io.EOF) && !s.begun:
		return s.fail(Empty, errors.New("the stream is empty"))
	case errors.Is(err, io.EOF):
		return s.fail(Cut, errors.New("the stream ended in the middle of the reply"))
	default:
		return err // of the connection: the endpoint knows why
	}
	if len(s.held) > 0 {
		if err := s.release(); err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	if s.finish == "error" {
		return s.fail(Failed, errors.New("the endpoint ended the reply with an error"))
	}
	if !s.begun && len(s.toolCalls()) == 0 {
		if s.finish == "content-filter" {
			return s.fail(Filtered, errors.New("a content filter left nothing of the reply"))
		}
		return s.fail(Empty, errors.New("the reply is empty"))
	}
	return nil
}

// completion is what is known after run.
func (s *stream) completion() *assistant.Completion {
	c := &assistant.Completion{Reason: s.finish, Usage: readUsage(s.usage), ToolCalls: s.toolCalls()}
	switch {
	case len(c.ToolCalls) > 0 && (c.Reason == "" || c.Reason == "stop" || c.Reason == "other"):
		c.Reason = "tool-calls" // Ollama and Gemini say stop
	case s.refused:
		c.Reason = "content-filter"
	case c.Reason == "" || c.Reason == "tool-calls" && len(c.ToolCalls) == 0:
		c.Reason = "stop"
	}
	return c
}

func (s *stream) read() error {
	if c := s.in.first(); c == 0 || c == '{' || c == '[' || c == '<' {
		return s.noEvents(c)
	}
	for {
		line, err := s.in.next()
		if err != nil {
			if len(s.pending) > 0 {
				if e := s.dispatchPending(); e != nil {
					return e
				}
			}
			return err
		}
		if done, err := s.line(line); done || err != nil {
			return err
		}
	}
}

// noEvents reads an answer whose first byte is none of an event stream's.
func (s *stream) noEvents(c byte) error {
	switch c {
	case 0:
		if s.in.err != nil && !errors.Is(s.in.err, io.EOF) {
			return s.in.err
		}
		return io.EOF
	case '<':
		b, _ := s.in.next()
		return s.fail(Nonsense, fmt.Errorf("the endpoint answered with HTML: %.200s", b))
	}
	return s.document()
}

// line takes a line of the event stream; done is true for [DONE].
func (s *stream) line(line []byte) (done bool, err error) {
	if len(line) == 0 {
		if len(s.pending) > 0 {
			err = s.dispatchPending()
		}
		s.isError = false
		return false, err
	}
	switch c := line[0]; {
	case c == 'd' && bytes.HasPrefix(line, dataField):
		return s.data(trim(line[len(dataField):]))
	case c == 'e' && bytes.HasPrefix(line, []byte("event:")):
		s.isError = string(trim(line[len("event:"):])) == "error"
	case c == 'e' && bytes.HasPrefix(line, []byte("error:")): // llama.cpp
		return false, s.failBody(trim(line[len("error:"):]))
	case c == '{':
		// JSON without a field name: an error written into the stream.
		if ok, err := s.slow(line); err != nil {
			return false, err
		} else if !ok && !s.in.partial {
			return false, s.fail(Nonsense, fmt.Errorf("a line that is no event: %.200s", line))
		}
	case c == '<':
		return false, s.fail(Nonsense, fmt.Errorf("HTML in the stream: %.200s", line))
	}
	return false, nil
}

// data takes the value of a data line; done is true for [DONE].
func (s *stream) data(b []byte) (done bool, err error) {
	switch {
	case len(s.pending) > 0:
		if len(s.pending)+len(b) > maxLine {
			return false, s.fail(Nonsense, errLineTooLong)
		}
		s.pending = append(append(s.pending, '\n'), b...)
		return false, nil
	case len(b) == 0:
		return false, nil
	case s.isError:
		return false, s.failBody(b)
	case b[0] == '[' && string(b) == "[DONE]":
		if s.finish == "" {
			s.finish = "stop"
			if !s.begun && len(s.calls) == 0 {
				return true, s.fail(Empty, errors.New("the stream is empty"))
			}
		}
		return true, nil
	}
	if s.piece.walk(b) {
		return false, s.pass()
	}
	ok, err := s.slow(b)
	if !ok && err == nil {
		// Perhaps an event of several data lines: its end is the empty line.
		s.pending = append(s.pending[:0], b...)
	}
	return false, err
}

// pass hands on what the walker found.
func (s *stream) pass() error {
	p := &s.piece
	s.life(false)
	if p.usage != nil {
		s.usage = append(s.usage[:0], p.usage...)
	}
	if len(p.reasoning) > 0 {
		if err := s.reasoning(p.reasoning); err != nil {
			return err
		}
	}
	return s.text(p.text)
}

func (s *stream) dispatchPending() error {
	b := s.pending
	s.pending = nil
	ok, err := s.slow(b)
	if err != nil || ok {
		return err
	}
	if s.in.err != nil {
		return nil // cut in the middle of an event: run says so
	}
	return s.fail(Nonsense, fmt.Errorf("an event that is no JSON: %.200s", b))
}

// document reads an answer that is no event stream: a whole completion of an
// endpoint that doesn't stream, or an error.
func (s *stream) document() error {
	b, err := s.in.rest()
	if err != nil {
		return err
	}
	ok, err := s.slow(trim(b))
	switch {
	case err != nil:
		return err
	case !ok:
		return s.failBody(b)
	case !s.begun && len(s.calls) == 0:
		return s.fail(Empty, fmt.Errorf("no reply in the answer: %.200s", b))
	case s.finish == "":
		s.finish = "stop"
	}
	return nil
}

// life tells that a chunk came; token, that it has something of the reply.
// Before the first token chunks without one don't count: FirstToken runs on.
func (s *stream) life(token bool) {
	if token && !s.begun {
		s.begun = true
		s.watch.within(s.idle, func() error { return s.describe(Idle, fmt.Sprintf("nothing came for %v", s.idle), nil) })
		if s.onFirst != nil {
			s.onFirst()
		}
	}
	if s.begun {
		s.watch.came()
	}
}

// finished shortens the wait: the reply is whole but for usage and [DONE].
func (s *stream) finished() {
	s.watch.within(min(grace, s.idle), func() error { return errFinished })
}

var errFinished = errors.New("the reply was whole")

// answer hands on a piece of the answer and ends a reply that has no end.
func (s *stream) answer(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	s.deltas++
	s.bytes += len(b)
	s.delta.Text, s.delta.Reasoning = b, nil
	if err := s.send(); err != nil {
		return err
	}
	if s.repetition.add(b) || s.tooLong() {
		return errEnough
	}
	return nil
}

// tooLong reports that a reply went beyond maxTokens at an endpoint that
// ignores it. Tokens are not counted but bounded from what is seen: most
// endpoints send one a piece, few tokens are longer than 16 bytes; 5 bytes
// is a long average.
func (s *stream) tooLong() bool {
	n := s.maxTokens
	return n > 0 && (s.deltas > n && s.bytes > 5*n || s.deltas > 4*n || s.bytes > 16*n)
}

func (s *stream) reasoning(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	s.life(true)
	s.thoughts += len(b)
	s.delta.Text, s.delta.Reasoning = nil, b
	if err := s.send(); err != nil {
		return err
	}
	// Some think without end. reasoningAllowance tokens are theirs.
	if s.maxTokens > 0 && s.thoughts > 16*(s.maxTokens+reasoningAllowance) {
		return errEnough
	}
	return nil
}

func (s *stream) send() error {
	s.delta.More = true
	s.sent, s.unflushed = true, true
	if err := s.each(&s.delta); err != nil {
		return &sinkError{err}
	}
	return nil
}

// beforeRead runs before a read that may wait, which is when no whole line is
// left: the drain rule of flushing. To flush from here and not from where the
// last piece was handed on also keeps the stack flat: what one token touches
// of it stays in the processor's cache.
func (s *stream) beforeRead() error {
	if s.unflushed {
		s.unflushed = false
		s.delta = assistant.Delta{}
		if err := s.each(&s.delta); err != nil {
			return &sinkError{err}
		}
	}
	s.watch.wait()
	return nil
}

func (s *stream) fail(k Kind, err error) error { return s.describe(k, err.Error(), err) }

// failBody makes an error of an error object.
func (s *stream) failBody(b []byte) error {
	e := apiError(bytes.Clone(b))
	k := Failed
	switch code := fmt.Sprint(e.Code); {
	case code == "429" || e.Type == "rate_limit_error" || code == "rate_limit_exceeded":
		k = Limited
	case code == "401" || code == "403" || code == "invalid_api_key":
		k = Denied
	case e.Type == "invalid_request_error" || code == "400" || code == "context_length_exceeded":
		k = Rejected
	}
	return s.describe(k, describeAPIError(e), e)
}

func describeAPIError(e *openai.APIError) string {
	m := e.Message
	if e.Type != "" {
		m += fmt.Sprintf(" (type %s)", e.Type)
	}
	if e.Code != nil && e.Code != "" {
		m += fmt.Sprintf(" (code %v)", e.Code)
	}
	return m
}

// trim drops white space at both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r' || b[0] == '\n') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t' || b[len(b)-1] == '\r' || b[len(b)-1] == '\n') {
		b = b[:len(b)-1]
	}
	return b
}
