package app

import (
	"github.com/caddyserver/caddy/v2"
)

// EmbeddedIndex is docs.index.embedded: the index inside the process.
type EmbeddedIndex struct{}

// MeilisearchIndex is docs.index.meilisearch.
type MeilisearchIndex struct {
	// URLs of independent instances: written all, read with failover.
	URLs []string `json:"urls"`
	// APIKey indexes; SearchKey, where given, reads. Placeholders.
	APIKey    string `json:"api_key,omitempty"`
	SearchKey string `json:"search_key,omitempty"`
	// SemanticRatio is 0–1, default 0.5; used with an embedder.
	SemanticRatio *float64 `json:"semantic_ratio,omitempty"`
	// Fallback embedded answers from the index inside the process when no
	// instance does.
	Fallback string `json:"fallback,omitempty"`
	// Embedder names an embedder of the server's own.
	Embedder string `json:"embedder,omitempty"`
}

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
