package caddyfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"

	"github.com/caddy-docs/caddy-docs/handlers/app"
)

const (
	minTimeout    = 100 * time.Millisecond
	maxTimeout    = 10 * time.Minute
	maxTokens     = 1_000_000
	maxDimensions = 100_000
)

// parseModel reads `llm <url> <model> [{…}]` or the model of another module.
func parseModel(l line) (json.RawMessage, error) {
	if !l.NextArg() {
		return nil, l.usage("needs an argument")
	}
	if !isAddress(l) {
		return l.guest("docs.llm", "provider")
	}
	m := new(app.OpenAIModel)
	if err := endpoint(l.as(0), &m.URL, &m.Model); err != nil {
		return nil, err
	}
	if err := parseBlock(l.Dispenser, "llm", modelWords(m)); err != nil {
		return nil, err
	}
	return caddyconfig.JSONModuleObject(m, "provider", "openai", nil), nil
}

func modelForms() []form {
	return []form{
		{
			args: "<url> <model>", example: "https://api.openai.com/v1 gpt-5-mini",
			block: modelWords(new(app.OpenAIModel)), optional: true,
		},
		{args: "<module> ..."},
	}
}

func modelWords(m *app.OpenAIModel) []word {
	return []word{
		secretWord("api_key", "{env.OPENAI_API_KEY}", &m.APIKey),
		{
			name: "fallback", repeat: true,
			forms: []form{{
				args: "<url> <model>", example: "http://127.0.0.1:11434/v1 qwen3",
				block: []word{secretWord("api_key", "{env.FALLBACK_API_KEY}", new(string))}, optional: true,
			}},
			parse: func(l line) error {
				var e app.Endpoint
				if !l.NextArg() {
					return l.usage("needs an argument")
				}
				if err := endpoint(l, &e.URL, &e.Model); err != nil {
					return err
				}
				if err := parseBlock(l.Dispenser, "fallback", []word{secretWord("api_key", "{env.FALLBACK_API_KEY}", &e.APIKey)}); err != nil {
					return err
				}
				m.Fallback = append(m.Fallback, e)
				return nil
			},
		},
		durationWord("first_token_timeout", "10s", minTimeout, maxTimeout, &m.FirstTokenTimeout),
		durationWord("idle_timeout", "30s", minTimeout, maxTimeout, &m.IdleTimeout),
		numberWord("max_tokens", "1500", 1, maxTokens, &m.MaxTokens),
		{
			name: "budget", repeat: true, forms: is("<n>[k|M] tokens|requests per day|hour", "2M tokens per day"),
			parse: func(l line) error { return parseBudget(l, m) },
		},
	}
}

func parseBudget(l line, m *app.OpenAIModel) error {
	args, err := l.between(4, 4)
	if err != nil {
		return err
	}
	n, err := parseCount(args[0])
	if err != nil {
		return l.usage(err.Error())
	}
	var per caddy.Duration
	switch {
	case args[2] != "per":
		return l.refuse("%q stands where per belongs", args[2])
	case args[3] == "day":
		per = caddy.Duration(24 * time.Hour)
	case args[3] == "hour":
		per = caddy.Duration(time.Hour)
	default:
		return l.refuse("%q is neither day nor hour", args[3])
	}
	if m.Budget == nil {
		m.Budget = &app.Budget{Per: per}
	}
	b := m.Budget
	if b.Per != per {
		return l.usage("two budgets are per day or per hour both")
	}
	count := &b.Tokens
	switch args[1] {
	case "tokens":
	case "requests":
		count = &b.Requests
	default:
		return l.refuse("%q is neither tokens nor requests%s", args[1], nearest(args[1], []string{"tokens", "requests"}))
	}
	if *count != 0 {
		return l.refuse("there is a budget of %s already; keep one", args[1])
	}
	*count = n
	return nil
}

// parseEmbedder reads `embedder <url> <model> [{…}]`, `embedder meilisearch
// <name>`, or the embedder of another module.
func (o *option) parseEmbedder(l line) (err error) {
	if !l.NextArg() {
		return l.usage("needs an argument")
	}
	if l.Val() == "meilisearch" {
		o.serverEmbedderAt = l.Token()
		o.serverEmbedder, err = serverEmbedder(l.as(1))
		return err
	}
	if !isAddress(l) {
		o.app.EmbedderRaw, err = l.guest("docs.embedder", "provider")
		return err
	}
	e := new(app.OpenAIEmbedder)
	if err := endpoint(l.as(0), &e.URL, &e.Model); err != nil {
		return err
	}
	if err := parseBlock(l.Dispenser, "embedder", embedderWords(e)); err != nil {
		return err
	}
	o.app.EmbedderRaw = caddyconfig.JSONModuleObject(e, "provider", "openai", nil)
	return nil
}

