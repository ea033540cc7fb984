// Package model asks language models: any endpoint that speaks OpenAI's chat
// completions (Chain) or embeddings (Embedder). It reads event streams in the
// dialects of the vendors (see testdata/dialects), and keeps replies coming
// when endpoints fail: time limits, fallbacks, and a circuit breaker for each
// endpoint. A Budget bounds what a site spends.
//
// A reply passes through these files: model.go chooses the endpoint, request.go
// encodes the prompt, endpoint.go sends it, stream.go reads the events, chunk.go
// the JSON in them, and text.go sorts and bounds the text.
package model

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// Options configure a Chain.
type Options struct {
	// Endpoints are asked in order: the first, then the fallbacks.
	Endpoints []Endpoint
	// FirstToken is the longest wait for a reply's first token, connecting
	// included; default 10 s.
	FirstToken time.Duration
	// Idle is the longest silence within a reply; default 30 s.
	Idle time.Duration
	// MaxTokens bounds a reply where the prompt doesn't; default 1500.
	MaxTokens int
	// Client sends the requests; default newClient's. A Timeout of it would end
	// replies.
	Client *http.Client
	// Log gets the failures; default none.
	Log *slog.Logger
	// Observe is called as each attempt ends, for metrics; default none. It
	// must not block.
	Observe func(Attempt)
}

// Attempt is one request to one endpoint.
type Attempt struct {
	// Endpoint is the URL without credentials and query.
	Endpoint, Model string
	Kind            Kind
	// FirstToken is the time to the first token, 0 if there was none.
	FirstToken time.Duration
}

// Chain is a model and its fallbacks. It implements assistant.Model and is safe
// for concurrent use. It remembers the capabilities and failures of its
// endpoints: keep one over reloads.
type Chain struct {
	o         Options
	endpoints []*endpoint
}

var _ assistant.Model = (*Chain)(nil)

// New checks the options. It doesn't connect.
func New(o Options) (*Chain, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("a model needs a URL and a name, such as: llm https://api.openai.com/v1 gpt-5-mini")
	}
	o.FirstToken = cmp.Or(o.FirstToken, 10*time.Second)
	o.Idle = cmp.Or(o.Idle, 30*time.Second)
	o.MaxTokens = cmp.Or(o.MaxTokens, 1500)
	o.Client = withoutRedirects(o.Client)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Observe == nil {
		o.Observe = func(Attempt) {}
	}
	c := &Chain{o: o}
	for _, e := range o.Endpoints {
		ep, err := newEndpoint(e, o.Client)
		if err != nil {
			return nil, err
		}
		c.endpoints = append(c.endpoints, ep)
	}
	return c, nil
}

// Name is the first endpoint's model.
func (c *Chain) Name() string { return c.endpoints[0].Model }

// Close closes idle connections. It leaves running replies alone.
func (c *Chain) Close() error {
	c.o.Client.CloseIdleConnections()
	return nil
}

// Stream implements assistant.Model. The endpoints are tried in order until one
// sends a first delta. An error after that is returned, because a reader would
// see the beginnings of two answers. If all fail, the error joins an *Error for
// each.
func (c *Chain) Stream(ctx context.Context, p *assistant.Prompt, each func(*assistant.Delta) error) (*assistant.Completion, error) {
	var failures []error
	for _, e := range c.endpoints {
		completion, sent, err := c.attempt(ctx, e, p, each)
		if err == nil || sent || ctx.Err() != nil {
			return completion, err
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// attempt asks an endpoint unless its breaker is open. sent reports whether each
// was called.
func (c *Chain) attempt(ctx context.Context, e *endpoint, p *assistant.Prompt, each func(*assistant.Delta) error) (completion *assistant.Completion, sent bool, err error) {
	start := time.Now()
	a := Attempt{Endpoint: e.publicURL, Model: e.Model}
	defer func() {
		a.Kind = kindOf(err)
		c.o.Observe(a)
	}()
	if !e.breaker.Allow() {
		return nil, false, e.fail(CircuitOpen, "not asked because it kept failing")
	}
	completion, sent, err = e.reply(ctx, p, &c.o, func() { a.FirstToken = time.Since(start) }, each)
	if err == nil {
		e.breaker.Record(nil)
		return completion, sent, nil
	}
	if failure, ok := errors.AsType[*Error](err); ok {
		c.o.Log.Warn("model request failed", "endpoint", e.publicURL, "model", e.Model, "kind", string(failure.Kind),
			"status", failure.Status, "error", failure.Message, "duration", time.Since(start))
		if failure.counts() {
			opened := e.breaker.Record(failure)
			if failure.RetryAfter > 0 {
				e.breaker.Wait(min(max(failure.RetryAfter, time.Second), maxBreak))
			}
			if _, until, _ := e.breaker.State(); opened {
				c.o.Log.Warn("the model keeps failing; it is not asked for a while", "endpoint", e.publicURL, "model", e.Model, "until", until)
			}
		}
	}
	return completion, sent, err
}

// Check asks each endpoint whether it is there and has its model. It returns
// the errors of all that fail, joined. It doesn't touch the breakers. Each
// endpoint has FirstToken to answer.
func (c *Chain) Check(ctx context.Context) error {
	var errs []error
	for _, e := range c.endpoints {
		errs = append(errs, e.check(ctx, &c.o))
	}
	return errors.Join(errs...)
}

// State is an endpoint as `caddy docs status` shows it.
type State struct {
	// Endpoint is the URL without credentials and query.
	Endpoint string `json:"endpoint"`
	Model    string `json:"model"`
	// Breaker is closed or open.
	Breaker string `json:"breaker"`
	// Failures is the number of consecutive failures.
	Failures int `json:"failures,omitempty"`
	// Until is when an open breaker lets the next request through.
	Until time.Time `json:"until,omitzero"`
	// LastError is the last failure since the last success, without keys.
	LastError string `json:"last_error,omitempty"`
}

// States returns the endpoints' states, in order.
func (c *Chain) States() []State {
	states := make([]State, len(c.endpoints))
	for i, e := range c.endpoints {
		failures, until, err := e.breaker.State()
		states[i] = State{Endpoint: e.publicURL, Model: e.Model, Breaker: "closed", Failures: failures, Until: until}
		if !until.IsZero() {
			states[i].Breaker = "open"
		}
		if err != nil {
			states[i].LastError = err.Error()
		}
	}
	return states
}
