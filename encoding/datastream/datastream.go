// Package datastream is the first generation of assistant messages: requests
// and streams of version 4 of the chat SDK, whose stream is the "data
// stream", lines of a one-letter code, a colon and JSON.
package datastream

import (
	"cmp"
	"io"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding"
)

// SetHeader sets the header of a streamed reply. no-transform keeps
// compression off: it costs more than it saves for lines as small as these,
// and holds them back.
func SetHeader(h http.Header) {
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Vercel-Ai-Data-Stream", "v1")
}

// Encoder writes a reply as a data stream. It implements reply.Sink and
// accepts any sequence of events: it adds missing steps, and drops events that
// clients would reject (a result without its call, anything after the end). It
// is not safe for concurrent use.
//
// The threadId is in an annotation {"type":"thread"} at the start, so that it
// survives a stop, in data and an annotation {"type":"finish"} at the end, and
// in the d line, for clients that read the stream themselves. The annotation
// at the end also has the fields of reply.Outcome. An annotation {"type":"error"}
// before an error has its code and requestId.
type Encoder struct {
	out encoding.Output

	messageID, threadID string

	begun, ended bool
	// step is true inside a step, fresh if Start opened it.
	step, fresh bool
	tools       encoding.Tools
}

var _ reply.Sink = (*Encoder)(nil)

// NewEncoder returns an Encoder that writes to w, once a Flush, and calls
// flush, where not nil, after each write.
func NewEncoder(w io.Writer, flush func() error) *Encoder {
	return &Encoder{out: encoding.NewOutput(w, flush, "\n")}
}

// Send takes one event and holds its bytes until Flush. It returns the first
// error of writing.
func (e *Encoder) Send(ev *reply.Event) error {
	if e.ended || e.out.Err() != nil {
		return e.out.Err()
	}
	switch ev.Kind {
	case reply.Text, reply.Reasoning:
		if len(ev.Text) > 0 {
			e.begin()
			prefix := "0:"
			if ev.Kind == reply.Reasoning {
				prefix = "g:"
			}
			e.out.Delta(prefix, ev.Text)
		}
	case reply.Start:
		if e.begun {
			break
		}
		e.messageID, e.threadID = ev.MessageID, ev.ThreadID
		// The id of the message comes with its first step, and has to come
		// before the annotation that belongs to it.
		e.begin()
		e.fresh = true
		if e.threadID != "" {
			e.line("8:[", "]\n", "type", "thread", "threadId", e.threadID)
		}
	case reply.StepStart:
		if !e.fresh {
			e.finishStep("", reply.Usage{})
		}
		e.begin()
	case reply.StepFinish:
		e.finishStep(ev.Reason, ev.Usage)
	case reply.ToolCall:
		if e.tools.Call(ev.ToolCallID) {
			e.begin()
			e.line("9:", "\n", "toolCallId", ev.ToolCallID, "toolName", ev.ToolName, "args", encoding.Arguments(ev.JSON))
		}
	case reply.ToolResult:
		if e.tools.Result(ev.ToolCallID) {
			e.begin()
			e.line("a:", "\n", "toolCallId", ev.ToolCallID, "result", jsontext.Value(ev.JSON))
		}
	case reply.Source:
		e.begin()
		e.line("h:", "\n", "sourceType", "url", "id", ev.SourceID, "url", ev.URL, "title", encoding.Optional(ev.Title))
	case reply.Data:
		e.begun = true
		e.line("2:[", "]\n", "type", ev.Name, "data", jsontext.Value(ev.JSON))
	case reply.Error:
		if ev.Code != "" {
			e.line("8:[", "]\n", "type", "error", "code", ev.Code, "requestId", ev.RequestID)
		}
		e.out.Raw("3:")
		e.out.JSON(cmp.Or(ev.Message, encoding.BrokeOff))
		e.out.Raw("\n")
		e.ended = true
	case reply.Finish:
		e.finish(ev)
	}
	return e.out.Err()
}

// Flush sends what was encoded.
func (e *Encoder) Flush() error { return e.out.Flush() }

// KeepAlive sends an empty line, which clients ignore, so that proxies keep a
// silent connection open.
func (e *Encoder) KeepAlive() error { return e.out.KeepAlive("\n") }

// line writes an object, whose fields are names, each followed by its value,
// between two texts.
func (e *Encoder) line(before, after string, fields ...any) {
	e.out.Raw(before)
	e.out.Object(fields...)
	e.out.Raw(after)
}

// begin makes sure that a step is open.
func (e *Encoder) begin() {
	if e.fresh = false; e.step {
		return
	}
	e.begun, e.step = true, true
	if e.messageID != "" {
		e.line("f:", "\n", "messageId", e.messageID)
	}
}

func (e *Encoder) finishStep(reason string, usage reply.Usage) {
	if e.step {
		e.step, e.fresh = false, false
		e.line("e:", "\n", "finishReason", encoding.Reason(reason), "usage", tokens(usage), "isContinued", false)
	}
}

func (e *Encoder) finish(ev *reply.Event) {
	if e.threadID != "" {
		e.line("2:[", "]\n", "type", "finish", "threadId", e.threadID)
	}
	if e.threadID != "" || ev.Outcome != nil {
		e.out.Raw("8:[")
		e.out.JSON(struct {
			Type     string `json:"type"`
			ThreadID string `json:"threadId,omitempty"`
			*reply.Outcome
		}{"finish", e.threadID, ev.Outcome})
		e.out.Raw("]\n")
	}
	e.finishStep(ev.Reason, ev.Usage)
	e.line("d:", "\n", "type", "finish", "finishReason", encoding.Reason(ev.Reason),
		"usage", tokens(ev.Usage), "threadId", encoding.Optional(e.threadID))
	e.ended = true
}

// tokens is a usage, 0 where it is unknown: without it clients compute with NaN.
func tokens(u reply.Usage) any {
	if !u.Known {
		u = reply.Usage{}
	}
	return struct {
		Prompt     int `json:"promptTokens"`
		Completion int `json:"completionTokens"`
	}{u.InputTokens, u.OutputTokens}
}
