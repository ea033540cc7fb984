package site

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/model"
	"github.com/caddy-docs/caddy-docs/store"
)

// Budget is a site's budget. Configurations share it: a reload gives
// nothing back.
type Budget struct {
	*model.Budget
	site string
	log  *slog.Logger

	// longest is the longest answer so far, in tokens: models that think spend
	// more than max_tokens, and a reservation must not be too low.
	longest atomic.Int64
	refused atomic.Uint64
	warned  atomic.Int64 // the window that a warning was given for, in Unix seconds
}

// NewBudget makes the budget of a site.
func NewBudget(name string, limit model.Limit, in store.Store, log *slog.Logger) *Budget {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return &Budget{Budget: model.NewBudget(ctx, name, limit, in, log), site: name, log: log}
}

// storeTimeout bounds one access to the storage outside of requests.
const storeTimeout = 5 * time.Second

// spent reports whether the budget is spent. A nil budget never is.
func (b *Budget) spent() bool {
	if b == nil {
		return false
	}
	tokens, requests, until := b.Left()
	if tokens != 0 && requests != 0 {
		return false
	}
	b.refuse(until)
	return true
}

// refuse counts a reply that the budget kept from the model, and warns of it
// once a window.
func (b *Budget) refuse(until time.Time) {
	b.refused.Add(1)
	if w := until.Unix(); b.warned.Swap(w) != w {
		b.log.Warn("the site's budget is spent; replies are extractive until the next window",
			"site", b.site, "until", until, "budget", describeLimit(b.Limit()))
	}
}

// describeLimit formats a limit as the Caddyfile has it.
func describeLimit(l model.Limit) string {
	var amounts []string
	if l.Tokens > 0 {
		amounts = append(amounts, fmt.Sprintf("%d tokens", l.Tokens))
	}
	if l.Requests > 0 {
		amounts = append(amounts, fmt.Sprintf("%d requests", l.Requests))
	}
	per := " per day"
	if l.Per == time.Hour {
		per = " per hour"
	}
	return strings.Join(amounts, " and ") + per
}

// sitesModel is a site's model. Its requests are spans, and all count towards
// the site's budget, also those that rewrite a question and those after a tool
// call.
type sitesModel struct {
	assistant.Model
	budget *Budget // nil: no bound
	answer int     // the most tokens of an answer, if the prompt has no limit
}

// Stream asks the model. It reserves the most that the request can cost, and
// settles what it did cost: an estimate if the model reports no usage, or one that
// can't be.
func (m *sitesModel) Stream(ctx context.Context, p *assistant.Prompt, each func(*assistant.Delta) error) (*assistant.Completion, error) {
	b, prompt, answer, written := m.budget, promptTokens(p), cmp.Or(p.MaxTokens, m.answer), 0
	var ticket *model.Ticket
	if b != nil {
		if ticket = b.Take(prompt + max(int64(answer), b.longest.Load())); ticket == nil {
			_, _, until := b.Left()
			b.refuse(until)
			return nil, fmt.Errorf("%w: the site's budget is spent", assistant.ErrModel)
		}
	}
	completion, err := m.ask(ctx, p, func(d *assistant.Delta) error {
		written += assistant.Tokens(d.Text) + assistant.Tokens(d.Reasoning)
		return each(d)
	})
	if err == nil && !credible(completion.Usage, prompt, int64(answer), int64(written)) {
		completion.Usage = reply.Usage{}
	}
	switch {
	case b == nil:
	case err == nil && completion.Usage.Known:
		output := int64(completion.Usage.OutputTokens)
		b.longest.Store(max(output, b.longest.Load()))
		ticket.Spend(int64(completion.Usage.InputTokens) + output)
	case err != nil && written == 0 && model.Free(err):
		ticket.Cancel()
	default:
		ticket.Spend(prompt + int64(written))
	}
	return completion, err
}

const (
	// mostThoughts is how many tokens a model may spend on thoughts that it doesn't
	// send, and mostHidden how many an endpoint may add to a prompt.
	mostThoughts = 200_000
	mostHidden   = 20_000
	// estimateError is how many times too low an estimate may be.
	estimateError = 4
)

// credible reports whether a usage can be that of a prompt and an answer of so many
// tokens, by estimate: answer are the most, and written those that came.
func credible(u reply.Usage, prompt, answer, written int64) bool {
	return u.InputTokens > 0 && int64(u.InputTokens) <= estimateError*prompt+mostHidden &&
		u.OutputTokens >= 0 && (u.OutputTokens > 0 || written == 0) && int64(u.OutputTokens) <= estimateError*(answer+written)+mostThoughts
}

// ask asks the model within a span.
func (m *sitesModel) ask(ctx context.Context, p *assistant.Prompt, each func(*assistant.Delta) error) (*assistant.Completion, error) {
	ctx, s := observe.Span(ctx, "docs.model", attribute.String("gen_ai.request.model", m.Name()))
	c, err := m.Model.Stream(ctx, p, each)
	if c != nil {
		s.SetAttributes(attribute.String("gen_ai.response.model", c.Model), attribute.String("gen_ai.response.finish_reason", c.Reason))
		if c.Usage.Known {
			s.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", c.Usage.InputTokens), attribute.Int("gen_ai.usage.output_tokens", c.Usage.OutputTokens))
		}
	}
	observe.End(s, err)
	return c, err
}

// promptTokens estimates what a prompt costs, rather too high.
func promptTokens(p *assistant.Prompt) int64 {
	n := 0
	for i := range p.Messages {
		m := &p.Messages[i]
		n += assistant.Tokens(m.Content) + 8
		for _, c := range m.ToolCalls {
			n += assistant.Tokens(c.Arguments) + 16
		}
	}
	for _, t := range p.Tools {
		n += assistant.Tokens(t.Description) + assistant.Tokens(t.Parameters) + 16
	}
	return int64(n + n/10)
}

// BudgetStatus is what a site has spent.
type BudgetStatus struct {
	// Limit is the limit as the Caddyfile has it.
	Limit string `json:"limit"`
	// Tokens and Requests are the limits, 0 for none; SpentTokens and
	// SpentRequests what is spent and reserved of them in the window that ends at
	// Until.
	Tokens        int64     `json:"tokens,omitempty"`
	SpentTokens   int64     `json:"spent_tokens,omitempty"`
	Requests      int64     `json:"requests,omitempty"`
	SpentRequests int64     `json:"spent_requests,omitempty"`
	Until         time.Time `json:"until"`
	// Spent is true while replies are extractive because nothing is left.
	Spent bool `json:"spent"`
	// Refused counts the replies of this process that were extractive for
	// that reason.
	Refused uint64 `json:"refused,omitempty"`
}

// Status is nil for no budget.
func (b *Budget) Status() *BudgetStatus {
	if b == nil {
		return nil
	}
	l := b.Limit()
	tokens, requests, until := b.Left()
	s := &BudgetStatus{
		Limit: describeLimit(l), Tokens: l.Tokens, Requests: l.Requests, Until: until,
		Spent: tokens == 0 || requests == 0, Refused: b.refused.Load(),
	}
	if l.Tokens > 0 {
		s.SpentTokens = l.Tokens - tokens
	}
	if l.Requests > 0 {
		s.SpentRequests = l.Requests - requests
	}
	return s
}
