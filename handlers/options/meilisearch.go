package options

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// MeilisearchIndex is docs.index.meilisearch: the index in Meilisearch
// servers that the operator runs. URLs and keys may have placeholders.
type MeilisearchIndex struct {
	// The URLs of independent servers, each of which gets the whole index. One
	// is searched, and the others when it fails.
	URLs []string `json:"urls"`

	// The key for indexing, and for searching without a search_key. Write it as
	// a placeholder like {env.MEILI_KEY}.
	APIKey string `json:"api_key,omitempty"`

	// The key for searching. Default: api_key.
	SearchKey string `json:"search_key,omitempty"`

	// The key that other clients search with. With it, the servers also have
	// indexes of the public pages for them. Default: none.
	ViewKey string `json:"view_key,omitempty"`

	// The beginning of the names of the indexes in the servers, which go on with
	// the site's name and a language. Caddys that don't share a storage need
	// different ones. Default: docs.
	Prefix string `json:"prefix,omitempty"`

	// The weight of semantic search, from 0 (keyword search only) to 1 (semantic
	// search only); it needs an embedder, which has the same option. Default:
	// the embedder's, else 0.5.
	SemanticRatio *float64 `json:"semantic_ratio,omitempty"`

	// Set to "server" to leave the order of results to Meilisearch: its hybrid
	// search, ranking rules, typo settings and synonyms. Default: Caddy ranks them.
	Ranking string `json:"ranking,omitempty"`

	// Set to "embedded" to answer from an index inside the process while no
	// server answers. Default: search fails then.
	Fallback string `json:"fallback,omitempty"`

	// The name of an embedder in the servers' settings. Default: none.
	Embedder string `json:"embedder,omitempty"`
}

func (MeilisearchIndex) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.index.meilisearch", New: func() caddy.Module { return new(MeilisearchIndex) }}
}

// Provision replaces placeholders. The servers need not be there yet.
func (m *MeilisearchIndex) Provision(caddy.Context) error {
	if err := replaceAll(map[string]*string{"api_key": &m.APIKey, "search_key": &m.SearchKey, "view_key": &m.ViewKey}); err != nil {
		return err
	}
	for _, key := range []*string{&m.APIKey, &m.SearchKey, &m.ViewKey} {
		*key = strings.TrimSpace(*key)
	}
	for i, address := range m.URLs {
		v, err := Replaced("url", address)
		if err != nil {
			return err
		}
		m.URLs[i] = strings.TrimRight(v, "/")
	}
	return nil
}

// OpenIndex opens a site's index in the servers. It waits a second at most
// for those that don't answer, and fails where one is too old.
func (m *MeilisearchIndex) OpenIndex(o IndexOptions) (retrieval.Index, error) {
	return meilisearch.Open(m.options(o))
}

func (m *MeilisearchIndex) options(o IndexOptions) meilisearch.Options {
	return meilisearch.Options{
		URLs: m.URLs, Prefix: m.Prefix, Site: o.Site, Key: m.APIKey, SearchKey: m.SearchKey, ViewKey: m.ViewKey, Model: o.Model,
		SemanticRatio: cmp.Or(m.SemanticRatio, o.SemanticRatio), Embedder: m.Embedder, ServerRanking: m.Ranking == "server", Fallback: m.Fallback == "embedded",
		Dir: o.Dir, Synonyms: o.Synonyms, StopWords: o.StopWords, Log: o.Log, Owner: o.Owner, Locker: o.Locker,
	}
}

var indexPrefix = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

func (m *MeilisearchIndex) Validate() error {
	c := new(Checker)
	if len(m.URLs) == 0 {
		c.Fail("urls", "is missing; set it to servers like http://127.0.0.1:7700")
	}
	for i, u := range m.URLs {
		c.required("urls", u)
		c.baseURL("urls", u)
		if slices.Contains(m.URLs[:i], u) {
			c.Fail("urls", "%s is named twice", u)
		}
	}
	c.semanticRatio(m.SemanticRatio)
	c.OneOf("ranking", m.Ranking, "server")
	c.OneOf("fallback", m.Fallback, "embedded")
	if m.Prefix != "" && !indexPrefix.MatchString(m.Prefix) {
		c.Fail("prefix", "%q must be lower-case letters, digits and dashes, beginning with a letter, at most 40, like docs-staging", m.Prefix)
	}
	c.literal("embedder", m.Embedder)
	if strings.Contains(m.Embedder, "://") {
		c.Fail("embedder", "%q must be a name in the servers' settings, not a URL", m.Embedder)
	}
	return c.Err()
}
