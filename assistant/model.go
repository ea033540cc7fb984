package assistant

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// Model is a chat model that streams. Package model has the implementation.
type Model interface {
	// Stream asks the model and calls each for every piece that comes. It
	// returns once the reply is whole, or with an error: one that wraps
	// ErrModel if it has to do with the model, ctx's error, or each's.
	// After an error the caller knows from its own calls of each whether
	// anything came.
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
	// User is a stable hash of who asks, "" for no one.
	User string
}

// PromptMessage is one message to the model.
type PromptMessage struct {
	// Role is system, user, assistant or tool.
	Role    string  `json:"role"`
	Content Content `json:"content"`
	// ToolCalls are the calls that an assistant message made.
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	// ToolCallID is the call that a tool message answers.
	ToolCallID string `json:"toolCallId,omitempty"`
}

// Content is a text in pieces, one after the other: a prompt quotes passages
// of many kilobytes, which need not be copied for it.
type Content []string

// String is the whole text.
func (c Content) String() string { return strings.Join(c, "") }

// Len is the text's length in bytes.
func (c Content) Len() int {
	n := 0
	for _, s := range c {
		n += len(s)
	}
	return n
}

// MarshalJSON writes the text as a JSON string.
func (c Content) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// UnmarshalJSON reads a JSON string.
func (c *Content) UnmarshalJSON(b []byte) error {
	var s string
	err := json.Unmarshal(b, &s)
	*c = Content{s}
	return err
}

func (c *Content) add(pieces ...string) { *c = append(*c, pieces...) }

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

// Delta is a piece of a reply. Text and Reasoning are in the form of
// reply.Event.Text and valid only during the call. An empty Delta says that
// no further whole piece has come yet: what was held back until then goes to
// the client now.
type Delta struct {
	Text, Reasoning []byte
	// More promises an empty Delta before anything is waited for. Without it
	// each piece goes to the client at once.
	More bool
}

// Completion is what is known at the end of a reply.
type Completion struct {
	// Model is the model that answered (the configured one or a fallback).
	Model string
	// Reason is the finish reason in reply.Event's words.
	Reason    string
	Usage     reply.Usage
	ToolCalls []ToolCall
}

// ErrModel is wrapped by every error of a model: unreachable, refused,
// too slow, cut off, nonsense.
var ErrModel = errors.New("the model failed")
