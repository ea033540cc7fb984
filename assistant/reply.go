package assistant

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// run is one reply in the making. Each step fills in what the next ones need.
type run struct {
	a     *Assistant
	site  *Settings
	in    *Input
	q     *inquiry
	found *findings
	res   *Result
	out   output

	incomplete func() bool
	key        key

	given     int                             // of the passages found: those in the prompt; tools bring more
	shown     int                             // of the passages found: the sources that are sent before the text
	rewritten func() (text string, sure bool) // waits for the model's words for the question
	exchange  []PromptMessage                 // the model's tool calls so far, and their results
	toolCalls int                             // made so far, for their ids
}

// errReported ends a reply whose error the reader was shown.
var errReported = errors.New("the reply ended with an error event")

func (a *Assistant) newRun(in *Input, sink reply.Sink) *run {
	r := &run{a: a, site: &a.Site, in: in, res: &Result{}, out: output{sink: sink, started: time.Now()}, key: key(rand.Text()[:16])}
	r.incomplete = func() bool { return in.Incomplete != nil && in.Incomplete() }
	r.found = &findings{index: a.Search, budget: cmp.Or(a.PassageTokens, defaultTokens), paths: map[string]string{}}
	if a.Model != nil {
		r.found.publicURL = a.Site.PublicURL
	}
	r.found.links = citation.Rules{URL: a.Site.URL, PageAt: a.Site.PageAt, SupportURL: a.Site.SupportURL, AllowLinks: a.Site.AllowLinks}
	return r
}

// question reads what is asked, and in which conversation.
func (r *run) question(ctx context.Context) error {
	ctx, ended := r.trace(ctx, "question")
	r.q = r.a.inquire(ctx, r.in)
	r.found.q, r.found.links.Current = r.q, r.q.page
	r.res.Question, r.res.Language = r.q.asked, string(r.q.language)
	ended(nil)
	return nil
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
	case r.found.err == nil:
		if r.a.Model == nil {
			r.start()
		}
		query := r.q.query.Text
		if r.q.rewritten {
			query = r.checked(ctx, query)
		}
		r.sendTool("search", "query", query, r.found.passages[:r.shown])
		// Text in the step of a tool call makes clients ask again.
		r.out.stepFinish("tool-calls", reply.Usage{})
		r.out.stepStart()
	case r.a.Model == nil:
		if err := ctx.Err(); err != nil {
			return err
		}
		return fmt.Errorf("%w: %w", ErrNothingToSay, r.found.err)
	default:
		r.res.Failed = r.found.err
		r.res.Notice = "search unavailable"
		r.out.lead = r.say(searchUnavailable) + "\n\n"
		r.log(ctx, "search failed", r.found.err)
	}
	r.sendSources(r.found.passages[:r.shown])
	r.out.flush()
	return nil
}

func (r *run) sendSources(ps []Passage) {
	for i := range ps {
		p := &ps[i]
		p.sent = true
		r.res.Sources = append(r.res.Sources, p.URL)
		r.out.send(reply.Event{Kind: reply.Source, SourceID: p.ID, URL: p.URL, Title: p.Title})
	}
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
	r.res.Answer, r.res.FirstToken, r.res.Passages = r.out.text.String(), r.out.first, len(r.found.passages)
	if len(r.found.passages) > 0 {
		r.res.Nearest = r.found.passages[0].document.Page
	}
	if r.q != nil {
		for _, m := range r.q.earlier {
			r.res.Given = append(r.res.Given, m.Sources...)
		}
		if r.q.page != nil {
			r.res.Given = append(r.res.Given, r.q.page.URL)
		}
	}
	for _, d := range r.found.near {
		r.res.Given = append(r.res.Given, d.URL)
	}
	for _, p := range r.found.passages {
		r.res.Given = append(r.res.Given, p.document.URL)
		if slices.Contains(r.res.Cited, p.ID) && !slices.Contains(r.res.CitedPages, p.document.Page) {
			r.res.CitedPages = append(r.res.CitedPages, p.document.Page)
		}
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
