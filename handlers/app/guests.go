package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/model"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// IndexOptions are what a site tells the index that is opened for it.
type IndexOptions struct {
	// Site is the site's name, a DNS label.
	Site string
	// Dir is a folder of the site's own, which may not exist yet.
	Dir       string
	Synonyms  [][]string
	StopWords []string
	// Locker is Caddy's storage: a lock that all Caddys of a cluster share.
	Locker Locker
	Log    *slog.Logger
}

// Locker is what an index that several Caddys write to needs.
type Locker interface {
	// Lock waits until the lock is held, or ctx done. A holder that dies
	// loses it after some time.
	Lock(ctx context.Context, name string) error
	Unlock(ctx context.Context, name string) error
}

// IndexOpener is what a module of the namespace docs.index does.
//
// Guest modules replace placeholders in their exported fields in Provision:
// what they open is shared by all configurations whose modules are then equal
// as JSON, so that a reload makes it again where a secret has changed.
type IndexOpener interface {
	OpenIndex(o IndexOptions) (retrieval.Index, error)
}

// EmbedderOpener is what a module of the namespace docs.embedder does.
type EmbedderOpener interface {
	OpenEmbedder(log *slog.Logger) (retrieval.Embedder, error)
	// Describe names it in the start log, without secrets.
	Describe() string
}

// ModelOpener is what a module of the namespace docs.llm does.
type ModelOpener interface {
	OpenModel(log *slog.Logger) (assistant.Model, error)
	// AnswerTokens bounds an answer.
	AnswerTokens() int
}

// EmbeddedIndex is docs.index.embedded: the index inside the process.
type EmbeddedIndex struct{}

// OpenAIEmbedder is docs.embedder.openai: any endpoint with POST
// /v1/embeddings in OpenAI's form.
type OpenAIEmbedder struct {
	// URL of the API up to and with /v1.
	URL    string `json:"url"`
	Model  string `json:"model"`
	APIKey string `json:"api_key,omitempty"`
	// Dimensions asks for shorter vectors, where the model can.
	Dimensions int `json:"dimensions,omitempty"`
}

// OpenAIModel is docs.llm.openai: any endpoint with POST
// /v1/chat/completions in OpenAI's form.
type OpenAIModel struct {
	Endpoint
	// Fallback are tried in order when the first fails before its first token.
	Fallback []Endpoint `json:"fallback,omitempty"`
	// FirstTokenTimeout is the longest wait for a first token, default 10s.
	FirstTokenTimeout caddy.Duration `json:"first_token_timeout,omitempty"`
	// IdleTimeout is the longest silence within a reply, default 30s.
	IdleTimeout caddy.Duration `json:"idle_timeout,omitempty"`
	// MaxTokens bounds a reply, default 1500.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Budget bounds what a site may spend.
	Budget *Budget `json:"budget,omitempty"`
}

// Endpoint is a model at an address.
type Endpoint struct {
	// URL of the API up to and with /v1.
	URL    string `json:"url"`
	Model  string `json:"model"`
	APIKey string `json:"api_key,omitempty"`
}

// Budget is what a site may spend: N tokens or requests, per day or hour.
type Budget struct {
	Tokens   int64          `json:"tokens,omitempty"`
	Requests int64          `json:"requests,omitempty"`
	Per      caddy.Duration `json:"per"`
}

// CaddyModule returns the Caddy module information.
func (EmbeddedIndex) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.index.embedded", New: func() caddy.Module { return new(EmbeddedIndex) }}
}

// OpenIndex opens the index inside the process, with what an earlier run
// left on disk.
func (EmbeddedIndex) OpenIndex(o IndexOptions) (retrieval.Index, error) {
	return embedded.Open(embedded.Options{Dir: o.Dir, Synonyms: o.Synonyms, StopWords: o.StopWords, Log: o.Log})
}

// CaddyModule returns the Caddy module information.
func (OpenAIEmbedder) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.embedder.openai", New: func() caddy.Module { return new(OpenAIEmbedder) }}
}

// Provision replaces placeholders.
func (e *OpenAIEmbedder) Provision(caddy.Context) error {
	return resolveEndpoint(&e.URL, &e.Model, &e.APIKey)
}

// OpenEmbedder makes the client; it connects to nothing yet.
func (e *OpenAIEmbedder) OpenEmbedder(log *slog.Logger) (retrieval.Embedder, error) {
	return model.NewEmbedder(model.EmbedderOptions{
		Endpoint:   model.Endpoint{URL: e.URL, Model: e.Model, APIKey: e.APIKey},
		Dimensions: e.Dimensions, Log: log,
	})
}

// Describe names the embedder in the start log.
func (e *OpenAIEmbedder) Describe() string { return e.Model }

// CaddyModule returns the Caddy module information.
func (OpenAIModel) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.llm.openai", New: func() caddy.Module { return new(OpenAIModel) }}
}

// Provision replaces placeholders.
func (m *OpenAIModel) Provision(caddy.Context) error {
	if err := resolveEndpoint(&m.URL, &m.Model, &m.APIKey); err != nil {
		return err
	}
	for i := range m.Fallback {
		f := &m.Fallback[i]
		if err := resolveEndpoint(&f.URL, &f.Model, &f.APIKey); err != nil {
			return fmt.Errorf("fallback: %w", err)
		}
	}
	return nil
}

// OpenModel makes the client; it connects to nothing yet.
func (m *OpenAIModel) OpenModel(log *slog.Logger) (assistant.Model, error) {
	o := model.Options{
		FirstToken: time.Duration(m.FirstTokenTimeout), Idle: time.Duration(m.IdleTimeout),
		MaxTokens: m.AnswerTokens(), Log: log, Observe: observeAttempt,
	}
	for _, e := range append([]Endpoint{m.Endpoint}, m.Fallback...) {
		o.Endpoints = append(o.Endpoints, model.Endpoint{URL: e.URL, Model: e.Model, APIKey: e.APIKey})
	}
	return model.New(o)
}

// SiteBudget bounds what a site may spend; nil: no bound.
func (m *OpenAIModel) SiteBudget() *Budget { return m.Budget }

// AnswerTokens bounds an answer.
func (m *OpenAIModel) AnswerTokens() int { return cmp.Or(m.MaxTokens, 1500) }

// resolveEndpoint replaces the placeholders of an endpoint.
func resolveEndpoint(address, name, key *string) error {
	repl := caddy.NewReplacer()
	for _, field := range []*string{address, name, key} {
		v, err := repl.ReplaceOrErr(*field, true, true)
		if err != nil {
			return err
		}
		*field = v
	}
	return nil
}

// Interface guards
var (
	_ IndexOpener       = (*EmbeddedIndex)(nil)
	_ EmbedderOpener    = (*OpenAIEmbedder)(nil)
	_ ModelOpener       = (*OpenAIModel)(nil)
	_ BudgetHolder      = (*OpenAIModel)(nil)
	_ caddy.Provisioner = (*OpenAIEmbedder)(nil)
	_ caddy.Provisioner = (*OpenAIModel)(nil)
)
