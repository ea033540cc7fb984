package assistant

import (
	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// reasoning is what a model thinks before it answers, on its way to the client.
// It is checked like the answer.
type reasoning struct {
	out   *events
	check *citation.Checker // nil: clients don't get it
	marks marks
	open  bool
}

func (t *reasoning) write(delta []byte) {
	if t.check == nil {
		return
	}
	t.open = true
	unmarked := t.marks.Append(make([]byte, 0, usualDelta), delta)
	t.send(t.check.Append(make([]byte, 0, usualDelta), unmarked))
}

// end sends what the check held back, before the answer.
func (t *reasoning) end() {
	if !t.open {
		return
	}
	t.open = false
	unmarked := t.marks.End(nil)
	t.send(t.check.End(t.check.Append(nil, unmarked)))
}

func (t *reasoning) send(text []byte) {
	if len(text) > 0 {
		t.out.send(reply.Event{Kind: reply.Reasoning, Text: text})
	}
}
