package assistant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// run is one reply in the making. With hundreds of streams nothing of one is
// in the processor's cache when its next token comes: what every token touches
// stands together, here and in what run holds.
type run struct {
	checker checker  // where check stands
	check   *checker // nil before there is an answer
	lead    string   // a sentence of ours before the answer's first word
	first   *Prompt  // made before the model is asked for the first time
	rounds  rounds
	out     stream

	a   *Assistant
	in  *Input
	res *Result

	key         string // of the prompt's fences
	q           *inquiry
	passages    []passage       // what the answer may rest on, in the order of their sources
	spentTokens int             // by earlier searches of this reply
	given       int             // of the passages, those in the prompt; tools bring more
	exchange    []PromptMessage // the model's calls of tools so far, and their results
	toolCalls   int             // made so far, for their ids
	searchErr   error           // the search's, where there was one
}

// Defaults of Assistant.
const (
	defaultMaxTokens = 1500
	defaultPatience  = 20 * time.Second
	defaultPageSize  = 5
)

// Reply answers a request through sink. It returns an error only if the
// client is gone (the sink's or ctx's), or, before anything was sent, if
// there is nothing to answer with (ErrNothingToSay). Everything else that
// goes wrong is told in the stream and in the Result.
func (a *Assistant) Reply(ctx context.Context, in *Input, sink reply.Sink) (*Result, error) {
	r := a.newRun(in, sink)
	if a.Model == nil {
		r.understand(ctx)
		return r.res, r.replyExtractive(ctx)
	}
	return r.res, r.replyModel(ctx)
}

// understand finds out what is asked.
func (r *run) understand(ctx context.Context) {
	ctx, ended := r.step(ctx, "question")
	r.q = r.question(ctx)
	r.res.Question = r.q.asked
	ended(nil)
}

func (a *Assistant) newRun(in *Input, sink reply.Sink) *run {
	return &run{
		a: a, in: in, key: newKey(),
		out: stream{sink: sink, started: time.Now()},
		res: &Result{},
	}
}

// replyExtractive answers without a model. The search comes before the first
// event: where it can't answer either, the HTTP side still can say so.
func (r *run) replyExtractive(ctx context.Context) error {
	r.retrieve(ctx)
	if r.searchErr != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		return fmt.Errorf("%w: %w", ErrNothingToSay, r.searchErr)
	}
	r.begin()
	r.tellSearch(r.q.query.Text)
	r.beginAnswer()
	r.extract(ctx, "")
	return r.finish(ctx)
}

func (r *run) replyModel(ctx context.Context) error {
	r.prepare(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}

	sctx, ended := r.step(ctx, "generate")
	err := r.generate(sctx)
	ended(err)
	return r.settle(ctx, err)
}

// settle ends a reply whose model has ended, one way or another.
func (r *run) settle(ctx context.Context, err error) error {
	if r.out.err != nil || ctx.Err() != nil {
		return r.end(ctx)
	}
	switch {
	case err == nil:
		return r.finish(ctx)
	case r.out.answer.Len() > 0:
		// Half an answer is not followed by another one, nor by a clean end.
		r.res.Failed = err
		r.res.Reason = "error"
		r.log(ctx, "the model broke off", err)
		r.out.send(reply.Event{Kind: reply.Error, Message: r.q.language.say(streamBroke)})
		r.out.flush()
		return r.end(ctx)
	}
	r.res.Failed = errors.Join(r.res.Failed, err)
	r.log(ctx, "the model failed; the reply is extractive", err)
	if r.searchErr != nil {
		r.res.Reason = "error"
		r.out.send(reply.Event{Kind: reply.Error, Message: r.q.language.say(cannotAnswer)})
		r.out.flush()
		return r.end(ctx)
	}
	r.res.Notice = "model unavailable"
	r.extract(ctx, r.q.language.say(modelUnavailable))
	return r.finish(ctx)
}

