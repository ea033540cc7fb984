package caddyfile

import (
	"strings"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/options"
)

// parseKey reads `key <key> [{…}]`. The adapted configuration has the key's
// hash, or the placeholder that names its source.
func (o *option) parseKey(l line) error {
	secret, err := l.one()
	if err != nil {
		return err
	}
	k := new(options.FixedKey)
	if strings.HasPrefix(secret, "{") {
		k.Key = secret
	} else {
		if err := access.CheckFixed(secret); err != nil {
			return l.refuse("%v", err)
		}
		k.SHA256 = access.Hash(secret)
	}
	for _, other := range o.app.Keys {
		if other.SHA256 == k.SHA256 && other.Key == k.Key {
			return l.refuse("this key is defined twice; keep one")
		}
	}
	o.app.Keys = append(o.app.Keys, k)
	return parseBlock(l, "key", keyWords(k), k.Validate)
}

func keyWords(k *options.FixedKey) []word {
	return []word{
		textWord("organization", "<name>", "acme-inc", &k.Organization),
		listWord("sites", "<site>...", "acme", &k.Sites),
		listWord("origins", "<origin>...", "https://acme.com", &k.Origins),
		textWord("name", "<text>", `"Acme front end"`, &k.Name),
	}
}
