package assistant

import (
	"bytes"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// output is a reply on its way to the client: its events, and the model's text,
// which is checked, sent, and kept for the thread. It keeps the first error of
// the sink and does nothing after it, so that the steps need not look at every
// send.
type output struct {
	sink  reply.Sink
	err   error       // the sink's: the client is gone
	event reply.Event // reused, see reply.Event

	answer, thoughts checked
	thinking         bool         // the model thinks, and clients get it
	lead             string       // a sentence before the answer's first word
	text             bytes.Buffer // of the answer, sent so far, up to maxAnswer bytes
	started          time.Time    // the reply
	first            time.Duration
	inStep           bool // text was sent in this step
	gap              bool // an empty line is due before the next text
}

// checked is a model's text that is checked while it streams.
type checked struct {
	links *citation.Checker // nil until there is a text
	marks citation.Marks    // of a model that says that the docs don't answer
}

const maxAnswer = 256 << 10

// usualDelta is the room for a delta, in bytes. Few are longer.
const usualDelta = 128

// append takes a piece of the text and returns what is decided.
func (c *checked) append(delta []byte) []byte {
	unmarked := c.marks.Append(make([]byte, 0, usualDelta), delta)
	return c.links.Append(make([]byte, 0, usualDelta), unmarked)
}

// end returns what was held back.
func (c *checked) end() []byte {
	return c.links.End(c.links.Append(nil, c.marks.End(nil)))
}

func (o *output) send(e reply.Event) {
	if o.err == nil {
		o.event = e
		o.err = o.sink.Send(&o.event)
	}
}

func (o *output) flush() {
	if o.err == nil {
		o.err = o.sink.Flush()
	}
}

func (o *output) stepStart() { o.send(reply.Event{Kind: reply.StepStart}) }

func (o *output) stepFinish(reason string, u reply.Usage) {
	o.send(reply.Event{Kind: reply.StepFinish, Reason: reason, Usage: u})
}

// pass sends a delta of the model.
func (o *output) pass(d *Delta) error {
	if len(d.Reasoning) > 0 && o.thoughts.links != nil {
		o.thinking = true
		o.think(o.thoughts.append(d.Reasoning))
	}
	if len(d.Text) > 0 {
		o.endThinking()
		o.write(o.answer.append(d.Text))
	}
	if !d.More {
		o.flush()
	}
	return o.err
}

// end sends what the checks held back, at the end of a step. The text of the
// next step, if any, follows an empty line.
func (o *output) end() {
	o.endThinking()
	o.write(o.answer.end())
	o.gap = o.gap || o.inStep
}

func (o *output) endThinking() {
	if o.thinking {
		o.thinking = false
		o.think(o.thoughts.end())
	}
}

func (o *output) think(text []byte) {
	if len(text) > 0 {
		o.send(reply.Event{Kind: reply.Reasoning, Text: text})
	}
}

// write sends text of the answer as it is.
func (o *output) write(text []byte) {
	if len(text) == 0 || o.err != nil {
		return
	}
	if o.gap {
		o.gap = false
		o.write([]byte("\n\n"))
	}
	if lead := o.lead; lead != "" {
		o.lead = ""
		o.write([]byte(lead))
	}
	if o.text.Len() == 0 {
		o.first = time.Since(o.started)
	}
	if o.text.Len()+len(text) <= maxAnswer {
		o.text.Write(text)
	}
	o.inStep = true
	o.send(reply.Event{Kind: reply.Text, Text: text})
}
