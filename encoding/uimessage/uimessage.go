// Package uimessage is the second generation of assistant messages: requests
// and streams of version 5 and later of the chat SDK, whose stream is the "UI
// message stream", server-sent events of one JSON object each.
package uimessage

import (
	"io"
	"net/http"
	"strconv"

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

// FinishEvent says what the finish event holds besides its metadata.
type FinishEvent uint8

const (
	// Literal finish events have threadId and finishReason at the top level,
	// for clients that read the stream themselves.
	Literal FinishEvent = iota
	// SDK finish events have only messageMetadata: the chat SDK up to 5.0.216,
	// 6.0.230 and 7.0.31 rejects any other key.
	SDK
)

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

	finishEvent FinishEvent
	threadID    string

	state  state
	step   bool
	part   reply.Kind // Text or Reasoning while one is open, else 0
	parts  int        // opened so far
	prefix string     // of the open part's deltas
	tools  encoding.Tools
}

type state uint8

const (
	waiting state = iota
	replying
	ended
)

var _ reply.Sink = (*Encoder)(nil)

// NewEncoder returns an Encoder that writes to w, once a Flush, and calls
// flush, where not nil, after each write.
func NewEncoder(w io.Writer, flush func() error, finish FinishEvent) *Encoder {
	return &Encoder{out: encoding.NewOutput(w, flush, "}\n\n"), finishEvent: finish}
}

