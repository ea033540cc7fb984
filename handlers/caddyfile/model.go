package caddyfile

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/dustin/go-humanize"

	"github.com/caddy-docs/caddy-docs/handlers/options"
)

// parseModel reads `llm <url> <model> [{…}]` or the model of another module.
func parseModel(l line) (json.RawMessage, error) {
	if !l.NextArg() {
		return nil, l.refuse("needs an argument")
	}
	if !isURL(l.Val()) {
		return l.guest("docs.llm", "provider")
	}
	m, l := new(options.OpenAIModel), l.as(0)
	if err := endpoint(l, &m.URL, &m.Model); err != nil {
		return nil, err
	}
	err := parseBlock(l, "llm", modelWords(m), m.Validate)
	return caddyconfig.JSONModuleObject(m, "provider", "openai", nil), err
}

func modelWords(m *options.OpenAIModel) []word {
	fallbackWords := func(e *options.Endpoint) []word {
		return []word{secretWord("api_key", "{env.FALLBACK_API_KEY}", &e.APIKey)}
	}
	return []word{
		secretWord("api_key", "{env.OPENAI_API_KEY}", &m.APIKey),
		{
			name: "fallback", repeat: true,
			forms: []form{{args: "<url> <model>", example: "http://127.0.0.1:11434/v1 qwen3", block: fallbackWords(new(options.Endpoint))}},
			parse: func(l line) error {
				var e options.Endpoint
				if !l.NextArg() {
					return l.refuse("needs an argument")
				}
				if err := endpoint(l, &e.URL, &e.Model); err != nil {
					return err
				}
				err := parseBlock(l, "fallback", fallbackWords(&e), func() error { return nil })
				m.Fallback = append(m.Fallback, e)
				return err
			},
		},
		durationWord("first_token_timeout", "10s", &m.FirstTokenTimeout),
		durationWord("idle_timeout", "30s", &m.IdleTimeout),
		durationWord("max_duration", "5m", &m.MaxDuration),
		numberWord("max_tokens", "1500", &m.MaxTokens),
		switchWord("reasoning", &m.Reasoning),
		{
			name: "budget", repeat: true, forms: is("<n>[k|M] tokens|requests per day|hour", "2M tokens per day"),
			parse: func(l line) error { return parseBudget(l, m) },
		},
	}
}

func parseBudget(l line, m *options.OpenAIModel) error {
	args, err := l.between(4, 4)
	if err != nil {
		return err
	}
	periods := map[string]caddy.Duration{"day": caddy.Duration(24 * time.Hour), "hour": caddy.Duration(time.Hour)}
	per := periods[args[3]]
	if args[2] != "per" || per == 0 {
		return l.refuse("%q is neither per day nor per hour", args[2]+" "+args[3])
	}
	if m.Budget == nil {
		m.Budget = &options.Budget{Per: per}
	}
	count, ok := map[string]*int64{"tokens": &m.Budget.Tokens, "requests": &m.Budget.Requests}[args[1]]
	switch {
	case !ok:
		return l.refuse("%q is neither tokens nor requests", args[1])
	case m.Budget.Per != per:
		return l.refuse("all budgets must be per day, or all per hour")
	case *count != 0:
		return l.refuse("there is already a budget of %s; keep one", args[1])
	}
	n, unit, err := humanize.ParseSI(args[0])
	if err != nil || unit != "" || !(n >= 1 && n <= 1e15) {
		return l.refuse("%q is not a number like 500, 20k or 2M", args[0])
	}
	*count = int64(n)
	return nil
}

// parseEmbedder reads `embedder <url> <model> [{…}]`, `embedder meilisearch
// <name>`, or the embedder of another module.
func (o *option) parseEmbedder(l line) (err error) {
	if !l.NextArg() {
		return l.refuse("needs an argument")
	}
	if l.Val() == "meilisearch" {
		o.serverEmbedderAt = l.Token()
		o.serverEmbedder, err = l.as(1).one()
		return err
	}
	if !isURL(l.Val()) {
		o.app.EmbedderRaw, err = l.guest("docs.embedder", "provider")
		return err
	}
	e, l := new(options.OpenAIEmbedder), l.as(0)
	if err := endpoint(l, &e.URL, &e.Model); err != nil {
		return err
	}
	err = parseBlock(l, "embedder", embedderWords(e), e.Validate)
	o.app.EmbedderRaw = caddyconfig.JSONModuleObject(e, "provider", "openai", nil)
	return err
}

// joinEmbedder adds the name in `embedder meilisearch <name>` to the index.
func (o *option) joinEmbedder() error {
	if o.serverEmbedder == "" {
		return nil
	}
	d := at(o.serverEmbedderAt)
	var m struct {
		Backend string `json:"backend"`
		options.MeilisearchIndex
	}
	if o.app.IndexRaw != nil {
		if err := json.Unmarshal(o.app.IndexRaw, &m); err != nil {
			return d.Errf("embedder meilisearch: reading the index: %w", err)
		}
	}
	if m.Backend != "meilisearch" {
		return d.Errf("embedder meilisearch %s is an embedder in a Meilisearch server's settings, but there is no such index: write index meilisearch <url>, or embedder <url> <model>", o.serverEmbedder)
	}
	if m.Embedder != "" {
		return d.Errf("embedder: the block of index meilisearch already names one (%s); keep one", m.Embedder)
	}
	m.Embedder = o.serverEmbedder
	if err := m.Validate(); err != nil {
		return d.Errf("embedder meilisearch: %w", err)
	}
	o.app.IndexRaw = caddyconfig.JSONModuleObject(m.MeilisearchIndex, "backend", m.Backend, nil)
	return nil
}

func embedderWords(e *options.OpenAIEmbedder) []word {
	return []word{
		secretWord("api_key", "{env.OPENAI_API_KEY}", &e.APIKey),
		numberWord("dimensions", "512", &e.Dimensions),
		ratioWord("semantic_ratio", "0.35", &e.SemanticRatio),
	}
}

// isURL reports whether an argument is meant as a URL rather than as a module's
// name.
func isURL(s string) bool { return strings.ContainsAny(s, "{/:.") }

// endpoint reads the URL that is the current token and the model after it.
func endpoint(l line, address, model *string) error {
	*address = strings.TrimSuffix(l.Val(), "/")
	args, err := l.between(0, 1)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return l.refuse("needs the name of a model after the URL")
	}
	*model = args[0]
	return nil
}
