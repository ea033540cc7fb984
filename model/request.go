package model

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// request is the body of POST /chat/completions.
type request struct {
	Model               string         `json:"model"`
	Stream              bool           `json:"stream"`
	StreamOptions       map[string]any `json:"stream_options,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	User                string         `json:"user,omitempty"`
	Tools               []function     `json:"tools,omitempty"`
	Messages            []message      `json:"messages"`
}

type message struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"` // null beside tool calls; endpoints refuse a message without it
	ToolCalls  []function `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// function is a tool, or a call of one.
type function struct {
	ID       string `json:"id,omitempty"`
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"` // of a tool
		Parameters  json.RawMessage `json:"parameters,omitempty"`  // of a tool
		Arguments   *string         `json:"arguments,omitempty"`   // of a call
	} `json:"function"`
}

// reasoningAllowance is what a reasoning model may think, in tokens, beyond the
// limit of the answer. Its own limit counts both: one that spends all of it on
// thinking returns a blank answer.
const reasoningAllowance = 4096

// parameters are the optional fields of a request to an endpoint. The first set
// depends on its URL and model; one that it refuses is left out from then on.
type parameters uint32

const (
	withUsage         parameters = 1 << iota // stream_options.include_usage
	withMaxTokens                            // max_tokens
	withMaxCompletion                        // max_completion_tokens
	withEffort                               // reasoning_effort low
	withTools
	withUser
	refusedMax // either limit is not tried twice
	refusedCompletion
)

// reasoningModel matches the names of OpenAI's models that refuse max_tokens.
var reasoningModel = regexp.MustCompile(`^(?:.*/)?(?:o[1-9]|gpt-[5-9])(?:$|[-.])`)

func firstParameters(e Endpoint, u *url.URL) parameters {
	host := u.Hostname()
	reasons := reasoningModel.MatchString(e.Model) && !strings.Contains(e.Model, "-chat")
	openAI := host == "api.openai.com" || isAzure(u)
	p := withUsage | withTools
	switch {
	case openAI, reasons && host != "openrouter.ai":
		p |= withMaxCompletion
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

// without returns p without the parameter that a refusal names, p itself if it
// names none. tools reports whether any were sent.
func (p parameters) without(status int, refusal []byte, tools bool) parameters {
	b := strings.ToLower(string(refusal))
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(b, w) })
	}
	if tools && p&withTools != 0 && has("tool", "function call") &&
		has("support", "tool-call-parser", "not permitted", "unrecognized", "unknown", "unexpected") && !has("tool_call_id") {
		return p &^ withTools
	}
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return p
	}
	switch {
	case p&withUsage != 0 && has("stream_options", "include_usage"):
		return p &^ withUsage
	case p&withEffort != 0 && has("reasoning_effort", "reasoning.effort"):
		return p &^ withEffort
	case p&withMaxTokens != 0 && has("max_tokens", "max_completion_tokens"):
		next := p&^withMaxTokens | refusedMax
		unknown := has("max_completion_tokens", "support", "unrecognized", "unknown", "unexpected", "extra", "not permitted")
		if unknown && p&refusedCompletion == 0 {
			next |= withMaxCompletion
		}
		return next
	case p&withMaxCompletion != 0 && has("max_completion_tokens", "max_tokens"):
		next := p&^withMaxCompletion | refusedCompletion
		if p&refusedMax == 0 {
			next |= withMaxTokens
		}
		return next
	case p&withUser != 0 && has(`"user"`, `'user'`, `\"user\"`):
		return p &^ withUser
	}
	return p
}

// body encodes a request. maxTokens is 0 for no limit.
func (e *endpoint) body(p *assistant.Prompt, maxTokens int, params parameters) ([]byte, error) {
	r := request{Model: e.Model, Stream: true, Messages: make([]message, len(p.Messages))}
	if params&withUsage != 0 {
		r.StreamOptions = map[string]any{"include_usage": true}
	}
	if params&withMaxTokens != 0 {
		r.MaxTokens = maxTokens
	}
	if params&withMaxCompletion != 0 && maxTokens > 0 {
		r.MaxCompletionTokens = maxTokens
		if reasoningModel.MatchString(e.Model) || isAzure(e.url) {
			r.MaxCompletionTokens += reasoningAllowance
		}
	}
	if params&withEffort != 0 {
		r.ReasoningEffort = "low"
	}
	if params&withUser != 0 {
		r.User = p.User
	}
	if params&withTools != 0 {
		for _, t := range p.Tools {
			f := function{Type: "function"}
			f.Function.Name, f.Function.Description, f.Function.Parameters = t.Name, t.Description, t.Parameters
			if len(t.Parameters) == 0 {
				f.Function.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
			}
			r.Tools = append(r.Tools, f)
		}
	}
	for i, m := range p.Messages {
		out := message{Role: m.Role, ToolCallID: m.ToolCallID}
		if text := m.Content; text != "" || len(m.ToolCalls) == 0 {
			out.Content = &text
		}
		for _, t := range m.ToolCalls {
			f := function{ID: t.ID, Type: "function"}
			f.Function.Name, f.Function.Arguments = t.Name, &t.Arguments
			out.ToolCalls = append(out.ToolCalls, f)
		}
		r.Messages[i] = out
	}
	return json.Marshal(&r)
}