// Send takes one event and holds its bytes until Flush. It returns the first
// error of writing.
func (e *Encoder) Send(ev *reply.Event) error {
	if err := e.out.Err(); err != nil {
		return err
	}
	if e.state == ended {
		return nil
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

// event encodes an event that is not text.
func (e *Encoder) event(ev *reply.Event) {
	e.out.EndDelta()
	switch ev.Kind {
	case reply.Start:
		e.start(ev)
	case reply.StepStart:
		e.finishStep()
		e.startStep()
	case reply.StepFinish:
		e.finishStep()
	case reply.ToolCall:
		e.toolCall(ev)
	case reply.ToolResult:
		if e.tools.Result(ev.ToolCallID) {
			e.begin()
			e.closePart()
			e.open("tool-output-available")
			e.out.Field("toolCallId", ev.ToolCallID)
			e.out.Name("output")
			e.out.JSON(ev.JSON, "null")
			e.out.Raw(`,"providerExecuted":true`)
			e.close()
		}
	case reply.Source:
		e.begin()
		e.open("source-url")
		e.out.Field("sourceId", ev.SourceID)
		e.out.Field("url", ev.URL)
		if ev.Title != "" { // null or empty titles: the first is an error to clients
			e.out.Field("title", ev.Title)
		}
		e.close()
	case reply.Data:
		e.state = replying
		e.out.Raw(`data: {"type":`)
		e.out.String("data-" + ev.Name)
		e.out.Name("data")
		e.out.JSON(ev.JSON, "null")
		e.close()
	case reply.Error:
		// A part that stays open would be shown as still being written.
		e.closePart()
		message := ev.Message
		if message == "" {
			message = encoding.BrokeOff
		}
		if ev.Code != "" {
			e.open("message-metadata")
			e.out.Raw(`,"messageMetadata":{"error":{"code":`)
			e.out.String(ev.Code)
			e.out.Field("requestId", ev.RequestID)
			e.out.Raw("}}")
			e.close()
		}
		e.open("error")
		e.out.Field("errorText", message)
		e.close()
		e.end()
	case reply.Finish:
		e.finish(ev)
	}
}

// Flush sends what was encoded.
func (e *Encoder) Flush() error {
	return e.out.Flush()
}

// KeepAlive sends a comment, which clients ignore, so that proxies keep a
// silent connection open.
func (e *Encoder) KeepAlive() error {
	e.out.KeepAlive(": keep-alive\n\n")
	return e.out.Flush()
}

// open begins an event whose type needs no escaping.
func (e *Encoder) open(kind string) {
	e.out.Raw(`data: {"type":"`)
	e.out.Raw(kind)
	e.out.Raw(`"`)
}

func (e *Encoder) close() { e.out.Raw("}\n\n") }

func (e *Encoder) start(ev *reply.Event) {
	// A start after anything else would begin another message.
	if e.state != waiting {
		return
	}
	e.state = replying
	e.threadID = ev.ThreadID
	e.open("start")
	if ev.MessageID != "" {
		e.out.Field("messageId", ev.MessageID)
	}
	if e.threadID != "" {
		e.out.Raw(`,"messageMetadata":{"threadId":`)
		e.out.String(e.threadID)
		e.out.Raw("}")
	}
	e.close()
}

// begin makes sure that a step is open.
func (e *Encoder) begin() {
	if !e.step {
		e.startStep()
	}
}

func (e *Encoder) startStep() {
	e.state = replying
	e.step = true
	e.open("start-step")
	e.close()
}

func (e *Encoder) finishStep() {
	e.closePart()
	if e.step {
		e.step = false
		e.open("finish-step")
		e.close()
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
	name := e.partName()
	e.open(name + "-start")
	e.out.Raw(`,"id":"p` + strconv.Itoa(e.parts) + `"`)
	e.close()
	e.prefix = `data: {"type":"` + name + `-delta","id":"p` + strconv.Itoa(e.parts) + `","delta":`
}

func (e *Encoder) partName() string {
	if e.part == reply.Reasoning {
		return "reasoning"
	}
	return "text"
}

func (e *Encoder) closePart() {
	if e.part == 0 {
		return
	}
	e.out.EndDelta()
	e.open(e.partName() + "-end")
	e.out.Raw(`,"id":"p` + strconv.Itoa(e.parts) + `"`)
	e.close()
	e.part = 0
}

func (e *Encoder) toolCall(ev *reply.Event) {
	if !e.tools.Call(ev.ToolCallID) {
		return
	}
	e.begin()
	e.closePart()
	// providerExecuted keeps clients from running the tool themselves or
	// from asking again once it has a result.
	e.open("tool-input-start")
	e.out.Field("toolCallId", ev.ToolCallID)
	e.out.Field("toolName", ev.ToolName)
	e.out.Raw(`,"providerExecuted":true`)
	e.close()
	e.open("tool-input-available")
	e.out.Field("toolCallId", ev.ToolCallID)
	e.out.Field("toolName", ev.ToolName)
	e.out.Name("input")
	e.out.Object(ev.JSON)
	e.out.Raw(`,"providerExecuted":true`)
	e.close()
}

func (e *Encoder) finish(ev *reply.Event) {
	e.finishStep()
	reason := encoding.Reason(ev.Reason)
	e.open("finish")
	if e.finishEvent == Literal {
		e.out.Field("finishReason", reason)
		if e.threadID != "" {
			e.out.Field("threadId", e.threadID)
		}
	}
	e.out.Raw(`,"messageMetadata":{"finishReason":"` + reason + `"`)
	if e.threadID != "" {
		e.out.Field("threadId", e.threadID)
	}
	if u := ev.Usage; u.Known {
		e.out.Raw(`,"usage":{"inputTokens":` + strconv.Itoa(u.InputTokens) +
			`,"outputTokens":` + strconv.Itoa(u.OutputTokens) +
			`,"totalTokens":` + strconv.Itoa(u.InputTokens+u.OutputTokens))
		if u.CachedTokens > 0 {
			e.out.Raw(`,"cachedInputTokens":` + strconv.Itoa(u.CachedTokens))
		}
		e.out.Raw("}")
	}
	if ev.Outcome != nil {
		e.out.Marshal(ev.Outcome)
	}
	e.out.Raw("}")
	e.close()
	e.end()
}

// end marks the stream as complete.
func (e *Encoder) end() {
	e.out.Raw("data: [DONE]\n\n")
	e.state = ended
}
