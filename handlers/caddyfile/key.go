package caddyfile

import (
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/app"
)

// parseKey reads `key <key> [{…}]`. What is adapted holds the key's hash, or
// the placeholder that names where the key is.
func (o *option) parseKey(l line) error {
	secret, err := l.one()
	if err != nil {
		return err
	}
	k := new(app.FixedKey)
	if secretForm.MatchString(secret) {
		k.Key = secret
	} else {
		if strings.HasPrefix(secret, "{") {
			return l.refuse("%s can't stand for a key; {env.NAME} and {file./path/to/file} can", secret)
		}
		if err := access.CheckFixed(secret); err != nil {
			return l.usage(err.Error())
		}
		k.SHA256 = access.Hash(secret)
	}
	for _, other := range o.app.Keys {
		if other.SHA256 == k.SHA256 && other.Key == k.Key {
			return l.usage("this key is defined twice; keep one")
		}
	}
	o.app.Keys = append(o.app.Keys, k)
	return parseBlock(l.Dispenser, "key", keyWords(k))
}

func keyWords(k *app.FixedKey) []word {
	return []word{
		{name: "organization", forms: is("<name>", "acme-inc"), parse: func(l line) (err error) {
			k.Organization, err = organization(l)
			return err
		}},
		{name: "sites", forms: is("<site>...", "acme"), repeat: true, parse: func(l line) error {
			sites, err := l.some(1)
			if err != nil {
				return err
			}
			for _, s := range sites {
				if err := checkSiteName(s); err != nil {
					return l.usage(err.Error())
				}
				if slices.Contains(k.Sites, s) {
					return l.refuse("%s is named twice", s)
				}
				k.Sites = append(k.Sites, s)
			}
			return nil
		}},
		{name: "origins", forms: is("<origin>...", "https://acme.com"), repeat: true, parse: func(l line) error {
			origins, err := l.some(1)
			if err != nil {
				return err
			}
			for _, s := range origins {
				origin, err := access.ParseOrigin(s)
				if err != nil {
					return l.usage(err.Error())
				}
				k.Origins = append(k.Origins, origin.String())
			}
			return nil
		}},
		{name: "name", forms: is("<text>", `"Acme front end"`), parse: func(l line) (err error) {
			k.Name, err = text(l, 100)
			return err
		}},
	}
}
