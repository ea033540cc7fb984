package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// chunk is a chunk, or a whole completion, as the slow path reads it. What
// vendors shape differently stays raw at first.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	XGroq   struct {
		Usage json.RawMessage `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"x_groq"`
	Error json.RawMessage `json:"error"`
	Type  json.RawMessage `json:"type"`
	// Message and Detail are errors of servers that know no "error".
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
	Object  json.RawMessage `json:"object"`
}

type choice struct {
	Index        json.RawMessage `json:"index"`
	Delta        *message        `json:"delta"`
	Message      *message        `json:"message"`
	Text         json.RawMessage `json:"text"`
	FinishReason json.RawMessage `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
}

type message struct {
	Content          json.RawMessage `json:"content"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	Thinking         json.RawMessage `json:"thinking"`
	ReasoningDetails []part          `json:"reasoning_details"`
	Refusal          json.RawMessage `json:"refusal"`
	ToolCalls        []toolDelta     `json:"tool_calls"`
	FunctionCall     *function       `json:"function_call"`
}

// part is an element of a content array: Mistral's text and thinking.
type part struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"`
	Thinking json.RawMessage `json:"thinking"`
	Refusal  json.RawMessage `json:"refusal"`
}

type toolDelta struct {
	Index    *int     `json:"index"`
	ID       string   `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name string `json:"name"`
	// Arguments is a string, or with some servers the object itself.
	Arguments json.RawMessage `json:"arguments"`
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// inside returns the inside of a raw JSON string, "" for anything else.
// Invalid UTF-8 becomes U+FFFD.
func inside(raw json.RawMessage) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	raw = raw[1 : len(raw)-1]
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	return raw
}

// parts calls text and reasoning for what a content field holds: a string,
// an array of parts, or one part.
func (s *stream) parts(raw json.RawMessage, reasoning bool) error {
	raw = bytes.TrimSpace(raw)
	if isNull(raw) {
		return nil
	}
	switch raw[0] {
	case '"':
		if reasoning {
			return s.reasoning(inside(raw))
		}
		return s.text(inside(raw))
	case '{':
		raw = append(append([]byte{'['}, raw...), ']')
	case '[':
	default:
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return s.fail(Nonsense, err)
	}
	for _, item := range list {
		if item = bytes.TrimSpace(item); len(item) > 0 && item[0] == '"' {
			if err := s.parts(item, reasoning); err != nil {
				return err
			}
			continue
		}
		var p part
		if json.Unmarshal(item, &p) != nil {
			continue // a kind of part that is not text
		}
		if err := s.part(p, reasoning); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) part(p part, reasoning bool) error {
	if !isNull(p.Thinking) {
		return s.parts(p.Thinking, true)
	}
	if !isNull(p.Refusal) {
		s.refused = true
		return s.text(inside(p.Refusal))
	}
	if isNull(p.Text) {
		return nil
	}
	return s.parts(p.Text, reasoning || strings.HasPrefix(p.Type, "reasoning") || p.Type == "thinking")
}

// slow reads any chunk with encoding/json. It reports malformed JSON as
// ok == false, so that the lines of an event that has several can be joined.
func (s *stream) slow(b []byte) (ok bool, err error) {
	var c chunk
	if !json.Valid(b) {
		if b = repair(b); !json.Valid(b) {
			return false, nil
		}
	}
	if err := json.Unmarshal(b, &c); err != nil {
		// Valid JSON, though not of this shape: an error in its own words
		// (an array, a bare string), or nonsense.
		if bytes.Contains(b, []byte(`"error"`)) {
			return true, s.failBody(b)
		}
		return true, s.fail(Nonsense, fmt.Errorf("unexpected chunk: %w", err))
	}
	if !isNull(c.Error) || !isNull(c.XGroq.Error) {
		if isNull(c.Error) {
			return true, s.failBody(c.XGroq.Error)
		}
		return true, s.failBody(b)
	}
	if c.Choices == nil && isNull(c.Usage) && (string(c.Type) == `"error"` || string(c.Object) == `"error"` || !isNull(c.Detail) || !isNull(c.Message)) {
		return true, s.failBody(b)
	}
	s.life(false)
	for _, u := range []json.RawMessage{c.XGroq.Usage, c.Usage} {
		if !isNull(u) {
			s.usage = append(s.usage[:0], u...)
		}
	}
	for i := range c.Choices {
		if index := c.Choices[i].Index; !isNull(index) && string(index) != "0" {
			continue
		}
		if err := s.choice(&c.Choices[i]); err != nil {
			return true, err
		}
	}
	return true, nil
}

func (s *stream) choice(c *choice) error {
	if !isNull(c.Error) {
		return s.failBody(c.Error)
	}
	for _, m := range []*message{c.Delta, c.Message} {
		if m == nil {
			continue
		}
		if err := s.message(m); err != nil {
			return err
		}
	}
	if err := s.parts(c.Text, false); err != nil {
		return err
	}
	if !isNull(c.FinishReason) {
		s.setFinish(plain(c.FinishReason))
	}
	return nil
}

func (s *stream) message(m *message) error {
	reasoned := false
	for _, r := range []json.RawMessage{m.ReasoningContent, m.Reasoning, m.Thinking} {
		if !isNull(r) && !reasoned {
			reasoned = true
			if err := s.parts(r, true); err != nil {
				return err
			}
		}
	}
	if !reasoned {
		for _, p := range m.ReasoningDetails {
			if err := s.part(p, true); err != nil {
				return err
			}
		}
	}
	if err := s.parts(m.Content, false); err != nil {
		return err
	}
	if r := inside(m.Refusal); len(r) > 0 {
		s.refused = true
		if err := s.text(r); err != nil {
			return err
		}
	}
	for i := range m.ToolCalls {
		if err := s.tool(&m.ToolCalls[i]); err != nil {
			return err
		}
	}
	if m.FunctionCall != nil {
		zero := 0
		return s.tool(&toolDelta{Index: &zero, Function: *m.FunctionCall})
	}
	return nil
}

// finishReasons maps vendors' words to those of reply.Event.
var finishReasons = map[string]string{
	"stop": "stop", "end_turn": "stop", "stop_sequence": "stop", "eos": "stop", "eos_token": "stop", "complete": "stop",
	"length": "length", "max_tokens": "length", "model_length": "length", "max_output_tokens": "length", "model_context_window_exceeded": "length",
	"tool_calls": "tool-calls", "tool_call": "tool-calls", "function_call": "tool-calls", "tool_use": "tool-calls",
	"content_filter": "content-filter", "safety": "content-filter", "recitation": "content-filter", "refusal": "content-filter",
	"prohibited_content": "content-filter", "blocklist": "content-filter", "spii": "content-filter",
	"error": "error", "insufficient_system_resource": "error", "abort": "error", "network_error": "error",
}

func (s *stream) setFinish(reason string) {
	if reason == "" {
		return // LM Studio and others send "" before the end
	}
	r := finishReasons[strings.ToLower(reason)]
	if r == "" {
		r = "other"
	}
	s.finish = r
	s.finished()
}

// readUsage reads the last usage object seen, in OpenAI's or Anthropic's
// words.
func readUsage(b []byte) (u reply.Usage) {
	if len(b) == 0 {
		return u
	}
	var raw struct {
		Prompt     *int `json:"prompt_tokens"`
		Completion *int `json:"completion_tokens"`
		Input      *int `json:"input_tokens"`
		Output     *int `json:"output_tokens"`
	}
	if json.Unmarshal(b, &raw) != nil {
		return u
	}
	for _, f := range []struct {
		to   *int
		from []*int
	}{{&u.InputTokens, []*int{raw.Prompt, raw.Input}}, {&u.OutputTokens, []*int{raw.Completion, raw.Output}}} {
		for _, n := range f.from {
			if n != nil && *n >= 0 {
				*f.to, u.Known = *n, true
				break
			}
		}
	}
	return u
}

// repair mends what makes JSON strings of careless servers invalid: raw
// control characters become escapes, escapes that don't exist U+FFFD.
func repair(b []byte) []byte {
	out := make([]byte, 0, len(b)+16)
	in := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case !in:
			in = c == '"'
			out = append(out, c)
		case c == '"':
			in = false
			out = append(out, c)
		case c == '\\':
			n := 2
			if at(b, i+1) == 'u' {
				n = 6
			}
			if end, ok := text(append(append([]byte{}, b[i:min(i+n, len(b))]...), '"'), 0); ok && end == n {
				out = append(out, b[i:i+n]...)
				i += n - 1
			} else {
				out = append(out, `\ufffd`...)
				if at(b, i+1) >= 'a' { // a letter that means nothing
					i++
				}
			}
		case c < ' ':
			out = fmt.Appendf(out, `\u%04x`, c)
		default:
			out = append(out, c)
		}
	}
	return out
}
