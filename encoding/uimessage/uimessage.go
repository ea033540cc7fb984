// Package uimessage is the second generation of assistant messages: requests
// and streams of version 5 and later of the chat SDK, whose stream is the "UI
// message stream", server-sent events of one JSON object each.
package uimessage

import (
	"cmp"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding"
)

// SetHeader sets the header of a streamed reply. no-transform keeps
// compression off: it costs more than it saves for events as small as these,
// and holds them back. The charset is for clients that take text without one
// for Latin-1, as Python's requests does.
func SetHeader(h http.Header) {
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
}

// Encoder writes a reply as a UI message stream. It implements reply.Sink and
// accepts any sequence of events: it opens and closes parts and steps as the
// protocol requires, and drops events that clients would reject (a result
// without its call, anything after the end). It is not safe for concurrent
// use.
//
// The message's metadata has the threadId, in the start event, so that it
// survives a stop, and in the finish event, whose metadata also has
// finishReason, usage (inputTokens, outputTokens, totalTokens; where known)
// and the fields of reply.Outcome. Before an error it has the error's code and
// requestId.
type Encoder struct {
	out encoding.Output

	literal  bool
	threadID string

	begun, ended bool
	step         bool
	part         reply.Kind // Text or Reasoning while one is open, else 0
	parts        int        // opened so far
	prefix       string     // of the open part's deltas
	tools        encoding.Tools
}

var _ reply.Sink = (*Encoder)(nil)

// NewEncoder returns an Encoder that writes to w, once a Flush, and calls
// flush, where not nil, after each write. A literal finish event has threadId
// and finishReason at the top level, for clients that read the stream themselves:
// the chat SDK up to 5.0.216, 6.0.230 and 7.0.31 rejects all but messageMetadata.
func NewEncoder(w io.Writer, flush func() error, literal bool) *Encoder {
	return &Encoder{out: encoding.NewOutput(w, flush, "}\n\n"), literal: literal}
}

// Send takes one event and holds its bytes until Flush. It returns the first
// error of writing.
func (e *Encoder) Send(ev *reply.Event) error {
	if e.ended || e.out.Err() != nil {
		return e.out.Err()
	}
	if ev.Kind != reply.Text && ev.Kind != reply.Reasoning {
		e.event(ev)
	} else if len(ev.Text) > 0 {
		e.begin()
		e.openPart(ev.Kind)
		e.out.Delta(e.prefix, ev.Text)
	}
	return e.out.Err()
}

// Flush sends what was encoded.
func (e *Encoder) Flush() error { return e.out.Flush() }

// KeepAlive sends a comment, which clients ignore, so that proxies keep a
// silent connection open.
func (e *Encoder) KeepAlive() error { return e.out.KeepAlive(": keep-alive\n\n") }

// write writes an event with a type and other fields: names, each followed by
// its value.
func (e *Encoder) write(kind string, fields ...any) {
	e.out.Raw("data: ")
	e.out.Object(append([]any{"type", kind}, fields...)...)
	e.out.Raw("\n\n")
}

// event encodes an event that is not text.
func (e *Encoder) event(ev *reply.Event) {
	switch ev.Kind {
	case reply.Start:
		if e.begun { // a start after anything else would begin another message
			return
		}
		e.begun, e.threadID = true, ev.ThreadID
		var metadata any
		if ev.ThreadID != "" {
			metadata = map[string]string{"threadId": ev.ThreadID}
		}
		e.write("start", "messageId", encoding.Optional(ev.MessageID), "messageMetadata", metadata)
	case reply.StepStart:
		e.finishStep()
		e.begin()
	case reply.StepFinish:
		e.finishStep()
	case reply.ToolCall:
		if !e.tools.Call(ev.ToolCallID) {
			return
		}
		e.begin()
		e.closePart()
		// providerExecuted keeps clients from running the tool themselves or
		// from asking again once it has a result.
		e.write("tool-input-start", "toolCallId", ev.ToolCallID, "toolName", ev.ToolName, "providerExecuted", true)
		e.write("tool-input-available", "toolCallId", ev.ToolCallID, "toolName", ev.ToolName,
			"input", encoding.Arguments(ev.JSON), "providerExecuted", true)
	case reply.ToolResult:
		if e.tools.Result(ev.ToolCallID) {
			e.begin()
			e.closePart()
			e.write("tool-output-available", "toolCallId", ev.ToolCallID, "output", jsontext.Value(ev.JSON), "providerExecuted", true)
		}
	case reply.Source:
		e.begin()
		// null or empty titles: the first is an error to clients
		e.write("source-url", "sourceId", ev.SourceID, "url", ev.URL, "title", encoding.Optional(ev.Title))
	case reply.Data:
		e.begun = true
		e.write("data-"+ev.Name, "data", jsontext.Value(ev.JSON))
	case reply.Error:
		e.closePart() // one that stays open would be shown as still being written
		if ev.Code != "" {
			e.write("message-metadata", "messageMetadata", map[string]any{"error": struct {
				Code      string `json:"code"`
				RequestID string `json:"requestId"`
			}{ev.Code, ev.RequestID}})
		}
		e.write("error", "errorText", cmp.Or(ev.Message, encoding.BrokeOff))
		e.end()
	case reply.Finish:
		e.finish(ev)
	}
}

// begin makes sure that a step is open.
func (e *Encoder) begin() {
	if !e.step {
		e.begun, e.step = true, true
		e.write("start-step")
	}
}

func (e *Encoder) finishStep() {
	e.closePart()
	if e.step {
		e.step = false
		e.write("finish-step")
	}
}

// openPart makes sure that a part of this kind is open.
func (e *Encoder) openPart(kind reply.Kind) {
	if e.part == kind {
		return
	}
	e.closePart()
	e.part = kind
	e.parts++
	name, id := e.partName()
	e.write(name+"-start", "id", id)
	e.prefix = `data: {"type":"` + name + `-delta","id":"` + id + `","delta":`
}

// partName is the name and the id of the open part.
func (e *Encoder) partName() (name, id string) {
	id = "p" + strconv.Itoa(e.parts)
	if e.part == reply.Reasoning {
		return "reasoning", id
	}
	return "text", id
}

func (e *Encoder) closePart() {
	if e.part != 0 {
		name, id := e.partName()
		e.write(name+"-end", "id", id)
		e.part = 0
	}
}

func (e *Encoder) finish(ev *reply.Event) {
	e.finishStep()
	type usage struct {
		Input  int `json:"inputTokens"`
		Output int `json:"outputTokens"`
		Total  int `json:"totalTokens"`
		Cached int `json:"cachedInputTokens,omitzero"`
	}
	metadata := struct {
		Reason   string `json:"finishReason"`
		ThreadID string `json:"threadId,omitempty"`
		Usage    *usage `json:"usage,omitempty"`
		*reply.Outcome
	}{Reason: encoding.Reason(ev.Reason), ThreadID: e.threadID, Outcome: ev.Outcome}
	if u := ev.Usage; u.Known {
		metadata.Usage = &usage{u.InputTokens, u.OutputTokens, u.InputTokens + u.OutputTokens, u.CachedTokens}
	}
	var reason, thread any
	if e.literal {
		reason, thread = metadata.Reason, encoding.Optional(e.threadID)
	}
	e.write("finish", "finishReason", reason, "threadId", thread, "messageMetadata", metadata)
	e.end()
}

// end marks the stream as complete.
func (e *Encoder) end() {
	e.out.Raw("data: [DONE]\n\n")
	e.ended = true
}
