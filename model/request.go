package model

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	openai "github.com/sashabaranov/go-openai"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// request is the body of POST /chat/completions but for its tools, which are
// the same in every request, and its messages, which writeMessage adds:
// go-openai leaves empty content out, and endpoints refuse a message without
// one. The types are go-openai's.
type request struct {
	Model               string                `json:"model"`
	Stream              bool                  `json:"stream"`
	StreamOptions       *openai.StreamOptions `json:"stream_options,omitempty"`
	MaxTokens           int                   `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                   `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     string                `json:"reasoning_effort,omitempty"`
	User                string                `json:"user,omitempty"`
}

// reasoningAllowance is what a reasoning model may think beyond the answer's
// limit, in tokens: its limit counts both, and one that spends all of it on
// thinking leaves the answer blank.
const reasoningAllowance = 4096

// parameters are what an endpoint is asked with. They start from what is
// known of its address and model and change for good when it refuses one.
type parameters uint32

const (
	withUsage       parameters = 1 << iota // stream_options.include_usage
	withMaxTokens                          // max_tokens
	withMaxComplete                        // max_completion_tokens
	withEffort                             // reasoning_effort low
	withTools
	withUser
	// triedMax and triedComplete: never to be tried again.
	triedMax
	triedComplete
)

// reasoningModel matches the models that refuse max_tokens and temperature.
var reasoningModel = regexp.MustCompile(`^(?:o[1-9]|gpt-[5-9])(?:$|[-.])`)

func firstParameters(e Endpoint, u *url.URL) parameters {
	host := u.Hostname()
	name := e.Model[strings.LastIndexByte(e.Model, '/')+1:]
	reasons := reasoningModel.MatchString(name) && !strings.Contains(name, "-chat")
	openAI := host == "api.openai.com" || isAzure(u)
	p := withUsage | withTools
	switch {
	case openAI, reasons && host != "openrouter.ai":
		p |= withMaxComplete
	default:
		p |= withMaxTokens
	}
	if reasons && openAI {
		p |= withEffort
	}
	if openAI || host == "openrouter.ai" {
		p |= withUser
	}
	return p
}

func isAzure(u *url.URL) bool {
	host := u.Hostname()
	return strings.HasSuffix(host, ".azure.com") || strings.Contains(u.Path, "/openai/deployments/")
}

// refused returns the parameters to ask with after an answer of status 4xx
// that names one of p's; ok is false if it names none.
func (p parameters) refused(status int, body []byte) (next parameters, ok bool) {
	b := strings.ToLower(string(body))
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(b, w) {
				return true
			}
		}
		return false
	}
	if p&withTools != 0 && has("tool", "function call") &&
		has("support", "tool-call-parser", "not permitted", "unrecognized", "unknown", "unexpected") && !has("tool_call_id") {
		return p &^ withTools, true
	}
	if status != 400 && status != 422 {
		return p, false
	}
	switch {
	case p&withUsage != 0 && has("stream_options", "include_usage"):
		return p &^ withUsage, true
	case p&withEffort != 0 && has("reasoning_effort", "reasoning.effort"):
		return p &^ withEffort, true
	case p&withMaxTokens != 0 && has("max_tokens", "max_completion_tokens"):
		next = p&^withMaxTokens | triedMax
		unknown := has("max_completion_tokens", "support", "unrecognized", "unknown", "unexpected", "extra", "not permitted")
		if unknown && p&triedComplete == 0 {
			next |= withMaxComplete
		}
		return next, true
	case p&withMaxComplete != 0 && has("max_completion_tokens", "max_tokens"):
		next = p&^withMaxComplete | triedComplete
		if p&triedMax == 0 {
			next |= withMaxTokens
		}
		return next, true
	case p&withUser != 0 && has(`"user"`, `'user'`, `\"user\"`):
		return p &^ withUser, true
	}
	return p, false
}

// body writes the request. maxTokens is 0 for no limit.
func (e *endpoint) body(p *assistant.Prompt, maxTokens int, params parameters) (*outgoing, error) {
	r := request{Model: e.Model, Stream: true}
	if params&withUsage != 0 {
		r.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if params&withMaxTokens != 0 {
		r.MaxTokens = maxTokens
	}
	if params&withMaxComplete != 0 && maxTokens > 0 {
		r.MaxCompletionTokens = maxTokens
		if reasoningModel.MatchString(e.Model[strings.LastIndexByte(e.Model, '/')+1:]) || isAzure(e.url) {
			r.MaxCompletionTokens += reasoningAllowance
		}
	}
	if params&withEffort != 0 {
		r.ReasoningEffort = "low"
	}
	if params&withUser != 0 {
		r.User = p.User
	}
	b := bodies.Get().(*bytes.Buffer)
	b.Reset()
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false) // <, > and & cost six bytes each otherwise
	if err := enc.Encode(&r); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - len("}\n"))
	if params&withTools != 0 && len(p.Tools) > 0 {
		tools, err := e.tools.json(p.Tools)
		if err != nil {
			return nil, err
		}
		b.WriteString(`,"tools":`)
		b.Write(tools)
	}
	b.WriteString(`,"messages":[`)
	for i := range p.Messages {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeMessage(b, &p.Messages[i]); err != nil {
			return nil, err
		}
	}
	b.WriteString("]}")
	return newOutgoing(b), nil
}

