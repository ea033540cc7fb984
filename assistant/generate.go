package assistant

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// errSilent is the error of a model that ends without a word.
var errSilent = errors.New("the model's answer is empty")

// maxRounds is how often the model may call tools before it has to answer.
const maxRounds = 3

// generate asks the model and sends its answer as it comes. The caller looks
// at what was sent to know whether an error came before the first word.
func (r *run) generate(ctx context.Context) error {
	p := r.prompt()
	r.check = newChecker(ctx, r)
	deadline := time.Now().Add(cmp.Or(r.a.Patience, defaultPatience))
	for round := 0; ; round++ {
		c, err := r.stream(ctx, p)
		if err != nil && len(p.Tools) > 0 && round == 0 && len(r.out.answer) == 0 && refusesTools(err) {
			r.a.noTools.Store(true)
			p = r.prompt()
			c, err = r.stream(ctx, p)
		}
		if err != nil {
			return err
		}
		r.account(c)
		if len(c.ToolCalls) == 0 || len(p.Tools) == 0 {
			r.check.close()
			if r.out.err != nil {
				return nil
			}
			if len(r.out.answer) == 0 {
				return errSilent
			}
			r.res.Reason = c.Reason
			if r.res.Reason == "tool-calls" || r.res.Reason == "" {
				r.res.Reason = "stop" // nothing is called any more
			}
			r.conclude()
			return nil
		}
		r.check.pause()
		r.useTools(ctx, p, c.ToolCalls)
		if r.out.err != nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if round+1 == maxRounds || time.Now().After(deadline) {
			p.Tools = nil
			p.Messages = append(p.Messages, PromptMessage{Role: "user",
				Content: "Answer now from what you have found. No more searches are possible."})
		}
	}
}

// stream asks the model once.
func (r *run) stream(ctx context.Context, p *Prompt) (*Completion, error) {
	out, check := r.out, r.check
	return r.a.Model.Stream(ctx, p, func(d *Delta) error {
		if len(d.Reasoning) > 0 {
			out.reasoning(d.Reasoning)
		}
		if len(d.Text) > 0 {
			check.write(d.Text)
			if check.leaked {
				return errLeak
			}
		}
		if !d.More {
			out.flush()
		}
		return out.err
	})
}

func (r *run) account(c *Completion) {
	r.res.Model = c.Model
	if c.Usage.Known {
		r.res.Usage = reply.Usage{
			InputTokens:  r.res.Usage.InputTokens + c.Usage.InputTokens,
			OutputTokens: r.res.Usage.OutputTokens + c.Usage.OutputTokens,
			Known:        true,
		}
	}
}
