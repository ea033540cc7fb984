package assistant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// run is one reply in the making. Each step fills in what the next ones need.
type run struct {
	a       *Assistant
	in      *Input
	res     *Result
	started time.Time
	key     string // of the prompt's fences, unguessable

	out       events
	answer    answer
	reasoning reasoning
	links     citation.Site // what the answer may link to

	q         *inquiry
	passages  []passage             // what the answer may rest on, in the order of their sources
	given     int                   // of passages: those in the prompt; tools bring more
	shown     int                   // of those: the sources that are sent before the text
	near      []*retrieval.Document // further pages that were found
	searchErr error
	rewriting chan rewriting // of the question, nil if there is none

	exchange  []PromptMessage // the model's tool calls so far, and their results
	toolCalls int             // made so far, for their ids
}

// errReported ends a reply whose error the reader was shown.
var errReported = errors.New("the reply ended with an error event")

func (a *Assistant) newRun(in *Input, sink reply.Sink) *run {
	r := &run{a: a, in: in, res: &Result{}, started: time.Now(), key: newKey(), out: events{sink: sink}}
	r.answer.out = &r.out
	r.answer.started = r.started
	r.links = citation.Site{URL: a.Site.URL, SupportURL: a.Site.SupportURL, AllowLinks: a.Site.AllowLinks}
	return r
}

// begin sends the start, before anything else is asked. Without a model the
// request can still be refused if the search fails, so sources does it.
func (r *run) begin(context.Context) error {
	if r.a.Model != nil {
		r.start()
		r.out.flush()
	}
	return nil
}

func (r *run) start() {
	r.out.send(reply.Event{Kind: reply.Start, MessageID: r.in.MessageID, ThreadID: r.in.ThreadID})
	r.out.stepStart()
}

// sources sends the search that was made and the links of its passages.
func (r *run) sources(ctx context.Context) error {
	switch {
	case r.searchErr == nil:
		if r.a.Model == nil {
			r.start()
		}
		query := r.q.query.Text
		if r.q.rewritten {
			query = r.checked(ctx, query)
		}
		r.sendTool("search", "query", query, r.passages[:r.shown])
		// Text in the step of a tool call makes clients ask again.
		r.out.stepFinish("tool-calls", reply.Usage{})
		r.out.stepStart()
	case r.a.Model == nil:
		if err := ctx.Err(); err != nil {
			return err
		}
		return fmt.Errorf("%w: %w", ErrNothingToSay, r.searchErr)
	default:
		r.res.Failed = r.searchErr
		r.res.Notice = "search unavailable"
		r.answer.lead = r.say(searchUnavailable) + "\n\n"
		r.log(ctx, "search failed", r.searchErr)
	}
	r.sendSources(r.passages[:r.shown])
	r.out.flush()
	return nil
}

// incomplete reports whether not every page could be checked for the reader.
func (r *run) incomplete() bool { return r.in.Incomplete != nil && r.in.Incomplete() }

func (r *run) sendSources(ps []passage) {
	for i := range ps {
		p := &ps[i]
		p.sent = true
		r.res.Sources = append(r.res.Sources, p.url)
		r.out.send(reply.Event{Kind: reply.Source, SourceID: p.id, URL: p.url, Title: p.title})
	}
}

// add adds passages that were found and names their sources. It returns those
// that are new.
func (r *run) add(ps []passage) []passage {
	from := len(r.passages)
	for _, p := range ps {
		p.id = "s" + strconv.Itoa(len(r.passages)+1)
		r.passages = append(r.passages, p)
		r.links.Passages = append(r.links.Passages, citation.Passage{Page: p.document, URL: p.url, Title: p.title, Text: p.text})
	}
	r.res.Passages = len(r.passages)
	return r.passages[from:]
}

// finish ends a reply that has its answer.
func (r *run) finish(context.Context) error {
	r.res.Cited = r.cited()
	if r.res.Reason == "" {
		r.res.Reason = "stop"
	}
	r.out.stepFinish(r.res.Reason, r.res.Usage)
	r.res.Incomplete = r.incomplete()
	outcome := r.res.Outcome
	r.out.send(reply.Event{Kind: reply.Finish, Reason: r.res.Reason, Usage: r.res.Usage, Outcome: &outcome})
	r.out.flush()
	return nil
}

// result completes the Result, however far the reply got.
func (r *run) result() *Result {
	r.res.Answer = r.answer.text.String()
	r.res.FirstToken = r.answer.first
	if best := r.byScore(); len(best) > 0 {
		r.res.Nearest = best[0].document.Page
	}
	for _, p := range r.passages {
		if slices.Contains(r.res.Cited, p.id) && !slices.Contains(r.res.CitedPages, p.document.Page) {
			r.res.CitedPages = append(r.res.CitedPages, p.document.Page)
		}
	}
	if r.q != nil {
		r.res.Language = string(r.q.language)
	}
	return r.res
}

// trace begins a traced step; the function that it returns ends it.
func (r *run) trace(ctx context.Context, step string) (context.Context, func(error)) {
	if r.in.Trace == nil {
		return ctx, func(error) {}
	}
	return r.in.Trace(ctx, step)
}

func (r *run) log(ctx context.Context, message string, err error) {
	if r.a.Log == nil {
		return
	}
	r.a.Log.LogAttrs(ctx, slog.LevelWarn, message,
		slog.String("site", r.a.Site.Name), slog.String("request_id", r.in.RequestID), slog.Any("error", err))
}
