package model

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// Bounds of what a model may call in one reply.
const (
	maxToolCalls = 64
	maxArguments = 1 << 20
)

// pendingCall is a tool call whose pieces are still coming.
type pendingCall struct {
	index    int
	id, name string
	args     []byte
}

// tool joins a piece of a tool call to the call it belongs to: by index;
// without one, or where an endpoint gives every call the same index
// (Gemini), a new id starts a new call.
func (s *stream) tool(d *toolDelta) error {
	var call *pendingCall
	switch n := len(s.calls); {
	case d.Index != nil:
		for i := n - 1; i >= 0 && call == nil; i-- {
			if c := s.calls[i]; c.index == *d.Index && (d.ID == "" || c.id == "" || c.id == d.ID) {
				call = c
			}
		}
	case d.ID != "":
		for _, c := range s.calls {
			if c.id == d.ID {
				call = c
			}
		}
	case n > 0 && (d.Function.Name == "" || !json.Valid(s.calls[n-1].args)):
		call = s.calls[n-1]
	}
	if call == nil {
		if len(s.calls) == maxToolCalls {
			return s.fail(Nonsense, fmt.Errorf("more than %d tool calls", maxToolCalls))
		}
		call = &pendingCall{index: len(s.calls)}
		if d.Index != nil {
			call.index = *d.Index
		}
		s.calls = append(s.calls, call)
	}
	if call.id == "" {
		call.id = d.ID
	}
	if call.name == "" {
		call.name = d.Function.Name
	}
	if !isNull(d.Function.Arguments) {
		call.args = append(call.args, plain(d.Function.Arguments)...)
	}
	if len(call.args) > maxArguments {
		return s.fail(Nonsense, fmt.Errorf("arguments of a tool call beyond %d bytes", maxArguments))
	}
	return nil
}

func (s *stream) toolCalls() []assistant.ToolCall {
	var calls []assistant.ToolCall
	for i, c := range s.calls {
		if c.name == "" {
			continue
		}
		if c.id == "" {
			c.id = fmt.Sprintf("call_%d", i)
		}
		if len(bytes.TrimSpace(c.args)) == 0 {
			c.args = []byte("{}")
		}
		calls = append(calls, assistant.ToolCall{ID: c.id, Name: c.name, Arguments: string(c.args)})
	}
	return calls
}
