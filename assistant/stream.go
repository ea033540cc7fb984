package assistant

import (
	"bytes"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// stream writes a reply's events. It keeps the first error of the sink and
// does nothing after it, so that the steps need not look at every send.
type stream struct {
	sink   reply.Sink
	err    error         // the sink's: the client is gone
	answer bytes.Buffer  // the text sent so far, as it was sent (escaped)
	first  time.Duration // when the first piece of text went out
	event  reply.Event   // reused: no event costs an allocation

	started time.Time
}

// maxAnswer bounds the copy of the answer kept for the thread, in bytes.
const maxAnswer = 256 << 10

func (s *stream) send(e reply.Event) {
	if s.err == nil {
		s.event = e
		s.err = s.sink.Send(&s.event)
	}
}

func (s *stream) flush() {
	if s.err == nil {
		s.err = s.sink.Flush()
	}
}

// text sends a piece of the answer, in the form of reply.Event.Text.
func (s *stream) text(escaped []byte) {
	if len(escaped) == 0 || s.err != nil {
		return
	}
	if s.answer.Len() == 0 {
		s.first = time.Since(s.started)
	}
	if s.answer.Len()+len(escaped) <= maxAnswer {
		s.answer.Write(escaped)
	}
	s.piece(reply.Text, escaped)
}

func (s *stream) reasoning(escaped []byte) {
	if len(escaped) == 0 || s.err != nil {
		return
	}
	s.piece(reply.Reasoning, escaped)
}

// piece sends a piece of text. It clears the event only where it was another.
func (s *stream) piece(kind reply.Kind, escaped []byte) {
	if s.event.Kind != kind {
		s.event = reply.Event{Kind: kind}
	}
	s.event.Text = escaped
	s.err = s.sink.Send(&s.event)
}

func (s *stream) stepStart() { s.send(reply.Event{Kind: reply.StepStart}) }

func (s *stream) stepFinish(reason string, u reply.Usage) {
	s.send(reply.Event{Kind: reply.StepFinish, Reason: reason, Usage: u})
}
