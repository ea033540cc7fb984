package site

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/handlers/hosting"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/links"
)

// Site is a live site: it answers searches and questions.
type Site struct {
	Name         string
	Organization string
	Config       *options.Site

	// Host is that of Config.URL, in lower case and without port, "" if it is not
	// known; Prefix its path, without a slash at its end.
	Host, Prefix string
	// Hosts are those of the routes that define or name the site. Routed is true
	// if one defines it.
	Hosts  []string
	Routed bool
	// RefusedWidget is a page that can't have the widget, nil if none is known.
	RefusedWidget atomic.Pointer[RefusedWidget]

	*Shared

	// What the site has while it is open.
	Index  *Index
	Reach  *reach.Gate
	Budget *Budget // nil: no bound
	// Members returns the sites of a group now, in the order of their names; nil
	// for a site.
	Members func() []*Site
	// Slots are the replies in progress, by their bound: a *semaphore.Weighted.
	// They outlive a reload, with the replies that hold them.
	Slots *sync.Map

	origin    string // of Config.URL
	served    atomic.Pointer[Pages]
	answering *assistant.Assistant
	quoting   *assistant.Assistant // without a model, for when the budget is spent
	links     struct {             // what a check of them found
		checking *semaphore.Weighted // one check at a time
		mu       sync.Mutex
		report   *links.Report
		pages    []*retrieval.Document // that were checked
	}
}

// RefusedWidget is a page whose Content-Security-Policy refuses the widget, and
// the directive that does.
type RefusedWidget struct{ Page, Directive string }

// Shared is what the sites of a configuration have in common.
type Shared struct {
	Log       *zap.Logger
	Slog      *slog.Logger
	Keys      *access.Keys
	Tokens    *access.Tokens
	Limits    *Limits
	Threads   *Threads
	Recording *Recording
	// Stopping ends when replies in progress must end, and StoppingH3 when those
	// over HTTP/3 must.
	Stopping, StoppingH3 context.Context
}

// New returns a site that is not open.
func New(name string, config *options.Site, shared *Shared) *Site {
	r := &Site{Name: name, Config: config, Shared: shared, Organization: cmp.Or(config.Organization, name), origin: access.OriginOf(config.URL)}
	if u, err := url.Parse(config.URL); err == nil {
		r.Host, r.Prefix = hosting.Hostname(u.Host), strings.TrimSuffix(u.Path, "/")
	}
	r.links.checking = semaphore.NewWeighted(1)
	return r
}

// Scope is what the insights of the site are recorded under.
func (r *Site) Scope() insights.Scope {
	return insights.Scope{Organization: r.Organization, Site: r.Name}
}

// Title is the site's name for readers.
func (r *Site) Title() string { return cmp.Or(r.Config.Name, r.Name) }

// SetModel sets what answers. Without a model, replies are extractive.
func (r *Site) SetModel(model assistant.Model, o options.Answers) {
	s, prefer := r.Config, r.Prefer()
	settings := assistant.Settings{
		Name: r.Name, Title: s.Name, URL: s.URL, Instructions: s.InstructionText(), SupportURL: s.SupportURL,
		PublicURL:  func(page string) string { return r.Pages().publicURL(page) },
		AllowLinks: s.AllowLinks, Version: prefer.Version, Language: prefer.Language,
		Suggestions: s.Suggestions, SuggestionsFence: s.SuggestionsFence, StarterQuestions: s.StarterQuestions,
	}
	if r.Members != nil {
		settings.PageAt = func(address string) string {
			if d := r.Pages().Named(address); d != nil {
				return d.Page
			}
			return address // of no page, as that of a page that the reader can't open
		}
	}
	r.quoting = &assistant.Assistant{Site: settings, Search: r, Log: r.Slog}
	r.answering = r.quoting
	if model != nil {
		r.answering = &assistant.Assistant{
			Site: settings, Search: r, Log: r.Slog, Model: &sitesModel{model, r.Budget, o.MaxTokens},
			MaxTokens: o.MaxTokens, Reasoning: o.Reasoning, MaxDuration: o.MaxDuration,
		}
	}
}

