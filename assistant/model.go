package assistant

import (
	"context"
	"errors"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// Model is a chat model that streams. Package model has the implementation.
type Model interface {
	// Stream asks the model and calls each for every delta. It returns when the
	// reply is complete, or with an error: one that wraps ErrModel if it comes
	// from the model, ctx's, or each's. Part of the reply may have been passed
	// to each before an error.
	Stream(ctx context.Context, p *Prompt, each func(*Delta) error) (*Completion, error)
	// Name is the model's name as configured.
	Name() string
}

// Prompt is one request to a model.
type Prompt struct {
	Messages []PromptMessage
	// Tools the model may call; none for a plain answer.
	Tools []Tool
	// MaxTokens bounds the answer; 0 leaves it to the model's configuration.
	MaxTokens int
	// User is a stable hash of the reader, "" if unknown.
	User string
}

// PromptMessage is one message to the model.
type PromptMessage struct {
	// Role is system, user, assistant or tool.
	Role    string `json:"role"`
	Content string `json:"content"`
	// ToolCalls are the calls that an assistant message made.
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	// ToolCallID is the call that a tool message answers.
	ToolCallID string `json:"toolCallId,omitempty"`
}

// Tool is a function that the model may call. Parameters is a JSON schema.
type Tool struct {
	Name, Description string
	Parameters        []byte
}

// ToolCall is a call that the model made. Arguments is a JSON object, as the
// model wrote it: it may be malformed.
type ToolCall struct {
	ID, Name  string
	Arguments string
}

// Delta is a piece of a reply. Text and Reasoning are whole characters and valid
// only during the call. An empty Delta says that
// nothing further has arrived yet, so that what was sent is flushed to the client.
type Delta struct {
	Text, Reasoning []byte
	// More says that an empty Delta follows before the next wait. Without it the
	// Delta is flushed at once.
	More bool
}

// Completion is what a model reports at the end of a reply.
type Completion struct {
	// Model is the model that answered (the configured one or a fallback).
	Model string
	// Reason is the finish reason, as in reply.Event.
	Reason    string
	Usage     reply.Usage
	ToolCalls []ToolCall
}

// ErrModel is wrapped by every error of a model: unreachable, refused,
// too slow, cut off, nonsense.
var ErrModel = errors.New("the model failed")
