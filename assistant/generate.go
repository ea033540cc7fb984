package assistant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// errSilent is the error of a model that ends without a word.
var errSilent = errors.New("the model's answer is empty")

// maxRounds is how often the model may call tools before it has to answer.
const maxRounds = 3

// rounds is how far the model has got: it is asked again after each call of
// tools.
type rounds struct {
	prompt *Prompt // the latest, until the answer begins

	n        int // rounds that ended with calls of tools
	deadline time.Time

	// Of the latest one:
	completion *Completion
	tools      bool // were offered
	err        error
}

// generate asks the model and sends its answer as it comes. The caller looks
// at what was sent to know whether an error came before the first word.
func (r *run) generate(ctx context.Context) error {
	r.check = newChecker(ctx, r)
	r.rounds.deadline = time.Now().Add(cmp.Or(r.a.Patience, defaultPatience))
	for {
		r.stream(ctx)
		if done, err := r.ended(ctx); done {
			return err
		}
	}
}

// ended looks at how a round ended: the reply is done, or its tools are used
// and the model is to be asked again.
func (r *run) ended(ctx context.Context) (done bool, err error) {
	c, err := r.rounds.completion, r.rounds.err
	if err != nil && r.rounds.tools && r.rounds.n == 0 && r.out.answer.Len() == 0 && refusesTools(err) {
		r.a.noTools.Store(true)
		return false, nil
	}
	if err != nil {
		return true, err
	}
	r.account(c)
	if len(c.ToolCalls) == 0 || !r.rounds.tools {
		r.check.close()
		if r.out.err != nil {
			return true, nil
		}
		if r.out.answer.Len() == 0 {
			return true, errSilent
		}
		r.res.Reason = c.Reason
		if r.res.Reason == "tool-calls" || r.res.Reason == "" {
			r.res.Reason = "stop" // nothing is called any more
		}
		r.conclude()
		return true, nil
	}
	r.check.pause()
	r.useTools(ctx, c.ToolCalls)
	r.rounds.n++
	return r.out.err != nil || ctx.Err() != nil, ctx.Err()
}

// stream asks the model once. The prompt is let go of as soon as the answer
// begins: it is the largest part of what a stream holds, and a further round
// makes it anew.
func (r *run) stream(ctx context.Context) {
	p := r.nextPrompt()
	r.rounds.prompt, r.rounds.tools = p, len(p.Tools) > 0
	r.rounds.completion, r.rounds.err = r.a.Model.Stream(ctx, p, r.pass)
}

// nextPrompt is the prompt with the calls of tools so far. The last time the
// model is offered no tools, and told to answer.
func (r *run) nextPrompt() *Prompt {
	p := r.first
	if r.first = nil; p == nil {
		p = r.prompt()
	}
	p.Messages = append(p.Messages, r.exchange...)
	if n := r.rounds.n; n == maxRounds || n > 0 && time.Now().After(r.rounds.deadline) {
		p.Tools = nil
		p.Messages = append(p.Messages, PromptMessage{
			Role:    "user",
			Content: Content{"Answer now from what you have found. No more searches are possible."},
		})
	}
	return p
}

// pass passes a piece of the answer on.
func (r *run) pass(d *Delta) error {
	if p := r.rounds.prompt; p != nil {
		p.Messages, p.Tools = nil, nil
		r.rounds.prompt = nil
	}
	if len(d.Reasoning) > 0 {
		r.out.reasoning(d.Reasoning)
	}
	if len(d.Text) > 0 {
		r.check.write(d.Text)
	}
	if !d.More {
		r.out.flush()
	}
	return r.out.err
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

// conclude judges a finished answer: whether the documentation answered, and
// which of its identifiers nobody has seen.
func (r *run) conclude() {
	r.res.Unverified = r.unverified()
	cited := len(r.cited()) > 0
	switch {
	case r.check.links.unanswered && cited && len(r.passages) > 0 && r.out.answer.Len() > 600:
		r.res.Answered = "partly"
	case r.check.links.unanswered, len(r.passages) == 0:
		r.res.Answered = "no"
	case cited:
		r.res.Answered = "yes"
	case unanswered(r.byScore(), r.askedTerms(), r.q.language):
		r.res.Answered = "no"
	default:
		r.res.Answered = "partly"
	}
	if r.check.links.unanswered && !cited {
		r.nearest()
	} else if !cited && len(r.passages) > 0 {
		r.nameSources()
	}
}

// nameSources ends an answer that cites nothing with the passages it was
// given.
func (r *run) nameSources() {
	r.out.text(reply.Escape(nil, "\n\n"+r.q.language.say(sourcesLabel)+r.firstPages()))
}

// firstPages is a list of the pages of the first three passages, a line each.
func (r *run) firstPages() string {
	var list strings.Builder
	for i := range r.passages[:min(3, len(r.passages))] {
		p := &r.passages[i]
		list.WriteString("\n- " + linkTo(p.title, p.url))
	}
	return list.String()
}

// nearest ends a reply that found no answer with the pages that are near,
// and with the way to help.
func (r *run) nearest() {
	text := ""
	if len(r.passages) > 0 {
		text = "\n" + r.firstPages()
	}
	r.out.text(reply.Escape(nil, text+r.support()))
}

// support is the paragraph that names the support address, if there is one.
func (r *run) support() string {
	u := r.a.Site.SupportURL
	if u == "" {
		return ""
	}
	return "\n\n" + fmt.Sprintf(r.q.language.say(askSupport), "["+plainAddress(u, false)+"]("+forMarkdown(u)+")")
}

// linkTo is a Markdown link.
func linkTo(title, url string) string {
	return "[" + forLinkText(title) + "](" + forMarkdown(url) + ")"
}

var linkTextEscapes = strings.NewReplacer("\\", "\\\\", "[", "\\[", "]", "\\]", "<", "&lt;", "&", "&amp;", "`", "\\`", "*", "\\*", "!", "\\!", "\n", " ")

// forLinkText writes plain text so that it is plain text in Markdown too. An
// underscore inside a word is none of Markdown's signs.
func forLinkText(s string) string {
	s = linkTextEscapes.Replace(s)
	if strings.IndexByte(s, '_') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '_' && !(i > 0 && isAlnum(s[i-1]) && i+1 < len(s) && isAlnum(s[i+1])) {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
