package admin

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"
	"golang.org/x/sync/errgroup"

	"github.com/caddy-docs/caddy-docs/contract"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/model"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// Status is what GET /docs/status on the admin API answers.
type Status struct {
	Sites []SiteStatus `json:"sites"`
	// Folders are the folders of sites.
	Folders []app.FolderStatus `json:"folders,omitempty"`
	// Model is the model's name, "" for extractive replies.
	Model string `json:"model,omitempty"`
	// Models are the endpoints that are asked, in order, and their breakers.
	Models []model.State `json:"models,omitempty"`
	// Embedder is the embedder's name, "" for keyword search only.
	Embedder string `json:"embedder,omitempty"`
	// Storage is where keys and threads are kept, DataDir where indexes are.
	Storage string `json:"storage"`
	DataDir string `json:"data_dir"`
	// ThreadsTTL is how long conversations are kept, in seconds; 0: not.
	ThreadsTTL float64 `json:"threads_ttl_seconds"`
}

// SiteStatus is the status of one site.
type SiteStatus struct {
	Name         string `json:"name"`
	Organization string `json:"organization"`
	// Title is the site's name for people.
	Title string `json:"title,omitempty"`
	URL   string `json:"url,omitempty"`
	// API is the URL that the site's API is below: its path alone if the host
	// is not known, "" if no route serves it.
	API string `json:"api,omitempty"`
	// APIProblem is what keeps requests from the API.
	APIProblem string `json:"api_problem,omitempty"`
	// MCP is the URL of the MCP server that wants no key, "" for none.
	MCP     string           `json:"mcp,omitempty"`
	Root    string           `json:"root,omitempty"`
	Sitemap string           `json:"sitemap,omitempty"`
	HasKey  bool             `json:"has_key"`
	EditURL string           `json:"-"`
	Index   retrieval.Status `json:"index"`
	// Servers are those that have the site's index; none for the index inside
	// the process.
	Servers []meilisearch.ServerStatus `json:"servers,omitempty"`
	// Pages are the pages of the index by what a stranger gets; nil before the
	// index is open.
	Pages *reach.Counts `json:"pages,omitempty"`
	// Budget is what the site has spent; nil without a budget.
	Budget *site.BudgetStatus `json:"budget,omitempty"`
	// Limits are those that the site's organization has used within their
	// windows, Refused its requests that limits refused in the last 24 hours.
	Limits  []site.LimitStatus `json:"limits,omitempty"`
	Refused site.RefusedStatus `json:"refused"`
}

// Named returns the statuses of some sites, or an error for an unknown one.
func (s *Status) Named(names ...string) (sites []SiteStatus, err error) {
	var all []string
	for i := range s.Sites {
		all = append(all, s.Sites[i].Name)
	}
	for _, name := range names {
		i := slices.Index(all, name)
		if i < 0 {
			return nil, noSite(name, all)
		}
		sites = append(sites, s.Sites[i])
	}
	return sites, nil
}

// Status returns the status of the sites and of what they use.
func (a API) Status() Status {
	s := Status{
		Embedder: a.Embedder(), Storage: a.Storage().String(), Folders: a.FolderStatuses(),
		DataDir: a.DataDir, ThreadsTTL: a.ThreadsTTL().Seconds(),
	}
	if m := a.Model(); m != nil {
		s.Model, s.Models = m.Name(), m.States()
	}
	sites := a.All()
	for _, r := range sites {
		st := SiteStatus{
			Name: r.Name, Organization: r.Organization, Title: r.Config.Name, URL: r.Config.URL, EditURL: r.Config.EditURL, Root: r.Config.Root, Sitemap: r.Config.Sitemap,
			HasKey: r.Keys.Opened(r.Organization, r.Name), Budget: r.Budget.Status(),
		}
		st.Limits, st.Refused = a.Shared().Limits.Status(r.Organization)
		st.API, st.APIProblem = a.API(r.Name)
		st.MCP = a.MCP(r.Name)
		if r.Index != nil {
			st.Index = r.Index.Refresher.Status()
			counts := reach.CountOf(r.Reach.Pages())
			st.Pages = &counts
		}
		s.Sites = append(s.Sites, st)
	}
	askServers(sites, s.Sites)
	return s
}

// serversTimeout is how long a status waits for search servers, and
// serversAtOnce the number of sites that it asks about at a time.
const (
	serversTimeout = 2 * time.Second
	serversAtOnce  = 8
)

// askServers adds to the statuses of sites those of the servers that have
// their indexes.
func askServers(sites []*site.Site, statuses []SiteStatus) {
	ctx, cancel := context.WithTimeout(context.Background(), serversTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(serversAtOnce)
	for i, r := range sites {
		if r.Index == nil {
			continue
		}
		if index, ok := r.Index.Index.(*meilisearch.Index); ok {
			group.Go(func() error {
				statuses[i].Servers = index.Status(ctx)
				return nil
			})
		}
	}
	_ = group.Wait() // none fails
}

// Version says what a binary is, and which forms of stored data it writes.
type Version struct {
	Module string `json:"module"`
	Caddy  string `json:"caddy"`
	Go     string `json:"go"`
	System string `json:"system"`
	// IndexFormat is that of the index inside the process.
	IndexFormat int `json:"index_format"`
	// InsightsSchema is that of the tables of the insights.
	InsightsSchema int `json:"insights_schema"`
}

// Versions returns those of this binary.
func Versions() Version {
	simple, _ := caddy.Version()
	v := Version{
		Module: contract.Release(), Caddy: simple, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
		IndexFormat: embedded.SnapshotFormat, InsightsSchema: insights.Schema(),
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, m := range append([]*debug.Module{&build.Main}, build.Deps...) {
		// Caddy finds its own version only in binaries of xcaddy.
		if m.Path == caddy.ImportPath && (v.Caddy == "" || v.Caddy == "unknown") {
			v.Caddy = m.Version
		}
	}
	return v
}
