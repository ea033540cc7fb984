package assistant

import "github.com/caddy-docs/caddy-docs/assistant/reply"

// events sends a reply's events. It keeps the first error of the sink and
// does nothing after it, so that the steps need not look at every send.
type events struct {
	sink  reply.Sink
	err   error       // the sink's: the client is gone
	event reply.Event // reused, see reply.Event
}

func (s *events) send(e reply.Event) {
	if s.err == nil {
		s.event = e
		s.err = s.sink.Send(&s.event)
	}
}

func (s *events) flush() {
	if s.err == nil {
		s.err = s.sink.Flush()
	}
}

func (s *events) stepStart() { s.send(reply.Event{Kind: reply.StepStart}) }

func (s *events) stepFinish(reason string, u reply.Usage) {
	s.send(reply.Event{Kind: reply.StepFinish, Reason: reason, Usage: u})
}
