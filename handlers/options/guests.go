package options

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/model"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// IndexOptions are the options of an index of one site.
type IndexOptions struct {
	// Site is the site's name, a DNS label.
	Site string
	// Dir is a folder for this index alone, which may not exist yet.
	Dir       string
	Synonyms  [][]string
	StopWords []string
	// SemanticRatio is the embedder's weight of semantic search, 0–1; nil: the
	// default.
	SemanticRatio *float64
	// Locker is Caddy's storage: its locks are shared by all Caddys of a
	// cluster.
	Locker certmagic.Locker
	// Owner returns the owner of the indexes of all Caddys with that storage; nil
	// if they have none.
	Owner func(context.Context) (meilisearch.Owner, error)
	// Model is the model of the vectors that the index gets, "" if it gets none.
	Model string
	// Idle is how long after its last search an index may leave memory; 0: it
	// stays. Lost is called if the site must then be indexed again.
	Idle time.Duration
	Lost func()
	// Running is the site's index in the running configuration, whose pages an
	// index may have until it has its own; nil if there is none.
	Running retrieval.Index
	Log     *slog.Logger
}

// IndexOpener is a module of the namespace docs.index.
//
// Guest modules replace placeholders in their exported fields in Provision:
// what they open is shared by all configurations whose modules are then equal
// as JSON, so that a reload makes it again where a secret has changed.
type IndexOpener interface {
	OpenIndex(o IndexOptions) (retrieval.Index, error)
}

// EmbedderOpener is a module of the namespace docs.embedder.
type EmbedderOpener interface {
	OpenEmbedder(log *slog.Logger) (retrieval.Embedder, error)
	// Describe names it in the start log, without secrets.
	Describe() string
	// SemanticWeight is the weight of semantic search, 0–1; nil: the default.
	SemanticWeight() *float64
}

// ModelOpener is a module of the namespace docs.llm.
type ModelOpener interface {
	OpenModel(log *slog.Logger) (assistant.Model, error)
	// Answers bounds what the model writes and spends.
	Answers() Answers
}

// Answers are the options of a model's answers.
type Answers struct {
	// MaxTokens bounds an answer.
	MaxTokens int
	// Reasoning reports whether clients get the model's reasoning.
	Reasoning bool
	// MaxDuration bounds a reply; 0: the default, 5 minutes.
	MaxDuration time.Duration
	// Budget is what each site may spend; nil: no bound.
	Budget *Budget
}

// EmbeddedIndex is docs.index.embedded: the index inside the process.
type EmbeddedIndex struct{}

// OpenAIEmbedder is docs.embedder.openai: an endpoint for POST
// /v1/embeddings in OpenAI's form.
type OpenAIEmbedder struct {
	Endpoint

	// The length of the vectors, if the model can shorten them, up to 100,000.
	// Default: the model's.
	Dimensions int `json:"dimensions,omitempty"`

	// The weight of semantic search, from 0 (keyword search only) to 1 (semantic
	// search only). Lower it for weaker models. Default: 0.5.
	SemanticRatio *float64 `json:"semantic_ratio,omitempty"`
}

// OpenAIModel is docs.llm.openai: an endpoint for POST /v1/chat/completions in
// OpenAI's form, and fallbacks for it.
type OpenAIModel struct {
	Endpoint

	// Further endpoints, asked in order if the first fails before its first
	// token.
	Fallback []Endpoint `json:"fallback,omitempty"`

	// The longest wait for an endpoint's first token, from 100ms to 10m; then
	// the next endpoint is asked. Default: 10s.
	FirstTokenTimeout caddy.Duration `json:"first_token_timeout,omitempty"`

	// The longest silence within a reply, from 100ms to 10m. Default: 30s.
	IdleTimeout caddy.Duration `json:"idle_timeout,omitempty"`

	// The longest a reply may take, from 1s to 1h, with all calls of tools. What
	// was written by then stays, with the finish reason length. Default: 5m.
	MaxDuration caddy.Duration `json:"max_duration,omitempty"`

	// The most tokens of a reply, up to 1,000,000. Default: 1500.
	MaxTokens int `json:"max_tokens,omitempty"`

	// Whether clients get the model's reasoning, checked like the answer.
	// Default: false.
	Reasoning bool `json:"reasoning,omitempty"`

	// What each site may spend; replies are extractive once it is spent.
	// Default: no limit.
	Budget *Budget `json:"budget,omitempty"`
}

// Endpoint is a model at a URL. URL, model and key may have placeholders.
type Endpoint struct {
	// The URL of the API up to and including /v1.
	URL string `json:"url"`

	// The name of the model.
	Model string `json:"model"`

	// The API key, as a placeholder like {env.OPENAI_API_KEY}. Default: none.
	APIKey string `json:"api_key,omitempty"`
}

// Budget is what a site may spend: a number of tokens, requests or both.
type Budget struct {
	// The most tokens of prompts and answers together. Default: no limit.
	Tokens int64 `json:"tokens,omitempty"`

	// The most requests to the model. Default: no limit.
	Requests int64 `json:"requests,omitempty"`

	// The window, 1h or 24h. Windows begin at the full hour or day, UTC.
	Per caddy.Duration `json:"per"`
}

