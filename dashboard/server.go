package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/links"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// Server is what the dashboard shows, and what its forms change.
type Server interface {
	// Sites returns the sites that the dashboard is for, by organization and
	// name. The caller may change the slice.
	Sites() []Site
	// Pages returns a site's pages by URL, or retrieval.ErrNotReady.
	Pages(ctx context.Context, site string) ([]Page, error)
	// Links returns what the last check of a site's links found, nil before it, and
	// checks them again in the background if the pages have changed.
	Links(site string) *links.Report
	// PageAt returns the name of the page at a path of a site, "" for none, and
	// Former the one that was at a path without a page, nil for none.
	PageAt(site, path string) string
	Former(site, path string) *moved.Former
	// Search returns the first results of a query as a stranger gets them, and
	// how many there are. The error may wrap ErrRefused.
	Search(ctx context.Context, site, query string) (results []encoding.Result, total int, err error)
	// Explain returns what a stranger's question is answered from. The error may
	// wrap ErrRefused.
	Explain(ctx context.Context, site, question string) (*assistant.Explanation, error)

	// Ask answers a question as a stranger gets it. Nothing of it is recorded.
	// The error may wrap ErrRefused.
	Ask(ctx context.Context, site, question string) (*assistant.Result, error)

	// Vectors returns the vectors of texts, none where nothing embeds.
	Vectors(ctx context.Context, site string, texts []string) ([][]float32, error)

	// Insights returns the store of what readers did, or ErrOff.
	Insights(ctx context.Context) (*insights.Store, error)
	// Conversation returns what is kept of a conversation, oldest first. Answers
	// from pages that the visitor's own request can't open are marked as locked.
	Conversation(r *http.Request, site, thread string) ([]Answer, error)
	// Erase deletes what readers left, conversations included.
	Erase(ctx context.Context, site string, e insights.Erasure) (insights.Erased, error)

	// Keys returns the keys of all organizations.
	Keys(ctx context.Context) ([]*access.Key, error)
	// AddKey stores a key by its access.Record, RevokeKey deletes one.
	AddKey(ctx context.Context, record []byte) error
	RevokeKey(ctx context.Context, id string) error

	// RefreshSoon looks for changes of a site's pages in the background.
	RefreshSoon(site string) error
}

// Site is a site and its state.
type Site struct {
	Name         string
	Organization string
	// Title is the site's name for people, "" for none.
	Title string
	// URL is where its pages are, "" if that is not known.
	URL string
	// API is the URL that its API is below, a path if the host is not known, ""
	// if no route serves it.
	API string
	// EditURL is where a page is edited, with {source} or {page}; "" if that is
	// not known.
	EditURL string
	Index   retrieval.Status
	// Pages are the pages by what a stranger gets, nil before the index is
	// open.
	Pages *PageCounts
	// Model and Embedder are "" for none. Models are the model and those that
	// step in for it.
	Model    string
	Models   []Model
	Embedder string
	// Budgets are the limits on the model, none without. While one is used up,
	// replies quote the pages.
	Budgets []Quota
	// Limits are the organization's limits on requests.
	Limits []Quota
	// RefusedClients and RefusedOrganization are the requests of the last 24
	// hours that were over the limit of a client or of the organization.
	RefusedClients, RefusedOrganization int
	// Threads is how long conversations are kept, "" if they are not.
	Threads string
	// Problems are what needs someone.
	Problems []Problem
}

// Label is what people call the site.
func (s *Site) Label() string { return cmp.Or(s.Title, s.Name) }

// PageCounts are how many pages are in each state.
type PageCounts struct {
	Public, Locked, NotServed, Duplicate, Unknown int
}

// Quota is what may be spent or sent within a window of time.
type Quota struct {
	// Of is what is counted: tokens or requests of the model, or a part of the
	// API.
	Of          string
	Used, Limit int64
	// Window is a sliding window's length for people: hour, 30 minutes. Until is
	// when another window ends.
	Window string
	Until  time.Time
}

// Percent is the share that is used, up to 100.
func (q Quota) Percent() int64 {
	if q.Used >= q.Limit {
		return 100
	}
	return 100 * max(q.Used, 0) / q.Limit
}

// Model is a model and whether it answers.
type Model struct {
	Name string
	// Down is set while it is not asked after failures, until a time.
	Down  bool
	Until time.Time
}

// Problem is something that does not work, and what to do.
type Problem struct {
	What, Do string
	// Admin is set for what only administrators are shown: paths and addresses
	// of the server.
	Admin bool
}
