// Package assistant makes a reply: the question in its conversation, the
// passages that may answer it, the prompt, the model's answer, the check of its
// links. Assistant.Reply lists the steps, each of which is in a file of that
// name. The package knows no client format (package encoding has those).
package assistant

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Assistant replies for one site. It is safe for concurrent use.
type Assistant struct {
	Site   Settings
	Search Searcher
	// Model writes the answers. Without one they are extractive: they quote
	// the passages.
	Model Model
	Log   *slog.Logger
	// MaxTokens bounds the model's answer. Default: 1500.
	MaxTokens int
	// PassageTokens bounds the passages given to the model, estimated
	// by Tokens. Default: 6000.
	PassageTokens int
	// MaxDuration bounds the model's answer in time, with its calls of tools.
	// Default: 5 minutes.
	MaxDuration time.Duration
	// Reasoning says whether clients get the model's reasoning.
	Reasoning bool
	// Patience bounds how long the model may go on searching before it has to
	// answer from what it found. Default: 20 s.
	Patience time.Duration

	rewriteFailed, rewriteSkipped atomic.Int64 // in a row
}

// Reply answers a request through sink. It returns an error only if the
// client is gone (the sink's or ctx's), or, before anything was sent, if
// there is nothing to answer with (ErrNothingToSay). Every other failure is
// reported in the stream and in the Result.
func (a *Assistant) Reply(ctx context.Context, in *Input, sink reply.Sink) (*Result, error) {
	r := a.newRun(in, sink)
	for _, step := range []func(context.Context) error{
		r.begin,    // the client sees that the reply begins
		r.question, // what is asked, in which conversation
		r.rewrite,  // the model begins to make a follow-up question complete
		r.retrieve, // the passages that may answer it
		r.sources,  // the client gets their links
		r.generate, // the model answers; the text is checked as it streams
		r.conclude, // whether the documentation answered, and what was cited
		r.extract,  // without a model's answer, the passages are quoted
		r.suggest,  // questions to go on with
		r.finish,
	} {
		err := step(ctx)
		if err == nil {
			err = r.out.err
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == errReported {
			break
		}
		if err != nil {
			return r.result(), err
		}
	}
	return r.result(), nil
}

// Searcher is the part of retrieval.Index that a reply needs. Its Search
// embeds the query itself where the site has an embedder.
type Searcher interface {
	Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error)
	Page(ctx context.Context, page string) (*retrieval.Document, error)
}

// Settings are what a reply knows about its site.
type Settings struct {
	// Name is the site's {domain}; Title what readers call it.
	Name, Title string
	// URL is the site's own, "" if unknown.
	URL string
	// PageAt names the page at a URL or path, for a group of sites; where there is
	// none, it returns a name of none. Nil: the pages are below URL.
	PageAt func(address string) (page string)
	// Instructions are the operator's additions to the prompt.
	Instructions string
	SupportURL   string
	// PublicURL returns the URL of a page that anyone can open, "" for any other:
	// passages link to these, and to pages that were found. Nil: they have no links.
	PublicURL func(page string) string
	// AllowLinks are hosts besides the site's own that answers may link to.
	AllowLinks []string
	// Version and Language are the site's defaults, "" for none.
	Version, Language string
	// Suggestions ends answers with follow-up questions.
	Suggestions bool
	// SuggestionsFence writes them into the text, as a code block of the
	// language suggestions.
	SuggestionsFence bool
	// StarterQuestions are the operator's; at most three are used. They end a
	// reply that has no answer, and replace Suggestions that find no follow-up
	// question.
	StarterQuestions []string
}

func (s *Settings) pageAt(address string) (page string, ok bool) {
	if s.PageAt != nil {
		return s.PageAt(address), true
	}
	return citation.PageName(address, s.URL)
}

// ErrNothingToSay is returned by Reply before anything was sent: there is
// neither a model nor a search to answer from. It wraps the search's error
// (retrieval.ErrNotReady, retrieval.ErrUnavailable).
var ErrNothingToSay = errors.New("neither the model nor the search is available")

// Input is one request to reply to.
type Input struct {
	*reply.Request
	// MessageID and ThreadID go into the start event.
	MessageID, ThreadID string
	// History are the stored questions and answers of the thread, oldest first. They are used
	// if the client sent only its newest message.
	History []reply.Message
	// SourcesApart is set for clients that always show the sources below the
	// answer: then no list of them is added to an answer without links.
	SourcesApart bool
	// Incomplete, if not nil, reports that the searches so far could not check
	// every page for the reader: the reply then never says that the documentation
	// has nothing.
	Incomplete func() bool
	// RequestID is in every log line of the reply.
	RequestID string
	// Trace, if not nil, is called as each step begins (question, rewrite,
	// retrieval, generate, tools, extract). The step runs with the context
	// that it returns, and calls the function with its error when the step ends.
	Trace func(ctx context.Context, step string) (context.Context, func(error))
}

// Result is what a reply came to, for the thread, the log and the metrics.
// It is complete as far as the reply got, also when Reply returns an error.
type Result struct {
	reply.Outcome
	Question, Answer string
	// Sources are the URLs of the passages of the answer.
	Sources []string
	// Given are the URLs of all pages that the answer may have a text of: those
	// of the prompt, and the sources of the conversation before.
	Given []string

	Usage  reply.Usage
	Reason string
	// Extractive is true if the answer quotes the passages.
	Extractive bool
	// Failed is the error of the model or the search, if there was one, even
	// though the reader got an answer.
	Failed error
	// Retrieval and FirstToken are the times from the start of Reply.
	Retrieval, FirstToken time.Duration
	Passages              int
	// Nearest is the page of the best passage, CitedPages are those that the
	// answer links to.
	Nearest    string
	CitedPages []string
	// Language is the question's, as a code.
	Language string
}