// prepare does all that comes before the model is asked.
func (r *run) prepare(ctx context.Context) {
	// The client sees a reply begin before anything is asked of others.
	r.begin()
	if !r.a.Near {
		r.out.flush()
	}
	r.understand(ctx)
	if len(r.q.earlier) > 0 {
		r.out.flush() // rewrite may ask the model
	}
	r.rewrite(ctx)
	r.retrieve(ctx)
	if ctx.Err() != nil {
		return
	}
	if r.searchErr == nil {
		r.tellSearch(r.q.query.Text)
	} else {
		r.res.Failed = r.searchErr
		r.res.Notice = "search unavailable"
		r.lead = r.q.language.say(searchUnavailable) + "\n\n"
		r.log(ctx, "searching for a reply", r.searchErr)
	}
	r.beginAnswer()
	r.out.flush()
	r.first = r.prompt()
}

// retrieve searches the passages of the answer.
func (r *run) retrieve(ctx context.Context) {
	ctx, ended := r.step(ctx, "retrieval")
	n := r.in.PageSize
	if n <= 0 {
		n = defaultPageSize
	}
	ps, err := r.search(ctx, r.q.query, min(n, 50))
	r.searchErr = err
	r.q.own = nil // made again at the end: it need not be kept while the model talks
	r.take(ps)
	r.given = len(r.passages)
	r.res.Retrieval = time.Since(r.out.started)
	ended(err)
}

// take adds passages found, which are the run's from then on, and names their
// sources. It returns those that are new.
func (r *run) take(ps []passage) []passage {
	from := len(r.passages)
	if from == 0 {
		r.passages = ps
	} else {
		r.passages = append(r.passages, ps...)
	}
	r.res.Sources = slices.Grow(r.res.Sources, len(ps))
	for i := from; i < len(r.passages); i++ {
		p := &r.passages[i]
		p.id = "s" + strconv.Itoa(i+1)
		r.spentTokens += p.tokens
		r.res.Sources = append(r.res.Sources, p.url)
	}
	r.res.Passages = len(r.passages)
	return r.passages[from:]
}

func (r *run) begin() {
	r.out.send(reply.Event{Kind: reply.Start, MessageID: r.in.MessageID, ThreadID: r.in.ThreadID})
	r.out.stepStart()
}

// beginAnswer ends the step of the search and begins that of the text, with
// the sources. Text in the step of a tool call makes clients ask again.
func (r *run) beginAnswer() {
	if r.searchErr == nil {
		r.out.stepFinish("tool-calls", reply.Usage{})
		r.out.stepStart()
	}
	r.tellSources(r.passages)
}

func (r *run) tellSources(ps []passage) {
	for i := range ps {
		p := &ps[i]
		r.out.send(reply.Event{Kind: reply.Source, SourceID: p.id, URL: p.url, Title: p.title})
	}
}

// finish ends a reply that has its answer.
func (r *run) finish(ctx context.Context) error {
	r.res.Cited = r.cited()
	if r.res.Reason == "" {
		r.res.Reason = "stop"
	}
	r.suggest()
	r.out.stepFinish(r.res.Reason, r.res.Usage)
	outcome := r.res.Outcome
	r.out.send(reply.Event{Kind: reply.Finish, Reason: r.res.Reason, Usage: r.res.Usage, Outcome: &outcome})
	r.out.flush()
	return r.end(ctx)
}

// end completes the Result, however far the reply got.
func (r *run) end(ctx context.Context) error {
	r.res.Answer = string(reply.Unescape(nil, r.out.answer.Bytes()))
	r.res.FirstToken = r.out.first
	if r.out.err != nil {
		return r.out.err
	}
	return ctx.Err()
}

// step begins a step; the function that it returns ends it.
func (r *run) step(ctx context.Context, name string) (context.Context, func(error)) {
	if r.in.Trace == nil {
		return ctx, func(error) {}
	}
	return r.in.Trace(ctx, name)
}

func (r *run) log(ctx context.Context, what string, err error) {
	if r.a.Log == nil {
		return
	}
	r.a.Log.LogAttrs(ctx, slog.LevelWarn, what,
		slog.String("site", r.a.Site.Name), slog.String("request_id", r.in.RequestID), slog.Any("error", err))
}
