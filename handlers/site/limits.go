package site

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
)

// RateLimit is a limit on the requests of each organization to a part of the
// API, within a sliding window.
type RateLimit struct {
	API    string
	Events int
	Window time.Duration
}

// Which limit refused a request.
const (
	OverClientLimit       = "ip"
	OverOrganizationLimit = "organization"
)

// refusedWindow is how long refused requests are counted for.
const refusedWindow = 24 * time.Hour

// Limits counts what organizations use of their limits, since caddy-ratelimit
// does not expose its counts. Configurations share it.
type Limits struct {
	mu      sync.Mutex
	allowed map[RateLimit]*access.Limiter
	// refused are requests by the limit that refused them, without a limit.
	refused map[string]*access.Limiter
}

// NewLimits returns counts that begin at zero.
func NewLimits() *Limits {
	return &Limits{allowed: make(map[RateLimit]*access.Limiter), refused: map[string]*access.Limiter{
		OverClientLimit: access.NewLimiter(math.MaxInt32, refusedWindow), OverOrganizationLimit: access.NewLimiter(math.MaxInt32, refusedWindow),
	}}
}

// Allowed counts a request that the limit of its organization allowed.
func (u *Limits) Allowed(organization string, limit RateLimit) {
	u.mu.Lock()
	c := u.allowed[limit]
	if c == nil {
		c = access.NewLimiter(math.MaxInt32, limit.Window)
		u.allowed[limit] = c
	}
	u.mu.Unlock()
	c.Take(organization)
}

// Refused counts a request to a part of the API of a site that a limit refused.
func (u *Limits) Refused(r *Site, api, by string) {
	u.refused[by].Take(r.Organization)
	observe.Metrics.Limited.WithLabelValues(r.Name, api, by).Inc()
}

// LimitStatus is what an organization has used of a limit, as this process
// counts it.
type LimitStatus struct {
	// API is the part of the API: assistant, search, events, feedback or page;
	// with " (widget)" for the widget's own count.
	API string `json:"api"`
	// Used of Events requests within the window that ends now.
	Used   int     `json:"used"`
	Events int     `json:"events"`
	Window float64 `json:"window_seconds"`
}

// RefusedStatus are the requests of the last 24 hours that limits refused.
type RefusedStatus struct {
	Client       int `json:"ip"`
	Organization int `json:"organization"`
}

// Status returns the limits that an organization has used within their
// windows.
func (u *Limits) Status(organization string) (used []LimitStatus, refused RefusedStatus) {
	u.mu.Lock()
	allowed := maps.Clone(u.allowed)
	u.mu.Unlock()
	for l, c := range allowed {
		if n := c.Used(organization); n > 0 {
			used = append(used, LimitStatus{API: l.API, Used: min(n, l.Events), Events: l.Events, Window: l.Window.Seconds()})
		}
	}
	slices.SortFunc(used, func(a, b LimitStatus) int {
		return cmp.Or(cmp.Compare(a.API, b.API), cmp.Compare(a.Events, b.Events), cmp.Compare(a.Window, b.Window))
	})
	return used, RefusedStatus{Client: u.refused[OverClientLimit].Used(organization), Organization: u.refused[OverOrganizationLimit].Used(organization)}
}