// writtenTools keeps the JSON of the tools that were offered last.
type writtenTools struct{ last atomic.Pointer[toolsJSON] }

type toolsJSON struct {
	tools []assistant.Tool
	json  []byte
}

func (w *writtenTools) json(tools []assistant.Tool) ([]byte, error) {
	same := func(a, b assistant.Tool) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
	}
	if last := w.last.Load(); last != nil && slices.EqualFunc(last.tools, tools, same) {
		return last.json, nil
	}
	list := make([]openai.Tool, len(tools))
	for i, t := range tools {
		f := &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: json.RawMessage(t.Parameters)}
		if len(t.Parameters) == 0 {
			f.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		list[i] = openai.Tool{Type: openai.ToolTypeFunction, Function: f}
	}
	made, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	w.last.Store(&toolsJSON{slices.Clone(tools), made})
	return made, nil
}

// writeMessage writes a message of the conversation. Its text, most of the
// body, goes from where it stands into the buffer.
func writeMessage(b *bytes.Buffer, m *assistant.PromptMessage) error {
	size := m.Content.Len()
	b.Grow(size + size/8 + 256)
	out := b.AvailableBuffer()
	out = append(out, `{"role":"`...)
	out = reply.Escape(out, m.Role)
	if len(m.ToolCalls) > 0 && size == 0 {
		out = append(out, `","content":null`...) // as OpenAI's own answers have it
	} else {
		out = append(out, `","content":"`...)
		for _, s := range m.Content {
			out = reply.Escape(out, s)
		}
		out = append(out, '"')
	}
	if len(m.ToolCalls) > 0 {
		calls := make([]openai.ToolCall, len(m.ToolCalls))
		for i, t := range m.ToolCalls {
			calls[i] = openai.ToolCall{
				ID: t.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: t.Name, Arguments: t.Arguments},
			}
		}
		made, err := json.Marshal(calls)
		if err != nil {
			return err
		}
		out = append(append(out, `,"tool_calls":`...), made...)
	}
	if m.ToolCallID != "" {
		out = append(out, `,"tool_call_id":"`...)
		out = reply.Escape(out, m.ToolCallID)
		out = append(out, '"')
	}
	b.Write(append(out, '}'))
	return nil
}

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooledBody is the longest request body, in bytes, whose buffer is kept
// for another: those with long attachments are rare.
const maxPooledBody = 64 << 10

// outgoing is a request's body that is let go of while the answer still
// streams: net/http keeps the request, and with it a prompt of many
// kilobytes, until the stream's end.
type outgoing struct {
	size   int
	b      atomic.Pointer[bytes.Buffer]
	newest atomic.Pointer[outgoingReader]
}

func newOutgoing(b *bytes.Buffer) *outgoing {
	o := &outgoing{size: b.Len()}
	o.b.Store(b)
	return o
}

// reader starts at the beginning; net/http asks for another where an idle
// connection turns out to be closed, once it is done with the one before.
func (o *outgoing) reader() (io.ReadCloser, error) {
	r := &outgoingReader{o: o}
	o.newest.Store(r)
	return r, nil
}

// release is called with the answer's header. A body that is still being
// sent is kept.
func (o *outgoing) release() {
	if !o.newest.Load().sent.Load() {
		return
	}
	if b := o.b.Swap(nil); b != nil && b.Cap() <= maxPooledBody {
		bodies.Put(b)
	}
}

type outgoingReader struct {
	o    *outgoing
	read int
	sent atomic.Bool
}

func (r *outgoingReader) Read(p []byte) (int, error) {
	b := r.o.b.Load()
	if b == nil || r.read == r.o.size {
		return 0, io.EOF
	}
	n := copy(p, b.Bytes()[r.read:])
	if r.read += n; r.read == r.o.size {
		r.sent.Store(true)
	}
	return n, nil
}

func (r *outgoingReader) Close() error { return nil }

// learned keeps an endpoint's parameters between requests.
type learned struct{ v atomic.Uint32 }

func (l *learned) get() parameters  { return parameters(l.v.Load()) }
func (l *learned) set(p parameters) { l.v.Store(uint32(p)) }
