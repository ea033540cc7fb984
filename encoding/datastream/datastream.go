// Package datastream is the first generation of assistant messages: requests
// and streams of version 4 of the chat SDK, whose stream is the "data
// stream", lines of a one-letter code, a colon and JSON.
package datastream

import (
	"io"
	"net/http"
	"strconv"

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

	state state
	// step is true inside a step, fresh if Start opened it.
	step, fresh bool
	tools       encoding.Tools
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
func NewEncoder(w io.Writer, flush func() error) *Encoder {
	return &Encoder{out: encoding.NewOutput(w, flush, "\n")}
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
	if ev.Kind == reply.Text || ev.Kind == reply.Reasoning {
		if len(ev.Text) > 0 {
			e.begin()
			e.sendText(ev)
		}
		return e.out.Err()
	}
	e.out.EndDelta()
	switch ev.Kind {
	case reply.Start:
		e.start(ev)
	case reply.StepStart:
		if e.fresh {
			e.fresh = false
			break
		}
		e.finishStep("", reply.Usage{})
		e.startStep()
	case reply.StepFinish:
		e.finishStep(ev.Reason, ev.Usage)
	case reply.ToolCall:
		if e.tools.Call(ev.ToolCallID) {
			e.begin()
			e.out.Raw(`9:{"toolCallId":`)
			e.out.String(ev.ToolCallID)
			e.out.Field("toolName", ev.ToolName)
			e.out.Name("args")
			e.out.Object(ev.JSON)
			e.out.Raw("}\n")
		}
	case reply.ToolResult:
		if e.tools.Result(ev.ToolCallID) {
			e.begin()
			e.out.Raw(`a:{"toolCallId":`)
			e.out.String(ev.ToolCallID)
			e.out.Name("result")
			e.out.JSON(ev.JSON, "null")
			e.out.Raw("}\n")
		}
	case reply.Source:
		e.begin()
		e.out.Raw(`h:{"sourceType":"url","id":`)
		e.out.String(ev.SourceID)
		e.out.Field("url", ev.URL)
		if ev.Title != "" {
			e.out.Field("title", ev.Title)
		}
		e.out.Raw("}\n")
	case reply.Data:
		e.state = replying
		e.out.Raw(`2:[{"type":`)
		e.out.String(ev.Name)
		e.out.Name("data")
		e.out.JSON(ev.JSON, "null")
		e.out.Raw("}]\n")
	case reply.Error:
		message := ev.Message
		if message == "" {
			message = encoding.BrokeOff
		}
		if ev.Code != "" {
			e.out.Raw(`8:[{"type":"error"`)
			e.out.Field("code", ev.Code)
			e.out.Field("requestId", ev.RequestID)
			e.out.Raw("}]\n")
		}
		e.out.Raw("3:")
		e.out.String(message)
		e.out.Raw("\n")
		e.state = ended
	case reply.Finish:
		e.finish(ev)
	}
	return e.out.Err()
}

// Flush sends what was encoded.
func (e *Encoder) Flush() error {
	return e.out.Flush()
}

// KeepAlive sends an empty line, which clients ignore, so that proxies keep a
// silent connection open.
func (e *Encoder) KeepAlive() error {
	e.out.KeepAlive("\n")
	return e.out.Flush()
}

func (e *Encoder) sendText(ev *reply.Event) {
	prefix := "0:"
	if ev.Kind == reply.Reasoning {
		prefix = "g:"
	}
	e.out.Delta(prefix, ev.Text)
}

func (e *Encoder) start(ev *reply.Event) {
	if e.state != waiting {
		return
	}
	e.state = replying
	e.messageID, e.threadID = ev.MessageID, ev.ThreadID
	// The id of the message comes with its first step, and has to come
	// before the annotation that belongs to it.
	e.startStep()
	e.fresh = true
	if e.threadID != "" {
		e.out.Raw(`8:[{"type":"thread"`)
		e.out.Field("threadId", e.threadID)
		e.out.Raw("}]\n")
	}
}

// begin makes sure that a step is open.
func (e *Encoder) begin() {
	e.fresh = false
	if !e.step {
		e.startStep()
	}
}

func (e *Encoder) startStep() {
	e.state = replying
	e.step = true
	if e.messageID != "" {
		e.out.Raw(`f:{"messageId":`)
		e.out.String(e.messageID)
		e.out.Raw("}\n")
	}
}

func (e *Encoder) finishStep(reason string, usage reply.Usage) {
	if !e.step {
		return
	}
	e.step, e.fresh = false, false
	e.out.Raw(`e:{"finishReason":"` + encoding.Reason(reason) + `"`)
	e.usage(usage)
	e.out.Raw(",\"isContinued\":false}\n")
}

func (e *Encoder) finish(ev *reply.Event) {
	if e.threadID != "" {
		e.out.Raw(`2:[{"type":"finish"`)
		e.out.Field("threadId", e.threadID)
		e.out.Raw("}]\n")
	}
	if e.threadID != "" || ev.Outcome != nil {
		e.out.Raw(`8:[{"type":"finish"`)
		if e.threadID != "" {
			e.out.Field("threadId", e.threadID)
		}
		if ev.Outcome != nil {
			e.out.Marshal(ev.Outcome)
		}
		e.out.Raw("}]\n")
	}
	e.finishStep(ev.Reason, ev.Usage)
	e.out.Raw(`d:{"type":"finish","finishReason":"` + encoding.Reason(ev.Reason) + `"`)
	e.usage(ev.Usage)
	if e.threadID != "" {
		e.out.Field("threadId", e.threadID)
	}
	e.out.Raw("}\n")
	e.state = ended
}

// usage adds the usage, 0 where it is unknown: without it clients compute with
// NaN.
func (e *Encoder) usage(u reply.Usage) {
	if !u.Known {
		u = reply.Usage{}
	}
	e.out.Raw(`,"usage":{"promptTokens":` + strconv.Itoa(u.InputTokens) +
		`,"completionTokens":` + strconv.Itoa(u.OutputTokens) + `}`)
}