const (
	maxTokens     = 1_000_000
	maxDimensions = 100_000
)

func (EmbeddedIndex) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.index.embedded", New: func() caddy.Module { return new(EmbeddedIndex) }}
}

// OpenIndex opens the index inside the process. What an earlier run left on
// disk is loaded before the first refresh, and in a reload before OpenIndex
// returns.
func (EmbeddedIndex) OpenIndex(o IndexOptions) (retrieval.Index, error) {
	running, _ := o.Running.(*embedded.Index)
	return embedded.Open(embedded.Options{
		Dir: o.Dir, Synonyms: o.Synonyms, StopWords: o.StopWords, SemanticRatio: o.SemanticRatio, Idle: o.Idle, Lost: o.Lost, Log: o.Log, Running: running,
	})
}

func (OpenAIEmbedder) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.embedder.openai", New: func() caddy.Module { return new(OpenAIEmbedder) }}
}

func (e *OpenAIEmbedder) Provision(caddy.Context) error {
	return e.replacePlaceholders()
}

// OpenEmbedder makes the client; it connects to nothing yet.
func (e *OpenAIEmbedder) OpenEmbedder(log *slog.Logger) (retrieval.Embedder, error) {
	return model.NewEmbedder(model.EmbedderOptions{
		Endpoint:   model.Endpoint(e.Endpoint),
		Dimensions: e.Dimensions, Log: log,
	})
}

// SemanticWeight is the weight of semantic search.
func (e *OpenAIEmbedder) SemanticWeight() *float64 { return e.SemanticRatio }

// Describe names the embedder in the start log.
func (e *OpenAIEmbedder) Describe() string { return e.Model }

// Limit is the budget as package model has it.
func (b *Budget) Limit() model.Limit {
	return model.Limit{Tokens: b.Tokens, Requests: b.Requests, Per: time.Duration(b.Per)}
}

func (OpenAIModel) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.llm.openai", New: func() caddy.Module { return new(OpenAIModel) }}
}

func (m *OpenAIModel) Provision(caddy.Context) error {
	if err := m.replacePlaceholders(); err != nil {
		return err
	}
	for i := range m.Fallback {
		if err := m.Fallback[i].replacePlaceholders(); err != nil {
			return fmt.Errorf("fallback: %w", err)
		}
	}
	return nil
}

// OpenModel makes the client; it connects to nothing yet.
func (m *OpenAIModel) OpenModel(log *slog.Logger) (assistant.Model, error) {
	o := model.Options{
		FirstToken: time.Duration(m.FirstTokenTimeout), Idle: time.Duration(m.IdleTimeout),
		MaxTokens: m.Answers().MaxTokens, Log: log, Observe: observe.Attempt,
	}
	for _, e := range append([]Endpoint{m.Endpoint}, m.Fallback...) {
		o.Endpoints = append(o.Endpoints, model.Endpoint(e))
	}
	return model.New(o)
}

// Answers are the options of the model's answers.
func (m *OpenAIModel) Answers() Answers {
	return Answers{MaxTokens: cmp.Or(m.MaxTokens, 1500), Reasoning: m.Reasoning, MaxDuration: time.Duration(m.MaxDuration), Budget: m.Budget}
}

func (e *Endpoint) replacePlaceholders() error {
	return replaceAll(map[string]*string{"url": &e.URL, "model": &e.Model, "api_key": &e.APIKey})
}

func (e *OpenAIEmbedder) Validate() error {
	c := new(Checker)
	c.endpoint(e.URL, e.Model)
	c.Number("dimensions", e.Dimensions, 1, maxDimensions)
	c.semanticRatio(e.SemanticRatio)
	return c.Err()
}

func (m *OpenAIModel) Validate() error {
	c := new(Checker)
	c.endpoint(m.URL, m.Model)
	for _, f := range m.Fallback {
		inner := new(Checker)
		inner.endpoint(f.URL, f.Model)
		c.Within("fallback", inner.Err())
	}
	c.Duration("first_token_timeout", m.FirstTokenTimeout, 100*time.Millisecond, 10*time.Minute)
	c.Duration("idle_timeout", m.IdleTimeout, 100*time.Millisecond, 10*time.Minute)
	c.Duration("max_duration", m.MaxDuration, time.Second, time.Hour)
	c.Number("max_tokens", m.MaxTokens, 1, maxTokens)
	if b := m.Budget; b != nil {
		if b.Tokens < 0 || b.Requests < 0 || b.Tokens == 0 && b.Requests == 0 {
			c.Fail("budget", "%d tokens, %d requests: one of them must be above 0, and none below", b.Tokens, b.Requests)
		}
		if p := time.Duration(b.Per); p != time.Hour && p != day {
			c.Fail("budget", "per %s: must be 1h or 24h", p)
		}
	}
	return c.Err()
}
