package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding/rawjson"
)

// errNotJSON is the error of a chunk that is not JSON.
var errNotJSON = errors.New("not JSON")

// chunk reads a chunk of a reply, or a whole completion, in the dialect of any
// vendor.
func (s *stream) chunk(b []byte) error {
	if b[0] != '{' {
		if !rawjson.Valid(b) {
			return errNotJSON
		}
		if b[0] != '[' {
			return s.e.fail(Malformed, "unexpected chunk: %.200s", b)
		}
		for element := range rawjson.Elements(b) { // Gemini wraps its errors
			if err := s.chunk(element); err != nil {
				return err
			}
		}
		return nil
	}
	var choices, usage, groqError []byte
	isError, otherError := false, false
	isObject := rawjson.Object(b, func(key, value []byte) {
		switch string(key) {
		case "choices":
			choices = value
		case "usage":
			usage = value
		case "error":
			isError = !isNull(value)
		case "x_groq":
			for key, value := range rawjson.Members(value) {
				switch {
				case isNull(value):
				case string(key) == "usage":
					usage = value
				case string(key) == "error":
					groqError = value
				}
			}
		case "message", "detail": // servers without an "error"
			otherError = otherError || !isNull(value)
		case "type", "object":
			otherError = otherError || string(value) == `"error"`
		}
	})
	if !isObject {
		return errNotJSON
	}
	if groqError != nil {
		return s.failBody(groqError)
	}
	if isError || otherError && choices == nil && isNull(usage) {
		return s.failBody(b)
	}
	if !isNull(usage) {
		s.usage = append(s.usage[:0], usage...)
	}
	for choice := range rawjson.Elements(choices) {
		if err := s.choice(choice); err != nil {
			return err
		}
	}
	return nil
}

// choice reads a choice. Only the first one is asked for.
func (s *stream) choice(b []byte) error {
	var delta, message, text, finish []byte
	for key, value := range rawjson.Members(b) {
		switch string(key) {
		case "index":
			if string(value) != "0" && !isNull(value) {
				return nil
			}
		case "delta":
			delta = value
		case "message":
			message = value
		case "text":
			text = value
		case "finish_reason":
			finish = value
		case "error":
			if !isNull(value) {
				return s.failBody(value)
			}
		}
	}
	for _, m := range [][]byte{delta, message} {
		if err := s.message(m); err != nil {
			return err
		}
	}
	if err := s.content(text, false); err != nil {
		return err
	}
	if !isNull(finish) {
		s.setFinish(plain(finish))
	}
	return nil
}

func (s *stream) message(b []byte) error {
	var content, reasoning, details, refusal []byte
	for key, value := range rawjson.Members(b) {
		switch string(key) {
		case "content":
			content = value
		case "reasoning_content", "reasoning", "thinking":
			if isNull(reasoning) { // some send the same under two names
				reasoning = value
			}
		case "reasoning_details":
			details = value
		case "refusal":
			refusal = value
		case "tool_calls":
			for call := range rawjson.Elements(value) {
				if err := s.toolCall(call); err != nil {
					return err
				}
			}
		case "function_call": // OpenAI's older form of a tool call
			if !isNull(value) {
				if err := s.toolCall(fmt.Appendf(nil, `{"index":0,"function":%s}`, value)); err != nil {
					return err
				}
			}
		}
	}
	if isNull(reasoning) {
		reasoning = details
	}
	if err := s.content(reasoning, true); err != nil {
		return err
	}
	if err := s.content(content, false); err != nil {
		return err
	}
	return s.refusal(refusal)
}

func (s *stream) refusal(b []byte) error {
	text := inside(b)
	s.refused = s.refused || len(text) > 0
	return s.text(text)
}

// content reads what a content field holds: a string, a part, or an array of
// either, such as Mistral's text and thinking.
func (s *stream) content(b []byte, reasoning bool) error {
	switch {
	case isNull(b):
	case b[0] == '"' && reasoning:
		return s.reasoning(inside(b))
	case b[0] == '"':
		return s.text(inside(b))
	case b[0] == '[':
		for part := range rawjson.Elements(b) {
			if err := s.content(part, reasoning); err != nil {
				return err
			}
		}
	case b[0] == '{':
		var text, thinking, refusal []byte
		for key, value := range rawjson.Members(b) {
			switch string(key) {
			case "text":
				text = value
			case "thinking":
				thinking = value
			case "refusal":
				refusal = value
			case "type":
				reasoning = reasoning || string(value) == `"thinking"` || bytes.HasPrefix(value, []byte(`"reasoning`))
			}
		}
		if err := s.content(thinking, true); err != nil {
			return err
		}
		if err := s.content(text, reasoning); err != nil {
			return err
		}
		return s.refusal(refusal)
	}
	return nil
}

// inside returns what is between the quotes of a JSON string, nil for any
// other value. Invalid UTF-8 becomes U+FFFD.
func inside(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	raw = raw[1 : len(raw)-1]
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	return raw
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
func (s *stream) toolCall(b []byte) error {
	var d struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name string `json:"name"`
			// Arguments is a string, or with some servers the object itself.
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return s.e.fail(Malformed, "unexpected tool call: %v", err)
	}
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
	case n > 0 && (d.Function.Name == "" || !rawjson.Valid([]byte(s.calls[n-1].Arguments))):
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
			c.ID = fmt.Sprintf("call_%d", i)
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

// readUsage reads a usage object in OpenAI's or Anthropic's words.
func readUsage(b []byte) (u reply.Usage) {
	var raw struct {
		Prompt     *int `json:"prompt_tokens"`
		Completion *int `json:"completion_tokens"`
		Input      *int `json:"input_tokens"`
		Output     *int `json:"output_tokens"`
	}
	if json.Unmarshal(b, &raw) != nil {
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
