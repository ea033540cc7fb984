package assistant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	defaultMaxTokens = 1500
	defaultPatience  = 20 * time.Second
	defaultDuration  = 5 * time.Minute

	// maxRounds is how often the model may call tools before it has to answer.
	maxRounds = 3
)

// generate has the model answer. If it fails before its first word, the reply
// continues without it.
func (r *run) generate(ctx context.Context) error {
	if r.a.Model == nil {
		return nil
	}
	traced, ended := r.trace(ctx, "generate")
	timed, cancel := context.WithTimeout(traced, cmp.Or(r.a.MaxDuration, defaultDuration))
	err := r.askModel(timed)
	if err != nil && ctx.Err() == nil && timed.Err() != nil {
		err = r.cutOff()
	}
	cancel()
	ended(err)
	if err == nil || r.out.err != nil || ctx.Err() != nil {
		return nil // Reply looks at the client
	}
	r.res.Failed = errors.Join(r.res.Failed, err)
	if r.out.text.Len() > 0 {
		// Half an answer is not followed by another one, nor by a clean end.
		r.log(ctx, "the model failed during its answer", err)
		return r.report(streamBroke)
	}
	r.log(ctx, "the model failed", err)
	if r.found.err != nil {
		return r.report(cannotAnswer)
	}
	r.res.Notice = "model unavailable"
	return nil
}

// cutOff ends an answer that takes too long. What was written stays.
func (r *run) cutOff() error {
	r.out.end()
	if r.out.text.Len() == 0 {
		return fmt.Errorf("no answer within max_duration: %w", ErrModel)
	}
	r.res.Reason = "length"
	return nil
}

// report ends the reply with an error that the reader is shown.
func (r *run) report(phrase string) error {
	r.res.Reason = "error"
	code := "broke_off"
	if phrase == cannotAnswer {
		code = "unavailable"
	}
	r.out.send(reply.Event{Kind: reply.Error, Code: code, Message: r.say(phrase)})
	r.out.flush()
	return errReported
}

// askModel asks the model, again after each call of tools, and sends its
// answer.
func (r *run) askModel(ctx context.Context) error {
	r.out.answer.links = r.found.checker(ctx)
	if r.a.Reasoning {
		r.out.thoughts.links = r.found.checker(ctx)
	}
	deadline := time.Now().Add(cmp.Or(r.a.Patience, defaultPatience))
	for round := 0; ; round++ {
		last := round == maxRounds || round > 0 && time.Now().After(deadline)
		tools := !last && r.found.err == nil
		p := r.prompt(tools)
		if last { // in the last result, since roles must alternate
			p.Messages[len(p.Messages)-1].Content += "\n\nAnswer now from what you have found. No more searches are possible."
		}
		c, err := r.a.Model.Stream(ctx, p, func(d *Delta) error {
			// The prompt is the largest part of a reply: it goes as soon as the
			// answer begins.
			p.Messages, p.Tools = nil, nil
			return r.out.pass(d)
		})
		if err != nil {
			return err
		}
		r.account(c)
		r.out.end()
		if r.out.err != nil {
			return r.out.err
		}
		if len(c.ToolCalls) == 0 || !tools {
			if r.out.text.Len() == 0 {
				return errors.New("the model's answer is empty")
			}
			r.res.Reason = c.Reason
			if c.Reason == "tool-calls" {
				r.res.Reason = "stop" // nothing is called any more
			}
			return nil
		}
		r.useTools(ctx, c.ToolCalls)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

func (r *run) account(c *Completion) {
	r.res.Model = c.Model
	r.res.Usage.Add(c.Usage)
}

// lookupTime bounds how long the reader waits for the check of a link: the
// index may be on another server.
const lookupTime = 500 * time.Millisecond

// checker returns the check of a text's links.
func (f *findings) checker(ctx context.Context) *citation.Checker {
	f.links.Page = func(name string) *retrieval.Document {
		ctx, cancel := context.WithTimeout(ctx, lookupTime)
		defer cancel()
		d, err := f.index.Page(ctx, name)
		if err != nil {
			return nil // a page that is not known to exist is not linked
		}
		return d
	}
	return citation.NewChecker(&f.links)
}
