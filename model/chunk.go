package model

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// errNotJSON is the error of a chunk that is not JSON.
var errNotJSON = errors.New("not JSON")

// lenient reads what endpoints send, names twice and broken characters
// included.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func isJSON(b []byte) bool { return jsontext.Value(b).IsValid(lenient) }

func isNull(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

// first returns the first value that is not null, nil if there is none.
func first(values ...jsontext.Value) jsontext.Value {
	for _, v := range values {
		if !isNull(v) {
			return v
		}
	}
	return nil
}

// elements returns the elements of an array, none of any other value.
func elements(array jsontext.Value) (all []jsontext.Value) {
	_ = json.Unmarshal(array, &all, lenient)
	return all
}

// plain returns the text of a JSON string, and any other value as it is
// written.
func plain(v jsontext.Value) string {
	if v.Kind() != '"' {
		return string(v)
	}
	text, _ := jsontext.AppendUnquote(nil, v)
	return string(text)
}

// chunk is a chunk of a reply, or a whole completion, in the dialects of all
// vendors. What differs between them is left as JSON.
type chunk struct {
	Choices []struct {
		Index   jsontext.Value `json:"index"`
		Delta   *piece         `json:"delta"`
		Message *piece         `json:"message"`
		Text    jsontext.Value `json:"text"`
		Finish  jsontext.Value `json:"finish_reason"`
		Error   jsontext.Value `json:"error"`
	} `json:"choices"`
	Usage jsontext.Value `json:"usage"`
	Error jsontext.Value `json:"error"`
	Groq  struct {
		Usage jsontext.Value `json:"usage"`
		Error jsontext.Value `json:"error"`
	} `json:"x_groq"`
	// Of servers whose errors have no "error".
	Message jsontext.Value `json:"message"`
	Detail  jsontext.Value `json:"detail"`
	Type    string         `json:"type"`
	Object  string         `json:"object"`
}

// piece is what a choice adds to the reply.
type piece struct {
	Content jsontext.Value `json:"content"`
	Refusal jsontext.Value `json:"refusal"`
	// The reasoning, under the names of the vendors; some send the same under
	// two of them.
	ReasoningContent jsontext.Value `json:"reasoning_content"`
	Reasoning        jsontext.Value `json:"reasoning"`
	Thinking         jsontext.Value `json:"thinking"`
	ReasoningDetails jsontext.Value `json:"reasoning_details"`

	ToolCalls []toolCall `json:"tool_calls"`
	// Function is OpenAI's older form of a tool call.
	Function *function `json:"function_call"`
}

// toolCall is a piece of a tool call.
type toolCall struct {
	Index    *int     `json:"index"`
	ID       string   `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name string `json:"name"`
	// Arguments is a string, or with some servers the object itself.
	Arguments jsontext.Value `json:"arguments"`
}

// chunk reads a chunk.
func (s *stream) chunk(b []byte) error {
	if b[0] == '[' { // Gemini wraps its errors
		if !isJSON(b) {
			return errNotJSON
		}
		for _, element := range elements(b) {
			if err := s.chunk(element); err != nil {
				return err
			}
		}
		return nil
	}
	var c chunk
	if err := json.Unmarshal(b, &c, lenient); err != nil {
		if _, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			return errNotJSON
		}
		return s.e.fail(Malformed, "unexpected chunk: %.200s", b)
	}
	usage := first(c.Usage, c.Groq.Usage)
	switch {
	case !isNull(c.Groq.Error):
		return s.failBody(c.Groq.Error)
	case !isNull(c.Error), c.Choices == nil && usage == nil && (!isNull(c.Message) || !isNull(c.Detail) || c.Type == "error" || c.Object == "error"):
		return s.failBody(b)
	case usage != nil:
		s.usage = usage
	}
	for _, choice := range c.Choices {
		if !isNull(choice.Index) && string(choice.Index) != "0" {
			continue // only the first one is asked for
		}
		if !isNull(choice.Error) {
			return s.failBody(choice.Error)
		}
		for _, p := range []*piece{choice.Delta, choice.Message, {Content: choice.Text}} {
			if err := s.piece(p); err != nil {
				return err
			}
		}
		if !isNull(choice.Finish) {
			s.setFinish(plain(choice.Finish))
		}
	}
	return nil
}

func (s *stream) piece(p *piece) error {
	if p == nil {
		return nil
	}
	for _, call := range p.ToolCalls {
		if err := s.toolCall(call); err != nil {
			return err
		}
	}
	if p.Function != nil {
		if err := s.toolCall(toolCall{Index: new(int), Function: *p.Function}); err != nil {
			return err
		}
	}
	if err := s.content(first(p.ReasoningContent, p.Reasoning, p.Thinking, p.ReasoningDetails), true); err != nil {
		return err
	}
	if err := s.content(p.Content, false); err != nil {
		return err
	}
	return s.refusal(p.Refusal)
}

func (s *stream) refusal(b jsontext.Value) error {
	text := s.unquote(b)
	s.refused = s.refused || len(text) > 0
	return s.text(text)
}

// content reads what a content field holds: a string, a part, or an array of
// either, such as Mistral's text and thinking.
func (s *stream) content(b jsontext.Value, reasoning bool) error {
	switch b.Kind() {
	case '"':
		if reasoning {
			return s.reasoning(s.unquote(b))
		}
		return s.text(s.unquote(b))
	case '[':
		for _, part := range elements(b) {
			if err := s.content(part, reasoning); err != nil {
				return err
			}
		}
	case '{':
		var part struct {
			Type     jsontext.Value `json:"type"`
			Text     jsontext.Value `json:"text"`
			Thinking jsontext.Value `json:"thinking"`
			Refusal  jsontext.Value `json:"refusal"`
		}
		if err := json.Unmarshal(b, &part, lenient); err != nil {
			return s.e.fail(Malformed, "unexpected content: %.200s", b)
		}
		kind := plain(part.Type)
		if err := s.content(part.Thinking, true); err != nil {
			return err
		}
		if err := s.content(part.Text, reasoning || kind == "thinking" || strings.HasPrefix(kind, "reasoning")); err != nil {
			return err
		}
		return s.refusal(part.Refusal)
	}
	return nil
}

// unquote returns the text of a JSON string, nil of any other value. Some
// servers split an emoji between two chunks: the first half of a surrogate pair
// at the end waits for the second.
func (s *stream) unquote(b jsontext.Value) []byte {
	if b.Kind() != '"' {
		return nil
	}
	if s.half != "" {
		b = append([]byte(`"`+s.half), b[1:]...)
		s.half = ""
	}
	if n := len(b) - len(`\uD83D"`); n > 0 && b[n] == '\\' && b[n+1] == 'u' && b[n+2]|0x20 == 'd' && strings.IndexByte("89abAB", b[n+3]) >= 0 {
		before := bytes.TrimRight(b[:n], `\`)
		if (n-len(before))%2 == 0 { // the backslash is not escaped itself
			s.half = string(b[n : len(b)-1])
			b = append(b[:n:n], '"')
		}
	}
	text, _ := jsontext.AppendUnquote(nil, b)
	return text
}

// Bounds of what a model may call in one reply.
const (
	maxToolCalls = 64
	maxArguments = 64 << 10
)

// pendingCall is a tool call that is still streaming.
type pendingCall struct {
	index int
	assistant.ToolCall
}

// toolCall joins a piece of a tool call to the call it belongs to: by index;
// without one, or where an endpoint gives every call the same index (Gemini),
// a new id begins a new call.
func (s *stream) toolCall(d toolCall) error {
	var call *pendingCall
	switch n := len(s.calls); {
	case d.Index != nil:
		for i := n - 1; i >= 0 && call == nil; i-- {
			if c := s.calls[i]; c.index == *d.Index && (d.ID == "" || c.ID == "" || c.ID == d.ID) {
				call = c
			}
		}
	case d.ID != "":
		for _, c := range s.calls {
			if c.ID == d.ID {
				call = c
			}
		}
	case n > 0 && (d.Function.Name == "" || !isJSON([]byte(s.calls[n-1].Arguments))):
		call = s.calls[n-1]
	}
	if call == nil {
		if len(s.calls) == maxToolCalls {
			return s.e.fail(Malformed, "more than %d tool calls", maxToolCalls)
		}
		call = &pendingCall{index: len(s.calls)}
		if d.Index != nil {
			call.index = *d.Index
		}
		s.calls = append(s.calls, call)
	}
	if call.ID == "" {
		call.ID = d.ID
	}
	if call.Name == "" {
		call.Name = d.Function.Name
	}
	if !isNull(d.Function.Arguments) {
		call.Arguments += plain(d.Function.Arguments)
	}
	s.progress = s.progress || s.begun
	if len(call.Arguments) > maxArguments {
		return s.e.fail(Malformed, "arguments of a tool call longer than %d bytes", maxArguments)
	}
	return nil
}

func (s *stream) toolCalls() []assistant.ToolCall {
	var calls []assistant.ToolCall
	for i, c := range s.calls {
		if c.Name == "" {
			continue
		}
		if c.ID == "" {
			c.ID = fmt.Sprintf("call%05d", i) // Mistral's template refuses any other length
		}
		if strings.TrimSpace(c.Arguments) == "" {
			c.Arguments = "{}"
		}
		calls = append(calls, c.ToolCall)
	}
	return calls
}

// setFinish maps a vendor's finish reason to the words of reply.Event.
func (s *stream) setFinish(reason string) {
	switch strings.ToLower(reason) {
	case "":
		return // LM Studio and others send "" before the end
	case "stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete":
		s.finish = "stop"
	case "length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded":
		s.finish = "length"
	case "tool_calls", "tool_call", "function_call", "tool_use":
		s.finish = "tool-calls"
	case "content_filter", "safety", "recitation", "refusal", "prohibited_content", "blocklist", "spii":
		s.finish = "content-filter"
	case "error", "insufficient_system_resource", "abort", "network_error":
		s.finish = "error"
	default:
		s.finish = "other"
	}
	s.wait(min(finishTimeout, s.idle))
}

// readUsage reads a usage object in OpenAI's, Anthropic's or DeepSeek's words.
func readUsage(b []byte) (u reply.Usage) {
	var raw struct {
		Prompt     *int `json:"prompt_tokens"`
		Completion *int `json:"completion_tokens"`
		Input      *int `json:"input_tokens"`
		Output     *int `json:"output_tokens"`
		Details    struct {
			Cached *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CacheRead *int `json:"cache_read_input_tokens"`
		CacheHit  *int `json:"prompt_cache_hit_tokens"`
	}
	if json.Unmarshal(b, &raw, lenient) != nil {
		return u
	}
	first := func(counts ...*int) int {
		for _, n := range counts {
			if n != nil && *n >= 0 {
				u.Known = true
				return *n
			}
		}
		return 0
	}
	u.InputTokens = first(raw.Prompt, raw.Input)
	u.OutputTokens = first(raw.Completion, raw.Output)
	if u.Known {
		u.CachedTokens = first(raw.Details.Cached, raw.CacheRead, raw.CacheHit)
		if raw.Prompt == nil {
			u.InputTokens += u.CachedTokens // Anthropic counts them apart
		}
		u.CachedTokens = min(u.CachedTokens, u.InputTokens)
	}
	return u
}

// failBody returns the error that an error object in the stream describes.
func (s *stream) failBody(b []byte) error {
	e := parseError(b)
	kind := ServerError
	switch code := fmt.Sprint(e.Code); {
	case code == "429" || e.Type == "rate_limit_error" || code == "rate_limit_exceeded":
		kind = RateLimited
	case code == "401" || code == "403" || code == "invalid_api_key":
		kind = Unauthorized
	case e.Type == "invalid_request_error" || code == "400" || code == "context_length_exceeded":
		kind = BadRequest
	}
	return s.e.fail(kind, "%s", describe(e))
}
