package caddyfile

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-docs/caddy-docs/handlers/options"
)

// parseIndex reads `index embedded`, `index meilisearch <url>...` or the
// index of another module.
func parseIndex(l line) (json.RawMessage, error) {
	if !l.NextArg() {
		return nil, l.refuse("needs an argument")
	}
	switch name := l.Val(); {
	case name == "embedded":
		_, err := l.as(0).between(0, 0)
		return caddyconfig.JSONModuleObject(options.EmbeddedIndex{}, "backend", name, nil), err
	case name == "meilisearch":
		m, l := new(options.MeilisearchIndex), l.as(1)
		var err error
		if m.URLs, err = l.some(1); err != nil {
			return nil, err
		}
		err = parseBlock(l, "index meilisearch", meilisearchWords(m), m.Validate)
		return caddyconfig.JSONModuleObject(m, "backend", name, nil), err
	case strings.Contains(name, "://"):
		return nil, l.as(1).refuse("%q is a URL; the kind of index comes first: index meilisearch %s", name, name)
	}
	return l.guest("docs.index", "backend")
}

func meilisearchWords(m *options.MeilisearchIndex) []word {
	return []word{
		secretWord("api_key", "{env.MEILI_KEY}", &m.APIKey),
		secretWord("search_key", "{env.MEILI_SEARCH_KEY}", &m.SearchKey),
		secretWord("view_key", "{env.MEILI_VIEW_KEY}", &m.ViewKey),
		textWord("prefix", "<name>", "docs-staging", &m.Prefix),
		ratioWord("semantic_ratio", "0.5", &m.SemanticRatio),
		textWord("ranking", "server", "server", &m.Ranking),
		textWord("fallback", "embedded", "embedded", &m.Fallback),
		textWord("embedder", "<name>", "default", &m.Embedder),
	}
}

// ratioWord reads a number from 0 to 1, whose range Validate checks.
func ratioWord(name, example string, to **float64) word {
	return valueWord(name, "<0-1>", example, to, func(l line, s string) (*float64, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, l.refuse("%q is not a number", s)
		}
		return &f, nil
	})
}

// guest reads the words of another plugin's module, whose name is the current
// token.
func (l line) guest(namespace, inlineKey string) (json.RawMessage, error) {
	name := l.Val()
	if _, err := caddy.GetModule(namespace + "." + name); err != nil {
		return nil, l.refuse("%q is not known, and this build of Caddy has no module %s.%s", name, namespace, name)
	}
	m, err := caddyfile.UnmarshalModule(l.Dispenser, namespace+"."+name)
	if err != nil {
		return nil, err
	}
	return caddyconfig.JSONModuleObject(m, inlineKey, name, nil), nil
}
