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

	plain, checked, escaped []byte // reused
}

// write takes a delta in the form of reply.Event.Text.
func (t *reasoning) write(delta []byte) {
	if t.check == nil {
		return
	}
	t.open = true
	t.plain = t.halves.AppendPlain(t.plain[:0], delta)
	t.checked = t.check.Append(t.checked[:0], t.marks.Append(nil, t.plain))
	t.send()
}

// end sends what the check held back, before the answer.
func (t *reasoning) end() {
	if !t.open {
		return
	}
	t.open = false
	t.plain = reply.Unescape(t.plain[:0], t.halves.Close(nil))
	t.checked = t.check.End(t.check.Append(t.checked[:0], t.marks.End(t.marks.Append(nil, t.plain))))
	t.send()
}

func (t *reasoning) send() {
	if len(t.checked) > 0 {
		t.escaped = reply.Escape(t.escaped[:0], string(t.checked))
		t.out.send(reply.Event{Kind: reply.Reasoning, Text: t.escaped})
	}
}
