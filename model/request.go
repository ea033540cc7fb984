package model

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// request is the body of POST /chat/completions. Its messages are not
// go-openai's, which leave empty content out: some endpoints refuse a message
// without the field (DeepSeek does, even with tool calls).
type request struct {
	openai.ChatCompletionRequest
	Messages []message `json:"messages"`
}

type message struct {
	Role       string            `json:"role"`
	Content    *string           `json:"content"` // null with tool calls
	ToolCalls  []openai.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
}

// reasoningAllowance is how many tokens a reasoning model may spend on thinking,
// beyond the limit of the answer. max_completion_tokens counts both: a model that
// spends all of it on thinking returns a blank answer.
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
	withSystem // a message with the role system
	refusedMax // neither limit is tried twice
	refusedCompletion
)

// reasoningModel matches the names of OpenAI's models that refuse max_tokens.
var reasoningModel = regexp.MustCompile(`^(?:.*/)?(?:o[1-9]|gpt-[5-9])(?:$|[-.])`)

func firstParameters(e Endpoint, u *url.URL) parameters {
	host := u.Hostname()
	reasons := reasoningModel.MatchString(e.Model) && !strings.Contains(e.Model, "-chat")
	openAI := host == "api.openai.com" || isAzure(u)
	p := withUsage | withTools | withSystem
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

// without returns p without the parameter that a refusal names, or p itself if it
// names none. tools says whether any were sent.
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
	case p&withSystem != 0 && has("system role"): // the template of Gemma 2
		return p &^ withSystem
	case p&withUser != 0 && has(`"user"`, `'user'`, `\"user\"`):
		return p &^ withUser
	}
	return p
}

// body encodes a request. maxTokens is 0 for no limit.
func (e *endpoint) body(p *assistant.Prompt, maxTokens int, params parameters) []byte {
	var r request
	r.Model, r.Stream = e.Model, true
	if params&withUsage != 0 {
		r.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if params&withMaxTokens != 0 {
		r.MaxTokens = maxTokens //nolint:staticcheck // deprecated by OpenAI only
	}
	if params&withMaxCompletion != 0 && maxTokens > 0 {
		r.MaxCompletionTokens = maxTokens
		if reasoningModel.MatchString(e.Model) || isAzure(e.url) {
			r.MaxCompletionTokens += reasoningAllowance
		}
	}
	if params&withEffort != 0 {
		r.ReasoningEffort = openai.ReasoningEffortLow
	}
	if params&withUser != 0 {
		r.User = p.User
	}
	if params&withTools != 0 {
		for _, t := range p.Tools {
			r.Tools = append(r.Tools, openai.Tool{
				Type:     openai.ToolTypeFunction,
				Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: json.RawMessage(t.Parameters)},
			})
		}
	}
	messages := p.Messages
	if params&withSystem == 0 && len(messages) > 1 && messages[0].Role == "system" {
		messages = slices.Clone(messages[1:])
		messages[0].Content = p.Messages[0].Content + "\n\n" + messages[0].Content
	}
	r.Messages = make([]message, len(messages))
	for i, m := range messages {
		out := message{Role: m.Role, ToolCallID: m.ToolCallID}
		if m.Content != "" || len(m.ToolCalls) == 0 {
			out.Content = &m.Content
		}
		for _, t := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
				ID: t.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: t.Name, Arguments: t.Arguments},
			})
		}
		r.Messages[i] = out
	}
	body, _ := json.Marshal(r) // can't fail: the schemas of tools are constants
	return body
}
