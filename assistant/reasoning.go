package assistant

import (
	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// reasoning is what a model thinks before it answers, on its way to the client.
// It is checked like the answer.
type reasoning struct {
	out    *events
	check  *citation.Checker // nil: clients don't get it
	marks  marks
	halves reply.Joiner
	open   bool

	escaped []byte // reused
}

// write takes a delta in the form of reply.Event.Text.
func (t *reasoning) write(delta []byte) {
	if t.check == nil {
		return
	}
	t.open = true
	plain := t.halves.AppendPlain(make([]byte, 0, usualDelta), delta)
	unmarked := t.marks.Append(make([]byte, 0, usualDelta), plain)
	t.send(t.check.Append(make([]byte, 0, usualDelta), unmarked))
}

// end sends what the check held back, before the answer.
func (t *reasoning) end() {
	if !t.open {
		return
	}
	t.open = false
	plain := reply.Unescape(nil, t.halves.Close(nil))
	unmarked := t.marks.End(t.marks.Append(nil, plain))
	t.send(t.check.End(t.check.Append(nil, unmarked)))
}

func (t *reasoning) send(text []byte) {
	if len(text) > 0 {
		t.escaped = reply.Escape(t.escaped[:0], string(text))
		t.out.send(reply.Event{Kind: reply.Reasoning, Text: t.escaped})
	}
}
