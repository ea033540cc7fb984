package assistant

import (
	"bytes"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// answer is the text of a reply on its way to the client. It is checked, sent,
// and kept for the thread.
type answer struct {
	out     *events
	check   *citation.Checker // nil until there is an answer
	lead    string            // a sentence before the answer's first word
	text    bytes.Buffer      // sent so far, up to maxAnswer bytes
	started time.Time         // the reply
	first   time.Duration     // until the first text was sent

	marks  marks // of a model that says that the docs don't answer
	inStep bool  // text was sent in this step
	gap    bool  // an empty line is due before the next text
}

const maxAnswer = 256 << 10

// usualDelta is the room for a delta, in bytes. Few are longer.
const usualDelta = 128

// write takes a delta of the model's text.
func (a *answer) write(delta []byte) {
	unmarked := a.marks.Append(make([]byte, 0, usualDelta), delta)
	a.send(a.check.Append(make([]byte, 0, usualDelta), unmarked))
}

// end sends what the check held back, at the end of a step. The text of the
// next step, if any, follows an empty line.
func (a *answer) end() {
	unmarked := a.marks.End(nil)
	a.send(a.check.End(a.check.Append(nil, unmarked)))
	a.gap = a.gap || a.inStep
}

// say checks and sends a whole text.
func (a *answer) say(markdown string) {
	a.send(a.check.End(a.check.Append(nil, []byte(markdown))))
}

// send sends text as it is.
func (a *answer) send(text []byte) {
	if len(text) == 0 || a.out.err != nil {
		return
	}
	if a.gap {
		a.gap = false
		a.send([]byte("\n\n"))
	}
	if lead := a.lead; lead != "" {
		a.lead = ""
		a.send([]byte(lead))
	}
	if a.text.Len() == 0 {
		a.first = time.Since(a.started)
	}
	if a.text.Len()+len(text) <= maxAnswer {
		a.text.Write(text)
	}
	a.inStep = true
	a.out.send(reply.Event{Kind: reply.Text, Text: text})
}
