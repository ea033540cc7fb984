// Package reply has what goes into an assistant's reply (Request) and what comes
// out of it (Event), in no client's format. The encoding packages decode
// requests of both protocol versions into the one and encode the other.
package reply

import "github.com/caddy-docs/caddy-docs/retrieval"

// Kind says what an Event is; the comment names the fields it uses.
type Kind uint8

const (
	Start      Kind = iota + 1 // MessageID, ThreadID: once, first
	StepStart                  // a step begins (model call, search)
	StepFinish                 // Reason, Usage
	ToolCall                   // ToolCallID, ToolName, JSON (the input, an object)
	ToolResult                 // ToolCallID, ToolName, JSON (the output, any value)
	Source                     // SourceID, URL, Title
	Reasoning                  // Text: a piece of the model's reasoning
	Text                       // Text: a piece of the answer
	Data                       // Name, JSON: v2 data-Name part, v1 entry of a 2: line
	Error                      // Message: a sentence for the reader; only the end follows
	Finish                     // Reason, Usage, Outcome: once, last, unless Error came
)

// Event is one event of a reply. Kind says which fields are used. The sender
// may reuse an Event and what it points to after Send returns.
type Event struct {
	Kind Kind

	// Text is a piece of text of whole characters.
	Text []byte

	MessageID, ThreadID  string
	ToolCallID, ToolName string
	SourceID, URL, Title string
	Name                 string // of Data
	JSON                 []byte // input, output or data
	Message              string // of Error
	Code, RequestID      string // of Error, in the message's metadata; "" for none
	Reason               string // stop, length, content-filter, tool-calls, error, other
	Usage                Usage
	Outcome              *Outcome
}

// Usage counts a model's tokens; Known is false where the model gave none.
type Usage struct {
	InputTokens, OutputTokens int
	// CachedTokens are those of InputTokens that the provider had read before.
	CachedTokens int
	Known        bool
}

// Add adds the tokens of another request, where they are known.
func (u *Usage) Add(more Usage) {
	if more.Known {
		u.InputTokens += more.InputTokens
		u.OutputTokens += more.OutputTokens
		u.CachedTokens += more.CachedTokens
		u.Known = true
	}
}

// Outcome describes a finished reply, in the finish event's metadata. Zero
// fields are left out.
type Outcome struct {
	// Answered is yes, partly or no: whether the documentation answered.
	Answered string `json:"answered,omitempty"`
	// Model is the model that answered, "extractive" without one.
	Model string `json:"model,omitempty"`
	// Cited are the ids of the sources that the answer links to.
	Cited []string `json:"cited,omitempty"`
	// Unverified are identifiers in the answer's code that are in none of the
	// passages.
	Unverified []string `json:"unverified,omitempty"`
	// Notice is what failed though there is an answer: "search unavailable" or
	// "model unavailable".
	Notice string `json:"notice,omitempty"`
	// Incomplete is true if not every page could be checked for the reader.
	Incomplete bool `json:"incomplete,omitzero"`
}

// Sink takes the events of a reply, in order.
type Sink interface {
	// Send takes one event. It may hold it back until Flush. An error means
	// that the client is gone.
	Send(e *Event) error
	// Flush sends what Send held back to the client.
	Flush() error
}

// Request is what a client asks of the assistant, read leniently and checked.
type Request struct {
	// Fingerprint is the client's fp, never empty; "anonymous" identifies no
	// reader.
	Fingerprint string
	// ThreadID is the body's threadId, else that of the last assistant
	// message's metadata or annotations; "" for a new thread. Only its form has
	// been checked.
	ThreadID string
	// ThreadKey is the body's threadKey, "" if it has none.
	ThreadKey string
	// ChatID is the chat hook's own id, "" if the client sent none.
	ChatID string
	// Messages are the conversation, in order. The last user message is the
	// question, and its text is not empty.
	Messages []Message
	// PageSize is the number of passages wanted, 1–50, default 5.
	PageSize int
	Filter   retrieval.Filter
	Context  []Context
	// CurrentPath is the page the reader is on, at most 200 characters.
	CurrentPath string
	// Transport is true if the body has a trigger: the mark of an AI SDK
	// transport, whose finish event must carry nothing but messageMetadata.
	Transport bool
	// QuestionID is the chat hook's id of the question. It is the same when the
	// question is edited or asked again. "" if the body is not a hook's: other
	// clients give the same id to all questions.
	QuestionID string
	// Regenerate is true if the client asks for another answer to the same
	// question.
	Regenerate bool
}

// Role is who speaks.
type Role uint8

const (
	User Role = iota + 1
	Assistant
	// Note is a system or data message: the application's notes, given to the
	// model fenced and untrusted, never as instructions.
	Note
)

// Message is one message of the conversation.
type Message struct {
	ID   string
	Role Role
	// Text is at most 100,000 characters; "" for a message that has only
	// parts that are not read.
	Text string
	// Attachments are files that came with the message.
	Attachments []Attachment
	// Sources are the URLs of the sources of an earlier answer.
	Sources []string
}

// Attachment is a file in a message. Text holds at most 20,000 characters of
// a text/* data URL; it is "" for other types, which are only named.
type Attachment struct{ Name, MediaType, Text string }

// Context is extra context that the client passes: type code or
// textSelection.
type Context struct{ Type, Value, Path, ElementID string }
