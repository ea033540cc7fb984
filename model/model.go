// Package model asks language models: any endpoint that speaks OpenAI's
// chat completions (Chain) and embeddings (Embedder). It reads the event
// stream itself, in the dialects of the vendors (see testdata/dialects), and
// keeps replies coming when endpoints fail: time limits, fallbacks, a
// breaker for each. Budget bounds what a site spends.
//
// Requests' types, errors and embeddings are go-openai's; its stream reader
// is not used, since it calls a cut stream success and drops errors.
package model

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// Options configure a Chain.
type Options struct {
	// Endpoints are asked in order: the first, then the fallbacks.
	Endpoints []Endpoint
	// FirstToken is the longest wait for a reply's first token, connecting
	// included; default 10 s. Idle is the longest silence within a reply;
	// default 30 s.
	FirstToken, Idle time.Duration
	// MaxTokens bounds a reply where the prompt doesn't; default 1500.
	MaxTokens int
	// Client sends the requests; nil: one with limits on dialling, TLS and
	// headers. It must have no Timeout: that would end running replies.
	Client *http.Client
	Log    *slog.Logger
	// Now is the breakers' clock, default time.Now.
	Now func() time.Time
	// Observe, where not nil, is told of each attempt as it ends, for
	// metrics. It must not wait.
	Observe func(Attempt)
}

// Attempt is one request to one endpoint.
type Attempt struct {
	// Endpoint is its address without credentials; Model its model's name.
	Endpoint, Model string
	Kind            Kind
	// FirstToken is the time to the first token, 0 if there was none; Took
	// the time to the end.
	FirstToken, Took time.Duration
	Usage            reply.Usage
}

// Chain is a model and its fallbacks. It implements assistant.Model and is
// safe for concurrent use. It remembers what its endpoints can and how they
// fail: keep one over reloads.
type Chain struct {
	o         Options
	endpoints []*endpoint
	own       *http.Client
}

var _ assistant.Model = (*Chain)(nil)

// New checks the options. It doesn't connect.
func New(o Options) (*Chain, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("a model needs an address and a name, such as: llm https://api.openai.com/v1 gpt-5-mini")
	}
	if o.FirstToken < 0 || o.Idle < 0 || o.MaxTokens < 0 {
		return nil, errors.New("time limits and max_tokens of a model must not be negative")
	}
	if o.FirstToken == 0 {
		o.FirstToken = 10 * time.Second
	}
	if o.Idle == 0 {
		o.Idle = 30 * time.Second
	}
	if o.MaxTokens == 0 {
		o.MaxTokens = 1500
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Chain{o: o}
	if o.Client == nil {
		c.own = newClient()
		c.o.Client = c.own
	} else if o.Client.Timeout != 0 {
		return nil, errors.New("a model's HTTP client must have no Timeout: it would end running replies")
	}
	c.o.Client = withoutRedirects(c.o.Client)
	for _, e := range o.Endpoints {
		ep, err := newEndpoint(e, c.o.Client)
		if err != nil {
			return nil, err
		}
		c.endpoints = append(c.endpoints, ep)
	}
	return c, nil
}

// Name is the first endpoint's model.
func (c *Chain) Name() string { return c.endpoints[0].Model }

// Close closes idle connections. Running replies are not touched.
func (c *Chain) Close() error {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}

// Stream implements assistant.Model. The endpoints are tried in order until
// one sends a first delta; an error after that is returned, so that nobody
// sees two half answers. The wait before giving up is at most FirstToken an
// endpoint.
//
// An empty Delta says that nothing further has come: what was held back since
// the last one goes to the client now.
func (c *Chain) Stream(ctx context.Context, p *assistant.Prompt, each func(*assistant.Delta) error) (*assistant.Completion, error) {
	a := &asking{Chain: c, ctx: ctx, left: c.endpoints, settled: true}
	defer a.abandon()
	for a.next() {
		if a.settle(a.endpoint.attempt(ctx, p, &c.o, each, a.alive)) {
			break
		}
	}
	return a.completion, a.err
}

