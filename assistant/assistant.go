// Package assistant makes a reply: the question in its conversation, the
// passages that answer it, the prompt, the model's stream, the check of its
// links. The steps stand in one file each. It knows no client format
// (package encoding has those) and no Caddy.
package assistant

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Searcher is the part of retrieval.Index that a reply needs. Its Search
// embeds the query itself where the site has an embedder.
type Searcher interface {
	Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error)
	Page(ctx context.Context, page string) (*retrieval.Document, error)
}

// Site is what a reply knows of the site it speaks for.
type Site struct {
	// Name is the site's {domain}; Title what readers call it.
	Name, Title string
	// URL is the site's address, "" where unknown.
	URL string
	// Instructions are the operator's own words for the model.
	Instructions string
	SupportURL   string
	// AllowLinks are hosts besides the site's own that answers may link to.
	AllowLinks []string
	// Version and Language are the site's defaults, "" for none.
	Version, Language string
	// Suggestions ends answers with follow-up questions.
	Suggestions bool
	// StarterQuestions are the operator's own, at most three are used: they
	// end a reply that has no answer, and stand in where Suggestions finds no
	// follow-up question.
	StarterQuestions []string
}

// Assistant replies for one site. It is safe for concurrent use. Model may
// be nil: replies are then extractive.
type Assistant struct {
	Site   Site
	Search Searcher
	// Near tells that Search asks nobody else: a reply's start then goes to
	// the client together with its sources, unless it is to a follow-up.
	Near  bool
	Model Model
	Log   *slog.Logger
	// MaxTokens bounds the model's answer; 0: 1500.
	MaxTokens int
	// PassageTokens bounds the passages given to the model, counted with
	// OpenAI's cl100k_base vocabulary; 0: 6000.
	PassageTokens int
	// Tools says whether the model is offered search and read_page.
	Tools ToolUse
	// Patience is the longest a reply may go on searching before it has to
	// answer from what it found; 0: 20 s.
	Patience time.Duration

	tokens       tokenCache
	ruleParts    []string
	rulesOnce    sync.Once
	noTools      atomic.Bool  // the model refused tools once
	rewriteAfter atomic.Int64 // no rewrites before this time (Unix ns): the last one failed
}

// ToolUse says when the model is offered tools.
type ToolUse uint8

const (
	// ToolsAuto offers tools until the model refuses them once.
	ToolsAuto ToolUse = iota
	ToolsOff
)

// ErrNothingToSay is returned by Reply before anything was sent: there is
// neither a model nor a search to answer from. It wraps the search's error
// (retrieval.ErrNotReady, retrieval.ErrUnavailable).
var ErrNothingToSay = errors.New("neither the model nor the search answers")

// Input is one request to reply to.
type Input struct {
	*reply.Request
	// MessageID and ThreadID go into the start event.
	MessageID, ThreadID string
	// History are the stored turns of the thread, used where the client sent
	// only its newest message. Oldest first.
	History []Turn
	// RequestID stands in every log line of the reply.
	RequestID string
	// Trace, where not nil, is told as each step begins (question, rewrite,
	// retrieval, generate, tools, extract). The step runs with the context
	// that it returns, and calls the function with its error at its end.
	Trace func(ctx context.Context, step string) (context.Context, func(error))
}

// Turn is one question and its answer.
type Turn struct {
	Question, Answer string
	// Sources are the addresses of the passages of the answer.
	Sources []string
}

// Result is what a reply came to, for the thread, the log and the metrics.
// It is complete as far as the reply got, also when Reply returns an error.
type Result struct {
	reply.Outcome
	Turn
	Usage  reply.Usage
	Reason string
	// Extractive is true if the answer quotes instead of coming from a model.
	Extractive bool
	// Failed is the model's or the search's error, if there was one, though
	// the reader got an answer all the same.
	Failed error
	// Retrieval and FirstToken are the times from the start of Reply.
	Retrieval, FirstToken time.Duration
	Passages              int
}
