package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
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

	// The beginning of the names of the indexes in the servers, which go on with
	// the site's name and a language. Caddys that don't share a storage need
	// different ones. Default: docs.
	Prefix string `json:"prefix,omitempty"`

	// The weight of semantic search, from 0 (keyword search only) to 1 (semantic
	// search only); it needs an embedder, which has the same option. Default:
	// the embedder's, else 0.5.
	SemanticRatio *float64 `json:"semantic_ratio,omitempty"`

	// Set to "embedded" to answer from an index inside the process while no
	// server answers. Default: search fails then.
	Fallback string `json:"fallback,omitempty"`

	// The name of an embedder in the servers' settings. Default: none.
	Embedder string `json:"embedder,omitempty"`
}

// CaddyModule returns the Caddy module information.
func (MeilisearchIndex) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.index.meilisearch", New: func() caddy.Module { return new(MeilisearchIndex) }}
}

// Provision replaces placeholders. The servers need not be there yet.
func (m *MeilisearchIndex) Provision(caddy.Context) error {
	for name, key := range map[string]*string{"api_key": &m.APIKey, "search_key": &m.SearchKey} {
		v, err := replaced(name, *key)
		if err != nil {
			return err
		}
		*key = strings.TrimSpace(v)
	}
	for i, address := range m.URLs {
		v, err := replaced("url", address)
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
	options := meilisearch.Options{
		URLs: m.URLs, Prefix: m.Prefix, Site: o.Site, Key: m.APIKey, SearchKey: m.SearchKey,
		SemanticRatio: cmp.Or(m.SemanticRatio, o.SemanticRatio), Embedder: m.Embedder, Fallback: m.Fallback == "embedded",
		Dir: o.Dir, Synonyms: o.Synonyms, StopWords: o.StopWords, Log: o.Log,
	}
	if o.Locker != nil {
		options.Locker = o.Locker
	}
	if s, ok := o.Locker.(*store); ok {
		options.Owner = func(ctx context.Context) (meilisearch.Owner, error) { return indexOwner(ctx, s) }
	}
	return options
}

// ownerKey is where the storage keeps the ID that its indexes in servers have.
const ownerKey = "docs/index/owner"

// indexOwner is the owner of the indexes of all Caddys with a storage.
func indexOwner(ctx context.Context, s *store) (meilisearch.Owner, error) {
	in, err := s.newest()
	if err != nil {
		return meilisearch.Owner{}, err
	}
	host, _ := os.Hostname()
	owner := meilisearch.Owner{Name: strings.TrimSpace("the one with the storage " + describeStorage(in) + " on " + host)}
	id, err := s.Get(ctx, ownerKey)
	if errors.Is(err, fs.ErrNotExist) {
		const lock = "docs_index_owner"
		if err := s.Lock(ctx, lock); err != nil {
			return owner, err
		}
		defer func() { _ = s.Unlock(context.WithoutCancel(ctx), lock) }()
		if id, err = s.Get(ctx, ownerKey); errors.Is(err, fs.ErrNotExist) {
			id = []byte(rand.Text())
			err = s.Put(ctx, ownerKey, id)
		}
	}
	owner.ID = string(id)
	return owner, err
}

// embedderName names what makes vectors, "" where nothing does.
func (a *App) embedderName() string {
	if a.embedders != nil {
		return a.embedders.Describe()
	}
	if m, ok := a.indexes.(*MeilisearchIndex); ok && m.Embedder != "" {
		return m.Embedder + " of the Meilisearch servers"
	}
	return ""
}

// checkIndex adds what Doctor finds about a site's index in servers.
func (a *App) checkIndex(ctx context.Context, r *LiveSite, c *checks) {
	m, ok := a.indexes.(*MeilisearchIndex)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	var index *meilisearch.Index
	if r.index != nil {
		index, _ = r.index.index.(*meilisearch.Index)
	}
	if index == nil { // the command line works on a configuration that is not started
		opened, err := meilisearch.Open(m.options(IndexOptions{Site: r.Name, Log: a.ctx.Slogger()}))
		if err != nil {
			c.add("site "+r.Name+" meilisearch", err, "", "see the manual's page on Meilisearch")
			return
		}
		defer opened.Close()
		index = opened
	}
	for _, f := range index.Check(ctx) {
		c.add("site "+r.Name+" "+f.What, f.Err, f.Found, f.Do)
	}
}

// Interface guards
var (
	_ IndexOpener       = (*MeilisearchIndex)(nil)
	_ caddy.Provisioner = (*MeilisearchIndex)(nil)
)