// joinEmbedder hands the name of a server's own embedder to the index that
// is on that server.
func (o *option) joinEmbedder() error {
	if o.serverEmbedder == "" {
		return nil
	}
	var m struct {
		Backend string `json:"backend"`
		app.MeilisearchIndex
	}
	if o.app.IndexRaw != nil {
		if err := json.Unmarshal(o.app.IndexRaw, &m); err != nil {
			return at(o.serverEmbedderAt).Errf("embedder meilisearch: reading the index: %w", err)
		}
	}
	if m.Backend != "meilisearch" {
		return at(o.serverEmbedderAt).Errf("embedder meilisearch %s is an embedder of the Meilisearch server's own, but the index is not there: write index meilisearch <url>, or embedder <url> <model>", o.serverEmbedder)
	}
	if m.Embedder != "" {
		return at(o.serverEmbedderAt).Errf("embedder: the block of index meilisearch names one already (%s); keep one", m.Embedder)
	}
	m.Embedder = o.serverEmbedder
	o.app.IndexRaw = caddyconfig.JSONModuleObject(m.MeilisearchIndex, "backend", m.Backend, nil)
	return nil
}

func embedderForms() []form {
	return []form{
		{
			args: "<url> <model>", example: "http://127.0.0.1:11434/v1 nomic-embed-text",
			block: embedderWords(new(app.OpenAIEmbedder)), optional: true,
		},
		{args: "meilisearch <name>", example: "meilisearch default"},
		{args: "<module> ..."},
	}
}

func embedderWords(e *app.OpenAIEmbedder) []word {
	return []word{
		secretWord("api_key", "{env.OPENAI_API_KEY}", &e.APIKey),
		numberWord("dimensions", "512", 1, maxDimensions, &e.Dimensions),
	}
}

// isAddress tells whether the argument that is being read is meant as an
// endpoint's address rather than as a module's name.
func isAddress(l line) bool {
	v := l.Val()
	return strings.Contains(v, "://") || strings.ContainsAny(v, "{/:.")
}

// endpoint reads the address that the line stands on and the model after it.
func endpoint(l line, address, model *string) error {
	*address = strings.TrimSuffix(l.Val(), "/")
	if err := checkEndpoint(*address); err != nil {
		return l.usage(err.Error())
	}
	args, err := l.between(0, 1)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return l.usage("needs the name of a model after the address")
	}
	if *model = args[0]; strings.Contains(*model, "://") {
		return l.refuse("%q is an address, where the name of a model belongs", *model)
	}
	return nil
}

// checkEndpoint checks the address of an API in OpenAI's form, below which
// /chat/completions and /embeddings stand. One that comes from a placeholder
// is checked at start.
func checkEndpoint(s string) error {
	if startPlaceholder.MatchString(s) {
		return nil
	}
	u, err := parseBase(s)
	if err != nil {
		return err
	}
	for _, tail := range []string{"/chat/completions", "/completions", "/embeddings", "/responses"} {
		if base, ok := strings.CutSuffix(strings.TrimSuffix(u.Path, "/"), tail); ok {
			if base == "" {
				return errors.New("the address ends before " + tail)
			}
			return fmt.Errorf("the address ends before %s, with %s", tail, base)
		}
	}
	return nil
}

func durationWord(name, example string, least, most time.Duration, to *caddy.Duration) word {
	return word{name: name, forms: is("<duration>", example), parse: func(l line) error {
		s, err := l.one()
		if err != nil {
			return err
		}
		if *to, err = parseDuration(s, least, most); err != nil {
			return l.usage(err.Error())
		}
		return nil
	}}
}

func numberWord(name, example string, least, most int, to *int) word {
	return word{name: name, forms: is("<n>", example), parse: func(l line) error {
		s, err := l.one()
		if err != nil {
			return err
		}
		if *to, err = parseNumber(s, least, most); err != nil {
			return l.usage(err.Error())
		}
		return nil
	}}
}
