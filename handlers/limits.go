package handlers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	caddyrl "github.com/mholt/caddy-ratelimit"

	"github.com/caddy-docs/caddy-docs/handlers/options"
)

const (
	// maxLimitEvents bounds the memory that caddy-ratelimit reserves at the
	// first request of an organization: 24 bytes an event.
	maxLimitEvents = 1_000_000
	minLimitWindow = time.Second
	maxLimitWindow = 31 * 24 * time.Hour
)

// Limit is a number of requests within a sliding window.
type Limit struct {
	// The number of requests, from 1 to 1,000,000.
	MaxEvents int `json:"max_events"`

	// The length of the window: whole seconds, from 1s to 31d.
	Window caddy.Duration `json:"window"`
}

// Validate returns an error if the limit is out of bounds. It says what to write
// instead.
func (l Limit) Validate() error {
	c := new(options.Checker)
	if l.MaxEvents < 1 || l.MaxEvents > maxLimitEvents {
		c.Fail("max_events", "%d must be from 1 to %d", l.MaxEvents, maxLimitEvents)
	}
	if w := time.Duration(l.Window); w < minLimitWindow || w > maxLimitWindow || w%time.Second != 0 {
		c.Fail("window", "%s must be whole seconds, from %s to 31d", w, minLimitWindow)
	}
	return c.Err()
}

// Limits are those of one API, search or assistant. A nil Limit means that
// there is none.
type Limits struct {
	// IP is the limit of each client over all organizations. An IPv6 client
	// is a /64.
	IP *Limit
	// Organization is the limit of each organization over all its sites: once
	// for its keys, and once for the widget's tokens.
	Organization *Limit
	// Distributed makes the Caddy instances that share a storage count the
	// requests of organizations together. Nil: each instance counts its own.
	Distributed *caddyrl.DistributedRateLimiting
}

// DefaultLimits returns the limits of an API where the operator limits
// organizations to organization, nil for the default.
func DefaultLimits(api string, organization *Limit) Limits {
	perHour := func(n int) *Limit { return &Limit{n, caddy.Duration(time.Hour)} }
	keyed := cmp.Or(organization, perHour(10_000))
	switch api {
	case apiToken: // a page asks for one every 15 minutes, and an IP may be that of an office
		return Limits{IP: perHour(600)}
	case APIAsk:
		return Limits{IP: perHour(300)}
	case APIWidget, apiMCP: // bytes that are in memory; MCP has its own
		return Limits{}
	case apiAssistant:
		return Limits{IP: &Limit{10_000, caddy.Duration(24 * time.Hour)}, Organization: keyed}
	case apiEvents: // one for each search and click of a reader
		return Limits{IP: &Limit{120, caddy.Duration(time.Minute)}, Organization: cmp.Or(organization, perHour(50_000))}
	case apiFeedback:
		return Limits{IP: perHour(60), Organization: keyed}
	}
	// Keys are public. One client must not close search for everyone.
	return Limits{IP: &Limit{max(1, keyed.MaxEvents/4), keyed.Window}, Organization: keyed}
}

// Handlers returns the handlers that enforce the limits of an API. They belong
// between authentication and the API's own handler.
//
// The client's limit comes first, so that requests over it don't spend the
// organization's. Two zones in one rate_limit handler would: it tries the most
// permissive zone first, and each zone counts the requests that it allows.
//
// Zone names are global to the process, and caddy-ratelimit resizes a zone
// wrongly. The names therefore contain all settings of a zone: sites with the
// same limit share a count, and a changed limit starts from zero.
func (l Limits) Handlers(api string) []json.RawMessage {
	zone := func(scope string, l Limit) string {
		return fmt.Sprintf("docs_%s_%s_%d_%s", api, scope, l.MaxEvents, time.Duration(l.Window))
	}
	var handlers []json.RawMessage
	if ip := l.IP; ip != nil {
		handlers = append(handlers, caddyconfig.JSONModuleObject(&ClientLimit{
			Zone: zone("ip", *ip), Limit: *ip,
		}, "handler", "docs_client_limit", nil))
	}
	if o := l.Organization; o != nil {
		handlers = append(handlers, caddyconfig.JSONModuleObject(&caddyrl.Handler{
			RateLimits: map[string]*caddyrl.RateLimit{zone("organization", *o): {
				Key: "{http.auth.user.share}", MaxEvents: o.MaxEvents, Window: o.Window,
			}},
			Distributed: l.Distributed,
		}, "handler", "rate_limit", nil))
	}
	return handlers
}

// PolicyHeader returns the value of the RateLimit-Policy header
// (draft-ietf-httpapi-ratelimit-headers), empty if there are no limits:
//
//	"ip";q=10000;w=86400, "organization";q=10000;w=3600
func (l Limits) PolicyHeader() string {
	var policies []string
	add := func(name string, l *Limit) {
		if l != nil {
			policies = append(policies, fmt.Sprintf("%q;q=%d;w=%d", name, l.MaxEvents, int(time.Duration(l.Window).Seconds())))
		}
	}
	add("ip", l.IP)
	add("organization", l.Organization)
	return strings.Join(policies, ", ")
}

// organizationLimit reads the limit of organizations from a PolicyHeader. It is
// zero if there is none.
func organizationLimit(policy string) (l Limit) {
	for p := range strings.SplitSeq(policy, ", ") {
		seconds := 0
		if n, _ := fmt.Sscanf(p, `"organization";q=%d;w=%d`, &l.MaxEvents, &seconds); n == 2 {
			l.Window = caddy.Duration(time.Duration(seconds) * time.Second)
			if l.Validate() == nil {
				return l
			}
		}
	}
	return Limit{}
}

// rateLimit returns a value of the RateLimit header
// (draft-ietf-httpapi-ratelimit-headers): the requests that a policy of
// PolicyHeader leaves, and the time until there are more.
//
//	"ip";r=9999;t=86400
func rateLimit(policy string, left int, reset time.Duration) string {
	return fmt.Sprintf("%q;r=%d;t=%d", policy, left, int(math.Ceil(reset.Seconds())))
}
