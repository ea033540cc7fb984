package options

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/caddyserver/caddy/v2"
)

// App holds the options of the Caddy app docs.
type App struct {
	// The sites by name. The name is the {domain} of the API's paths, a DNS
	// label: 1 to 63 of a-z 0-9 -, with no hyphen at either end. HTTP routes may
	// define further sites, as the directive docs does.
	Sites map[string]*Site `json:"sites,omitempty"`

	// Directories whose subdirectories are sites.
	SiteFolders []*SiteFolders `json:"site_folders,omitempty"`

	// Groups of sites by name, which is a {domain} like a site's.
	Groups map[string]*Group `json:"groups,omitempty"`

	// Fixed keys. `caddy docs key create` makes others, which are stored.
	Keys []*FixedKey `json:"keys,omitempty"`

	// The index that is searched: docs.index.embedded, inside the process, or
	// docs.index.meilisearch. Default: embedded.
	IndexRaw json.RawMessage `json:"index,omitempty" caddy:"namespace=docs.index inline_key=backend"`

	// The source of embeddings, which makes search hybrid:
	// docs.embedder.openai. Default: none, keyword search only.
	EmbedderRaw json.RawMessage `json:"embedder,omitempty" caddy:"namespace=docs.embedder inline_key=provider"`

	// The model that writes replies: docs.llm.openai. Default: none, and
	// replies quote the documentation.
	LLMRaw json.RawMessage `json:"llm,omitempty" caddy:"namespace=docs.llm inline_key=provider"`

	// How long conversations are kept. Default: 30 days.
	Threads *Threads `json:"threads,omitempty"`

	// What is recorded of searches, questions, clicks and feedback. Default: in a
	// file in data_dir, for 90 days.
	Insights *Insights `json:"insights,omitempty"`

	// How long replies in progress may continue when the process ends and the HTTP
	// app has no grace_period, from 1s to 24h; then they end with an error in
	// the stream. Default: 30s.
	StopTimeout caddy.Duration `json:"stop_timeout,omitempty"`

	// The folder for indexes and embeddings. Default: the folder docs in
	// Caddy's data directory.
	DataDir string `json:"data_dir,omitempty"`
}

// Validate checks the configuration, in which Provision found nothing that is
// null. Guest modules are checked on their own.
func (a *App) Validate() error {
	c := new(Checker)
	for name, s := range a.Sites {
		c.Name("sites", name)
		c.Within("site "+name, s.Validate())
		if s.Root == "" && s.Sitemap == "" && s.SourcesRaw == nil && s.sources == nil {
			c.Fail("site "+name, "has no pages; set root to a folder, or sitemap to a URL")
		}
	}
	for name, g := range a.Groups {
		c.Name("groups", name)
		c.Within("group "+name, g.Validate())
		if a.Sites[name] != nil {
			c.Fail("groups", "%s is the name of a site, too; give the group another one", name)
		}
	}
	for i, f := range a.SiteFolders {
		c.Within(fmt.Sprintf("site_folders %d", i+1), f.Validate())
	}
	for i, k := range a.Keys {
		c.Within(fmt.Sprintf("key %d", i+1), k.Validate())
	}
	if a.Threads != nil {
		c.Within("threads", a.Threads.Validate())
	}
	if a.Insights != nil {
		c.Within("insights", a.Insights.Validate())
	}
	c.Duration("stop_timeout", a.StopTimeout, 100*time.Millisecond, day)
	c.replaced("data_dir", a.DataDir)
	return c.Err()
}

// Resolve replaces the placeholders of the options, and loads the sources of
// sites.
func (a *App) Resolve(ctx caddy.Context) (err error) {
	if a.DataDir, err = Replaced("data_dir", a.DataDir); err != nil {
		return err
	}
	a.DataDir = cmp.Or(a.DataDir, filepath.Join(caddy.AppDataDir(), "docs"))
	for name, s := range a.Sites {
		if s == nil {
			return fmt.Errorf("site %s: is null; give it a root or a sitemap", name)
		}
		if err := s.Provision(ctx, name); err != nil {
			return err
		}
	}
	for name, g := range a.Groups {
		if g == nil {
			return fmt.Errorf("group %s: is null; give it sites", name)
		}
		if err := g.Site.resolve(name); err != nil {
			return err
		}
	}
	for i, f := range a.SiteFolders {
		if f == nil {
			return fmt.Errorf("site_folders %d: is null; give it folders and site", i+1)
		}
		if err := f.resolve(); err != nil {
			return fmt.Errorf("sites %s: %w", f.Folders, err)
		}
	}
	return nil
}

// Threads sets how long conversations are kept.
type Threads struct {
	// Keeps no conversations: each request has to bring its own. Default: false.
	Off bool `json:"off,omitempty"`

	// How long a conversation is kept after its last turn, from 1m to 3650d.
	// Default: 30d.
	TTL caddy.Duration `json:"ttl,omitempty"`
}

// Validate checks how long conversations are kept.
func (t *Threads) Validate() error {
	c := new(Checker)
	c.Duration("ttl", t.TTL, time.Minute, 3650*day)
	if t.Off && t.TTL != 0 {
		c.Fail("ttl", "set either ttl or off, not both")
	}
	return c.Err()
}

// ThreadsTTL is how long conversations are kept; 0: not at all.
func (a *App) ThreadsTTL() time.Duration {
	switch {
	case a.Threads == nil || !a.Threads.Off && a.Threads.TTL == 0:
		return 30 * day
	case a.Threads.Off:
		return 0
	}
	return time.Duration(a.Threads.TTL)
}
