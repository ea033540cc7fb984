package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

const (
	// maxLimitEvents bounds what caddy-ratelimit sets aside for one
	// organization at its first request: 24 bytes an event.
	maxLimitEvents = 1_000_000
	minLimitWindow = time.Second
	maxLimitWindow = 31 * 24 * time.Hour

	// undividedLimit is the greatest limit by address that caddy-ratelimit
	// counts alone: its memory for a client is then less than half a kilobyte.
	undividedLimit = 20
)

// Limit is a number of requests within a sliding window.
type Limit struct {
	Events int
	Window time.Duration
}

// Limits are those of one function of the API. Nil: no such limit.
type Limits struct {
	// IP is for each address (IPv6: each /64), over all organizations.
	IP *Limit
	// Organization is for each organization, over all its sites and keys.
	Organization *Limit
}

// DefaultLimits returns SPEC.md's limits of an API, search or assistant.
func DefaultLimits(api string) Limits {
	l := Limits{Organization: &Limit{Events: 10_000, Window: time.Hour}}
	if api == apiAssistant {
		l.IP = &Limit{Events: 10_000, Window: 24 * time.Hour}
	}
	return l
}

// ParseLimit reads a limit as it stands in a Caddyfile: a number of requests
// and a window like 1m, 24h or 7d. The error says what to write.
func ParseLimit(events, window string) (Limit, error) {
	n, err := strconv.Atoi(events)
	if err != nil {
		return Limit{}, fmt.Errorf("%q requests: must be a number from 1 to %d; for no limit write: rate_limit off", events, maxLimitEvents)
	}
	d, err := caddy.ParseDuration(window)
	if err != nil {
		return Limit{}, fmt.Errorf("window %q: write a duration like 1m, 1h or 24h", window)
	}
	l := Limit{Events: n, Window: d}
	return l, l.Check()
}

// Check returns an error that says what to write if the limit can't be kept.
func (l Limit) Check() error {
	switch {
	case l.Events < 1 || l.Events > maxLimitEvents:
		return fmt.Errorf("%d requests: must be 1 to %d; for no limit write: rate_limit off", l.Events, maxLimitEvents)
	case l.Window < minLimitWindow || l.Window > maxLimitWindow || l.Window%time.Second != 0:
		return fmt.Errorf("window %s: must be whole seconds, from %s to 31d", l.Window, minLimitWindow)
	}
	return nil
}

// LimitHandlers returns the handlers that keep the limits of an API, search
// or assistant, to stand between authentication and the API's own handler.
//
// They are caddy-ratelimit's, one for each limit. In one handler its zones
// are tried the most permissive first, and each that lets a request pass
// counts it: requests refused for their address would spend the
// organization's budget. So the address is tried in a handler of its own, and
// first.
//
// A zone's name is global to the process and holds all that it depends on:
// sites with the same limit share one budget, other numbers never meet the
// counts of the old (caddy-ratelimit resizes these wrongly), and a reload
// changes nothing else. A limit that was changed counts from zero.
//
// Limits by address are divided (see BusyClient).
func LimitHandlers(api string, l Limits) ([]json.RawMessage, error) {
	if api != apiSearch && api != apiAssistant {
		return nil, fmt.Errorf("limits of %q: must be %s or %s", api, apiSearch, apiAssistant)
	}
	var handlers []json.RawMessage
	if l.IP != nil {
		if err := l.IP.Check(); err != nil {
			return nil, fmt.Errorf("rate_limit ip: %w", err)
		}
		zone, own, light := newZone(api, "ip", *l.IP, "{http.auth.user.client}"), l.IP.Events, 0
		if own > undividedLimit {
			own = max(undividedLimit, own/10)
			light = l.IP.Events - own
		}
		zone.MaxEvents = own
		if light > 0 {
			zone.Match = []map[string]BusyClient{{busyClientName: {Zone: zone.name, Events: light, Window: zone.Window}}}
		}
		handlers = append(handlers, zone.handler())
	}
	if l.Organization != nil {
		if err := l.Organization.Check(); err != nil {
			return nil, fmt.Errorf("rate_limit organization: %w", err)
		}
		handlers = append(handlers, newZone(api, "organization", *l.Organization, "{http.auth.user.organization}").handler())
	}
	return handlers, nil
}

// PolicyHeader returns the value of the RateLimit-Policy header that tells
// clients of the limits (draft-ietf-httpapi-ratelimit-headers), "" if there
// are none:
//
//	"ip";q=10000;w=86400, "organization";q=10000;w=3600
func PolicyHeader(l Limits) string {
	var policies []string
	add := func(name string, l *Limit) {
		if l != nil {
			policies = append(policies, fmt.Sprintf("%q;q=%d;w=%d", name, l.Events, int(l.Window/time.Second)))
		}
	}
	add("ip", l.IP)
	add("organization", l.Organization)
	return strings.Join(policies, ", ")
}

// zone is a zone of caddy-ratelimit as its JSON has it, in the fields of its
// v0.1.0: it refuses others.
type zone struct {
	Match     []map[string]BusyClient `json:"match,omitempty"`
	Key       string                  `json:"key"`
	Window    caddy.Duration          `json:"window"`
	MaxEvents int                     `json:"max_events"`

	name string
}

func newZone(api, scope string, l Limit, key string) zone {
	return zone{
		Key: key, Window: caddy.Duration(l.Window), MaxEvents: l.Events,
		name: fmt.Sprintf("docs_%s_%s_%d_%s", api, scope, l.Events, windowName(l.Window)),
	}
}

func (z zone) handler() json.RawMessage {
	raw, err := json.Marshal(struct {
		Handler    string          `json:"handler"`
		RateLimits map[string]zone `json:"rate_limits"`
	}{"rate_limit", map[string]zone{z.name: z}})
	if err != nil { // strings and numbers always marshal
		panic(err)
	}
	return raw
}

// windowName writes whole seconds in their greatest unit: 24h, 90s.
func windowName(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// exactRetryAfter corrects the Retry-After of a request that was refused for
// its address. rate_limit tells when the part of the limit that it counts is
// free again; the part that BusyClient counts is mostly free before that.
func exactRetryAfter(w http.ResponseWriter, r *http.Request, err error) {
	var he caddyhttp.HandlerError
	if !errors.As(err, &he) || he.StatusCode != http.StatusTooManyRequests {
		return
	}
	busy, ok := caddyhttp.GetVar(r.Context(), busyClientVar).(busyClient)
	if !ok {
		return
	}
	repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if !ok {
		return
	}
	if name, _ := repl.GetString("http.rate_limit.exceeded.name"); name != busy.zone {
		return
	}
	seconds := int(math.Ceil(busy.wait.Seconds()))
	if told, err := strconv.Atoi(w.Header().Get("Retry-After")); err != nil || told > seconds {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, seconds)))
	}
}
