package options

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/caddy-docs/caddy-docs/access"
)

// FixedKey is a key written in the configuration.
type FixedKey struct {
	// The key's SHA-256 hash, in hexadecimal. The Caddyfile adapter writes it,
	// so that the configuration doesn't hold the key.
	SHA256 string `json:"sha256,omitempty"`

	// The key itself instead of its hash: a placeholder like {env.DOCS_KEY}, as
	// the configuration can be read at GET /config/.
	Key string `json:"key,omitempty"`

	// The name in lists of keys.
	Name string `json:"name,omitempty"`

	// The organization whose sites the key opens. Default: that of the sites
	// below, or of all sites, if they have the same.
	Organization string `json:"organization,omitempty"`

	// The sites that the key opens. Default: all of the organization.
	Sites []string `json:"sites,omitempty"`

	// The origins from which browsers may use the key, besides each site's
	// own. Default: any.
	Origins []string `json:"origins,omitempty"`
}

func (k *FixedKey) Validate() error {
	c := new(Checker)
	switch {
	case k.SHA256 == "" && k.Key == "":
		c.Fail("key", "is missing; set key to a placeholder like {env.DOCS_KEY}, or sha256 to the key's hash")
	case k.SHA256 != "" && k.Key != "":
		c.Fail("key", "set either key or sha256, not both")
	case k.SHA256 != "":
		if sum, err := hex.DecodeString(k.SHA256); err != nil || len(sum) != sha256.Size {
			c.Fail("sha256", "%q must be 64 hexadecimal digits", k.SHA256)
		}
	case !c.replaced("key", k.Key):
		if err := access.CheckFixed(k.Key); err != nil {
			c.Fail("key", "%v", err)
		}
	}
	c.Text("name", k.Name, 100)
	if k.Organization != "" {
		c.Name("organization", k.Organization)
	}
	for i, name := range k.Sites {
		c.Name("sites", name)
		if slices.Contains(k.Sites[:i], name) {
			c.Fail("sites", "%s is named twice", name)
		}
	}
	for _, o := range k.Origins {
		if _, err := access.ParseOrigin(o); err != nil {
			c.Fail("origins", "%v", err)
		}
	}
	return c.Err()
}

// Hash returns the key's SHA-256 hash.
func (k *FixedKey) Hash() (string, error) {
	if k.Key == "" {
		return k.SHA256, nil
	}
	secret, err := Replaced("its value", k.Key)
	if err != nil {
		return "", err
	}
	if err := access.CheckFixed(secret); err != nil {
		return "", err
	}
	return access.Hash(secret), nil
}
