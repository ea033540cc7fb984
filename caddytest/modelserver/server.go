// Package modelserver is a fake of an OpenAI-compatible server for tests and
// benchmarks: chat completions, streamed at a pace or with a fault; vectors
// that are near for similar texts; the list of models. It records what it is
// asked.
//
//	srv := modelserver.New()
//	srv.Answer(func(r *modelserver.Request) modelserver.Reply {
//		return modelserver.Reply{Text: "See [Install](https://docs.acme.com/install)."}
//	})
//	url := httptest.NewServer(srv).URL + "/v1"
package modelserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is the fake. Its zero value is not usable: New makes one.
type Server struct {
	mu       sync.Mutex
	answer   func(*Request) Reply
	requests []*Request
	models   []string
	dims     int
	keep     int
	embedded int
}

// New returns a server that answers every question with a short text.
func New() *Server {
	return &Server{
		answer: func(*Request) Reply { return Reply{Text: "This is the answer of the fake model."} },
		models: []string{"fake", "fake-embed"},
		dims:   256,
		keep:   1000,
	}
}

// Answer sets what answers chat completions; it may be called at any time.
func (s *Server) Answer(f func(*Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// Always sets one reply for every question.
func (s *Server) Always(r Reply) { s.Answer(func(*Request) Reply { return r }) }

// Script sets the replies of the next questions, one each; the last one
// stays.
func (s *Server) Script(replies ...Reply) {
	var mu sync.Mutex
	s.Answer(func(*Request) Reply {
		mu.Lock()
		defer mu.Unlock()
		r := replies[0]
		if len(replies) > 1 {
			replies = replies[1:]
		}
		return r
	})
}

// Models sets what GET /v1/models lists.
func (s *Server) Models(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = names
}

// Keep sets how many requests are recorded, the newest; default 1,000.
func (s *Server) Keep(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = n
}

// Requests returns the recorded chat requests, oldest first.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// Last returns the newest chat request, nil if there was none.
func (s *Server) Last() *Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == 0 {
		return nil
	}
	return s.requests[len(s.requests)-1]
}

// Embedded returns the number of texts that were embedded.
func (s *Server) Embedded() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.embedded
}

// Request is one chat request.
type Request struct {
	Model    string    `json:"model"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools"`
	Stream   bool      `json:"stream"`
	User     string    `json:"user"`

	// N counts the chat requests of the server from 1.
	N int `json:"-"`
	// Body is the request's JSON, Fields its members, Header its header.
	Body   []byte                     `json:"-"`
	Fields map[string]json.RawMessage `json:"-"`
	Header http.Header                `json:"-"`

	done      chan struct{}
	mu        sync.Mutex
	cancelled bool
	sent      int
}

// Message is a message of a request.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCallID string     `json:"tool_call_id"`
	ToolCalls  []ToolCall `json:"tool_calls"`
}

// Tool is a tool offered in a request.
type Tool struct {
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// ToolCall is a call in a message of a request or in a Reply.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Call makes a ToolCall.
func Call(id, name, arguments string) ToolCall {
	c := ToolCall{ID: id, Type: "function"}
	c.Function.Name, c.Function.Arguments = name, arguments
	return c
}

// Text joins the contents of all messages of a role.
func (r *Request) Text(role string) string {
	var b strings.Builder
	for _, m := range r.Messages {
		if m.Role == role {
			b.WriteString(m.Content)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Question is the content of the last user message.
func (r *Request) Question() string {
	for _, v := range slices.Backward(r.Messages) {
		if v.Role == "user" {
			return v.Content
		}
	}
	return ""
}

// Done is closed when the request has ended.
func (r *Request) Done() <-chan struct{} { return r.done }

// Cancelled reports, once Done is closed, whether the client went away
// before the reply's end.
func (r *Request) Cancelled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cancelled
}

// Sent returns how many tokens were written so far.
func (r *Request) Sent() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// Reply is how a chat request is answered.
type Reply struct {
	// Text is the answer; it is cut into tokens at white space, so that the
	// tokens joined are the text. Tokens, where given, are sent as they are.
	Text   string
	Tokens []string
	// Reasoning comes before the text, as reasoning_content.
	Reasoning []string
	// ToolCalls come after the text, each with its arguments in two pieces.
	ToolCalls []ToolCall

	// First is the time before the first token, Gap that between two writes;
	// Burst the number of tokens a write, default 1; with no Gap and Burst 0
	// everything is written as fast as it goes, a flush for each token.
	First, Gap time.Duration
	Burst      int

	// Finish is the finish reason, default stop, or tool_calls.
	Finish string
	// NoUsage leaves usage out. Default: input counted at four bytes a token,
	// output the tokens sent.
	NoUsage bool
	// Cached is how many tokens of the input were in a cache.
	Cached int

	// Status other than 200 (or 0) sends Header and Body, and nothing else.
	Status int
	Header http.Header
	// Body is sent as it is instead of a stream: a recorded dialect, HTML.
	// ContentType is its type, default text/event-stream (with a Status:
	// application/json).
	Body        string
	ContentType string

	// Fault happens after After tokens of the text.
	Fault Fault
	After int
	// Hold, if it is not nil, makes the reply wait after After tokens until
	// the channel is closed.
	Hold <-chan struct{}
}

// Fault is what goes wrong in a Reply.
type Fault string

const (
	// Refuse closes the connection before any answer.
	Refuse Fault = "refuse"
	// Hang sends nothing further until the client goes away: with After 0
	// not even headers.
	Hang Fault = "hang"
	// Ping sends comments from then on, but no token.
	Ping Fault = "ping"
	// EmptyDeltas sends chunks without text from then on.
	EmptyDeltas Fault = "empty"
	// Cut closes the connection; End ends the answer regularly, without
	// finish reason and [DONE].
	Cut Fault = "cut"
	End Fault = "end"
	// ErrorObject sends an error in the stream and ends it.
	ErrorObject Fault = "error"
	// HTML answers a page with status 200, Blank a stream without events.
	HTML  Fault = "html"
	Blank Fault = "blank"
	// Repeat sends the text again and again, without end.
	Repeat Fault = "repeat"
)
