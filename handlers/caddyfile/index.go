package caddyfile

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-docs/caddy-docs/handlers/app"
)

// parseIndex reads `index embedded`, `index meilisearch <url>...` or the
// index of another module.
func parseIndex(l line) (json.RawMessage, error) {
	if !l.NextArg() {
		return nil, l.usage("needs an argument")
	}
	switch name := l.Val(); {
	case name == "embedded":
		if _, err := l.as(0).between(0, 0); err != nil {
			return nil, err
		}
		return caddyconfig.JSONModuleObject(app.EmbeddedIndex{}, "backend", name, nil), nil
	case name == "meilisearch":
		m, l := new(app.MeilisearchIndex), l.as(1)
		var err error
		if m.URLs, err = l.some(1); err != nil {
			return nil, err
		}
		for i, u := range m.URLs {
			if _, err := parseBase(u); err != nil {
				return nil, l.usage(err.Error())
			}
			m.URLs[i] = strings.TrimSuffix(u, "/")
		}
		if err := parseBlock(l.Dispenser, "index meilisearch", meilisearchWords(m)); err != nil {
			return nil, err
		}
		return caddyconfig.JSONModuleObject(m, "backend", name, nil), nil
	case strings.Contains(name, "://"):
		return nil, l.as(1).refuse("%q is an address; the kind of index comes before it: index meilisearch %s", name, name)
	}
	return l.guest("docs.index", "backend")
}

func indexForms() []form {
	return []form{
		{args: "embedded", example: "embedded"},
		{
			args: "meilisearch <url>...", example: "meilisearch http://127.0.0.1:7700",
			block: meilisearchWords(new(app.MeilisearchIndex)), optional: true,
		},
		{args: "<module> ..."},
	}
}

func meilisearchWords(m *app.MeilisearchIndex) []word {
	return []word{
		secretWord("api_key", "{env.MEILI_KEY}", &m.APIKey),
		secretWord("search_key", "{env.MEILI_SEARCH_KEY}", &m.SearchKey),
		{name: "semantic_ratio", forms: is("<0-1>", "0.5"), parse: func(l line) error {
			s, err := l.one()
			if err != nil {
				return err
			}
			f, err := strconv.ParseFloat(s, 64)
			if err != nil || !(f >= 0 && f <= 1) {
				return l.refuse("%q is not a number from 0 (keywords only) to 1 (meaning only)", s)
			}
			m.SemanticRatio = &f
			return nil
		}},
		{name: "fallback", forms: is("embedded", "embedded"), parse: func(l line) (err error) {
			m.Fallback, err = l.choice("embedded")
			return err
		}},
		{name: "embedder", forms: is("<name>", "default"), parse: func(l line) (err error) {
			m.Embedder, err = serverEmbedder(l)
			return err
		}},
	}
}

// serverEmbedder reads the name of an embedder in a Meilisearch server's
// settings.
func serverEmbedder(l line) (string, error) {
	name, err := l.one()
	if err != nil {
		return "", err
	}
	if strings.Contains(name, "://") {
		return "", l.refuse("%q is an address; an endpoint for embeddings stands in the docs block: embedder %s <model>", name, name)
	}
	if err := checkLiteral(name); err != nil {
		return "", l.usage(err.Error())
	}
	return name, nil
}

// secretWord is a word whose argument is a placeholder for a secret.
func secretWord(name, example string, to *string) word {
	return word{name: name, forms: is("<placeholder>", example), parse: func(l line) error {
		s, err := l.one()
		if err != nil {
			return err
		}
		if err := checkSecret(s); err != nil {
			return l.usage(err.Error())
		}
		*to = s
		return nil
	}}
}

// guest reads the words of another plugin's module, whose name the
// dispenser stands on.
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