// KnownHost reports whether a request for the site may have a host: that of
// the site's URL, those of the routes that name the site, and addresses. A
// page of another site could otherwise reach a server in a private network by
// its own domain name (DNS rebinding).
func (r *Site) KnownHost(host string) bool {
	host = hosting.Hostname(host)
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	return r.Host == host || hosting.MatchesHost(r.Hosts, host)
}

// OriginAllowed reports whether pages of an origin may use the site's API with
// some key.
func (r *Site) OriginAllowed(origin string) bool {
	return r.OwnOrigin(origin) || r.Keys.AllowsOrigin(r.Organization, r.Name, origin)
}

// OwnOrigin reports whether an origin is that of the site's URL. While the site
// runs on localhost, so does any front end there: each has its own port.
func (r *Site) OwnOrigin(origin string) bool {
	return r.origin != "" && (strings.EqualFold(origin, r.origin) || onLoopback(r.origin) && onLoopback(origin))
}

func onLoopback(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && access.IsLoopback(u.Hostname())
}

// Acquire holds what the site needs to answer until release is called. It is
// false after the site is gone.
func (r *Site) Acquire() (release func(), ok bool) {
	if !r.Index.acquire() {
		return nil, false
	}
	return r.Index.release, true
}

// Assistant answers for the site, without the model while the site's budget is
// spent.
func (r *Site) Assistant() *assistant.Assistant {
	if r.Budget.spent() {
		return r.quoting
	}
	return r.answering
}

// slotTimeout is how long a reply waits for a slot.
const slotTimeout = 2 * time.Second

// TakeSlot takes one of max reply slots, waiting a moment if all are taken.
// It reports whether it has one, which release gives back.
func (r *Site) TakeSlot(ctx context.Context, max int) (release func(), ok bool) {
	held, _ := r.Slots.LoadOrStore(max, semaphore.NewWeighted(int64(max)))
	slots := held.(*semaphore.Weighted)
	if !slots.TryAcquire(1) { // which a client that has left does not fail
		ctx, cancel := context.WithTimeout(ctx, slotTimeout)
		defer cancel()
		if slots.Acquire(ctx, 1) != nil {
			return nil, false
		}
	}
	return func() { slots.Release(1) }, true
}

// Remedy is what to do about a site whose pages can't be read, or that has
// none.
func (r *Site) Remedy(st retrieval.Status) string {
	if r.Members != nil {
		return "see the status of its sites, whose pages it has"
	}
	if len(st.Sources) > 0 || r.Config.Root == "" && r.Config.Sitemap == "" {
		return "make each source readable or reachable, or correct it in the block of site " + r.Name + "; Caddy retries automatically, and each source's last good pages are served until then"
	}
	if r.Config.Sitemap != "" {
		if st.Error != "" {
			return "make the sitemap reachable, or correct its URL: sitemap " + r.Config.Sitemap
		}
		return "check that the sitemap lists pages below the site's url, and include and exclude"
	}
	write := "root /path/to/docs, in the block of site " + r.Name
	if r.Routed {
		write = "docs " + r.Name + " /path/to/docs"
	}
	info, err := os.Stat(r.Config.Root)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir():
		return "create the folder " + r.Config.Root + ", or name another one: " + write
	case errors.Is(err, fs.ErrPermission) || strings.Contains(st.Error, fs.ErrPermission.Error()):
		return "make the folder " + r.Config.Root + " and its files readable for the user that runs Caddy"
	case st.Error != "":
		return "fix it; the previous pages are served until then, and Caddy retries automatically"
	}
	return "write pages (.html, .htm, .md or .mdx files) into " + r.Config.Root + ", or name another folder: " + write + "; check include and exclude"
}
