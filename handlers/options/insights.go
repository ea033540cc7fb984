package options

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/insights/postgres"
	"github.com/caddy-docs/caddy-docs/insights/sqlite"
)

// Insights sets what is recorded of searches, questions, clicks and feedback,
// where, and for how long. No addresses, user agents or fingerprints of
// readers are recorded.
type Insights struct {
	// Records nothing. Default: false.
	Off bool `json:"off,omitempty"`

	// The database: docs.insights.sqlite, a file, or docs.insights.postgres, for
	// several Caddys. Default: sqlite.
	StoreRaw json.RawMessage `json:"store,omitempty" caddy:"namespace=docs.insights inline_key=backend"`

	// How long events are kept, from 1d to 400d. Counts by day are kept for 13
	// months, without texts that were seen less than three times. Default: 90d.
	Retention caddy.Duration `json:"retention,omitempty"`

	// Whether queries, questions and comments are kept: "on", or "off" for
	// counts only. Default: on.
	Texts string `json:"texts,omitempty"`

	// Whether clicks on results are recorded: "on" or "off". Default: on.
	Clicks string `json:"clicks,omitempty"`

	// Where each event is also written as a line of JSON: a file, or "stdout".
	// Default: nowhere.
	JSONL string `json:"jsonl,omitempty"`
}

// Validate checks the fields. The store checks itself.
func (i *Insights) Validate() error {
	c := new(Checker)
	c.Duration("retention", i.Retention, day, 400*day)
	c.OneOf("texts", i.Texts, "on", "off")
	c.OneOf("clicks", i.Clicks, "on", "off")
	c.file("jsonl", i.JSONL)
	if i.Off && (i.StoreRaw != nil || i.Retention != 0 || i.Texts != "" || i.Clicks != "" || i.JSONL != "") {
		c.Fail("off", "set either off or other settings, not both")
	}
	return c.Err()
}

// file checks the name of a file.
func (c *Checker) file(field, name string) {
	switch {
	case strings.Contains(name, "://"):
		c.Fail(field, "%q must be a file, not a URL", name)
	case strings.HasSuffix(name, "/"):
		c.Fail(field, "%q must be a file, not a folder", name)
	case strings.ContainsRune(name, 0):
		c.Fail(field, "%q has a zero byte", name)
	}
	c.replaced(field, name)
}

// InsightsOpener is a module of the namespace docs.insights.
type InsightsOpener interface {
	// OpenInsights opens the store. dir is the folder for data.
	OpenInsights(ctx context.Context, dir string) (*insights.Store, error)
	// Describe names it, without secrets.
	Describe(dir string) string
}

// SQLiteInsights is docs.insights.sqlite: a file on a disk of this machine,
// for one Caddy. Network file systems can't hold it.
type SQLiteInsights struct {
	// The file. A relative name is below data_dir. Default: insights.db.
	File string `json:"file,omitempty"`
}

// PostgresInsights is docs.insights.postgres: a Postgres database, which
// several Caddys may share. Its tables begin with docs_.
type PostgresInsights struct {
	// The connection string, like postgres://docs@db.internal/docs. One with a
	// password is written as a placeholder like {env.DOCS_DATABASE}.
	DSN string `json:"dsn"`
}

func (SQLiteInsights) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.insights.sqlite", New: func() caddy.Module { return new(SQLiteInsights) }}
}

func (s *SQLiteInsights) Provision(caddy.Context) error {
	return replaceAll(map[string]*string{"file": &s.File})
}

func (s *SQLiteInsights) Validate() error {
	c := new(Checker)
	c.file("file", s.File)
	return c.Err()
}

// Describe returns the file's name.
func (s *SQLiteInsights) Describe(dir string) string {
	file := cmp.Or(s.File, "insights.db")
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	return file
}

// OpenInsights opens or creates the file.
func (s *SQLiteInsights) OpenInsights(ctx context.Context, dir string) (*insights.Store, error) {
	return sqlite.Open(ctx, s.Describe(dir))
}

func (PostgresInsights) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.insights.postgres", New: func() caddy.Module { return new(PostgresInsights) }}
}

func (p *PostgresInsights) Provision(caddy.Context) error {
	return replaceAll(map[string]*string{"dsn": &p.DSN})
}

// Validate checks the connection string, after its placeholders were replaced
// or before.
func (p *PostgresInsights) Validate() error {
	c := new(Checker)
	c.required("dsn", p.DSN)
	if p.DSN != "" && !c.replaced("dsn", p.DSN) {
		if err := postgres.Check(p.DSN); err != nil {
			c.Fail("dsn", "%v", err)
		}
	}
	return c.Err()
}

// OpenInsights connects to the database.
func (p *PostgresInsights) OpenInsights(ctx context.Context, _ string) (*insights.Store, error) {
	return postgres.Open(ctx, p.DSN)
}

// Describe returns the host and the database.
func (p *PostgresInsights) Describe(string) string {
	if u, err := url.Parse(p.DSN); err == nil && u.Host != "" {
		return "postgres://" + u.Host + u.Path
	}
	return "postgres"
}

// Interface guards. What Caddy provisions and validates by an interface, it
// silently leaves alone without it.
var (
	_ IndexOpener    = (*EmbeddedIndex)(nil)
	_ IndexOpener    = (*MeilisearchIndex)(nil)
	_ EmbedderOpener = (*OpenAIEmbedder)(nil)
	_ ModelOpener    = (*OpenAIModel)(nil)
	_                = []InsightsOpener{(*SQLiteInsights)(nil), (*PostgresInsights)(nil)}
	_                = []caddy.Provisioner{(*MeilisearchIndex)(nil), (*OpenAIEmbedder)(nil), (*OpenAIModel)(nil), (*SQLiteInsights)(nil), (*PostgresInsights)(nil)}
	_                = []caddy.Validator{(*MeilisearchIndex)(nil), (*OpenAIEmbedder)(nil), (*OpenAIModel)(nil), (*SQLiteInsights)(nil), (*PostgresInsights)(nil)}
)