// resting tells of an endpoint that is left alone.
func (c *Chain) resting(e *endpoint) error {
	c.observe(Attempt{Endpoint: publicAddress(e.url), Model: e.Model, Kind: Resting})
	return e.errorf(Resting, "its breaker is open after failures in a row", nil)
}

// asking is a call of Stream: endpoint after endpoint, of each of which its
// breaker, the log and Observe are told.
type asking struct {
	*Chain
	ctx  context.Context
	left []*endpoint

	// Of the endpoint that is asked now:
	endpoint *endpoint
	ticket   ticket
	start    time.Time
	first    time.Duration // 0 before the first token
	settled  bool

	failures   failures
	completion *assistant.Completion
	err        error
}

// next goes on to the next endpoint whose breaker allows it.
func (a *asking) next() bool {
	for len(a.left) > 0 {
		e := a.left[0]
		a.left = a.left[1:]
		t, ok := e.breaker.allow(a.o.Now())
		if !ok {
			a.failures = append(a.failures, a.resting(e))
			continue
		}
		a.endpoint, a.ticket, a.start, a.first, a.settled = e, t, time.Now(), 0, false
		return true
	}
	a.err = a.failures.err()
	return false
}

func (a *asking) alive() {
	a.first = time.Since(a.start)
	a.ticket.alive()
}

// abandon follows a panic in each: the probe must not stay taken.
func (a *asking) abandon() {
	if !a.settled {
		a.ticket.abandon()
	}
}

// settle takes the outcome of an endpoint. done is true where no other one is
// asked.
func (a *asking) settle(completion *assistant.Completion, sent bool, err error) (done bool) {
	a.settled = true
	a.tell(completion, err)
	if err == nil {
		a.completion = completion
		return true
	}
	if sink, ok := errors.AsType[*sinkError](err); ok {
		a.err = sink.err
		return true
	}
	if a.ctx.Err() != nil || sent {
		a.err = err
		return true
	}
	a.failures = append(a.failures, err)
	return false
}

func (a *asking) tell(completion *assistant.Completion, err error) {
	e := a.endpoint
	told := Attempt{
		Endpoint: publicAddress(e.url), Model: e.Model, Kind: kindOf(err),
		FirstToken: a.first, Took: time.Since(a.start),
	}
	var model *Error
	switch {
	case err == nil:
		a.ticket.success()
		told.Usage = completion.Usage
	case errors.As(err, &model) && model.counts():
		if a.ticket.failure(a.o.Now(), model.Error(), model.RetryAfter) {
			a.o.Log.Warn("model rests after failures in a row", "endpoint", e.name, "until", e.breaker.state().Until)
		}
	default:
		a.ticket.abandon()
	}
	if model != nil {
		a.o.Log.Warn("model failed", "endpoint", e.name, "kind", string(model.Kind), "status", model.Status, "error", model.Message, "after", told.Took)
	}
	a.observe(told)
}

func (c *Chain) observe(a Attempt) {
	if c.o.Observe != nil {
		c.o.Observe(a)
	}
}

// States returns the endpoints' states, in order.
func (c *Chain) States() []State {
	states := make([]State, len(c.endpoints))
	for i, e := range c.endpoints {
		states[i] = e.breaker.state()
		states[i].Endpoint, states[i].Model = publicAddress(e.url), e.Model
	}
	return states
}

// failures is the error of a chain all of whose endpoints failed.
type failures []error

// err is the failures as one error.
func (f failures) err() error {
	if len(f) == 1 {
		return f[0]
	}
	return f
}

func (f failures) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "all %d models failed", len(f))
	for _, err := range f {
		s.WriteString("; " + err.Error())
	}
	return s.String()
}

func (f failures) Unwrap() []error { return f }
