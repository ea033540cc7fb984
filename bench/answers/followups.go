package answers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval/eval"
)

// rewriter is a model that rewrites follow-up questions.
type rewriter struct {
	text string
	err  error
}

func (r rewriter) Name() string { return "rewriter" }

func (r rewriter) Stream(_ context.Context, _ *assistant.Prompt, each func(*assistant.Delta) error) (*assistant.Completion, error) {
	if r.err != nil {
		return nil, r.err
	}
	return &assistant.Completion{Model: "rewriter"}, each(&assistant.Delta{Text: []byte(r.text)})
}

// way is a way to ask the second question of a conversation.
// slack is how far recall after a first question may be below that of the same
// question asked outright: two conversations of the set.
const slack = .03

type way struct {
	name     string
	target   bool // at most slack below outright
	outright bool
	alone    bool // without the first turn
	history  bool // only the server has the first turn
	model    func(c *conversation) assistant.Model
}

var errDown = fmt.Errorf("connection refused: %w", assistant.ErrModel)

func ways() []way {
	says := func(text func(c *conversation) string) func(*conversation) assistant.Model {
		return func(c *conversation) assistant.Model { return rewriter{text: text(c)} }
	}
	return []way{
		{name: "asked outright", outright: true},
		{name: "follow-up, no model", target: true},
		{name: "follow-up, no model, history on the server only", target: true, history: true},
		{name: "follow-up, rewritten well", target: true, model: says(func(c *conversation) string { return c.Outright })},
		{name: "follow-up, rewriter is down", target: true, model: func(*conversation) assistant.Model { return rewriter{err: errDown} }},
		{name: "follow-up, rewriter repeats it", target: true, model: says(func(c *conversation) string { return c.Follow })},
		{name: "follow-up, rewriter apologises", target: true, model: says(func(*conversation) string { return "I'm sorry, but I can't help with that request." })},
		{name: "follow-up, rewriter repeats the first question", model: says(func(c *conversation) string { return c.First })},
		{name: "follow-up without its conversation", alone: true},
	}
}

// followUps measures recall@5: the share of the relevant pages that are among
// the pages of the five passages.
func (s *suite) followUps(ctx context.Context, out io.Writer, worst bool) error {
	s.table = tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(s.table, "\nFOLLOW-UPS, %d conversations\tRECALL@5\tTARGET\t\n", len(s.conversations))
	before := 0.0
	var misses []string
	for _, w := range ways() {
		recall, missed, err := s.recall(ctx, w)
		if err != nil {
			return err
		}
		if w.outright {
			before = recall
		}
		target := ""
		if w.target {
			target = fmt.Sprintf("≥ %.3f", before-slack)
		}
		s.row(w.name, fmt.Sprintf("%.3f (%+.3f)", recall, recall-before), target, recall >= before-slack)
		for _, m := range missed {
			misses = append(misses, w.name+": "+m)
		}
	}
	s.table.Flush()
	if worst {
		fmt.Fprintln(out, "\n"+strings.Join(misses, "\n"))
	}
	return nil
}

func (s *suite) recall(ctx context.Context, w way) (mean float64, missed []string, err error) {
	for i := range s.conversations {
		c := &s.conversations[i]
		in, err := s.second(ctx, c, w)
		if err != nil {
			return 0, nil, err
		}
		a := s.assistant(nil)
		if w.model != nil {
			a.Model = w.model(c)
		}
		e, err := a.Explain(ctx, in)
		if err != nil {
			return 0, nil, err
		}
		var found []string
		for _, p := range e.Passages[:min(5, len(e.Passages))] {
			found = append(found, p.URL)
		}
		found = eval.Pages(found)
		hit := 0
		for _, r := range c.Relevant {
			if slices.ContainsFunc(strings.Split(r, "|"), func(p string) bool { return slices.Contains(found, eval.Page(p)) }) {
				hit++
			}
		}
		mean += float64(hit) / float64(len(c.Relevant))
		if hit < len(c.Relevant) {
			missed = append(missed, fmt.Sprintf("%q after %q, searched as %q: %v, not %v", c.Follow, c.First, e.Query, found, c.Relevant))
		}
	}
	return mean / float64(len(s.conversations)), missed, nil
}

// second returns the request of the second turn. The first turn is answered by
// an extractive reply, which the request contains as clients send it.
func (s *suite) second(ctx context.Context, c *conversation, w way) (*assistant.Input, error) {
	switch {
	case w.outright:
		return asking(c.Outright), nil
	case w.alone:
		return asking(c.Follow), nil
	}
	first := &sink{}
	res, err := s.assistant(nil).Reply(ctx, asking(c.First), first)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("answering %q", c.First), err)
	}
	if w.history {
		in := asking(c.Follow)
		in.History = []reply.Message{{Role: reply.User, Text: c.First}, {Role: reply.Assistant, Text: res.Answer, Sources: res.Sources}}
		return in, nil
	}
	return asking(c.Follow,
		reply.Message{Role: reply.User, Text: c.First},
		reply.Message{Role: reply.Assistant, Text: res.Answer, Sources: first.sources}), nil
}
