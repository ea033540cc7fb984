package handlers

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/access"
)

const (
	busyClientName = "docs_busy_client"
	busyClientVar  = "docs_busy_client"
)

// BusyClient is http.matchers.docs_busy_client, which stands in a zone of
// rate_limit that counts by client. It counts each client's first Events
// requests within Window itself and does not match them, so that the zone
// ignores them; it matches a client's further requests, and the zone allows
// its own max_events of these. Both windows slide: within any one a client
// has Events + max_events requests, no more.
//
// The reason is memory. rate_limit sets aside 24 bytes for each of max_events
// at a client's first request, 240 kB at 10,000; 100,000 addresses, which is
// what anyone with an IPv6 network has, would be 24 GB. This matcher uses
// what was used, some 60 bytes for a client that came once (access.Recent,
// which also says how exact it is), and rate_limit the rest for the few
// clients that are busy.
//
// Counts are kept over reloads, as rate_limit's are. Each evaluation counts,
// so it is of no use outside of a zone.
type BusyClient struct {
	// Zone names the count: matchers with the same Zone, Events and Window
	// share it. Required.
	Zone string `json:"zone"`

	// Events that are counted here. Required.
	Events int `json:"events"`

	// Window of the count; the zone's own. Required.
	Window caddy.Duration `json:"window"`

	// Key tells clients apart. Default: {http.auth.user.client}, as docs_key
	// sets it, and without that the client's address as docs_key would.
	Key string `json:"key,omitempty"`

	recent *access.Recent
	pooled *busyKey
}

// busyClients keeps the counts over reloads.
var busyClients = caddy.NewUsagePool()

type busyKey struct {
	zone   string
	events int
	window caddy.Duration
}

// busyCount is a count in the pool. Nothing needs to be done at its end.
type busyCount struct{ *access.Recent }

func (busyCount) Destruct() error { return nil }

// busyClient is what exactRetryAfter needs to know of a refused request.
type busyClient struct {
	zone string
	wait time.Duration
}

// CaddyModule returns the Caddy module information.
func (BusyClient) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.matchers." + busyClientName,
		New: func() caddy.Module { return new(BusyClient) },
	}
}

// Provision finds the count of an earlier configuration, or starts one.
func (b *BusyClient) Provision(caddy.Context) error {
	if b.Zone == "" {
		return errors.New("docs_busy_client: zone is missing; write the name of the zone that it stands in")
	}
	key := busyKey{b.Zone, b.Events, b.Window}
	count, _, err := busyClients.LoadOrNew(key, func() (caddy.Destructor, error) {
		recent, err := access.NewRecent(b.Events, time.Duration(b.Window))
		return busyCount{recent}, err
	})
	if err != nil {
		return fmt.Errorf("docs_busy_client: zone %s: %w", b.Zone, err)
	}
	b.recent, b.pooled = count.(busyCount).Recent, &key
	if b.Key == "" {
		b.Key = "{http.auth.user.client}"
	}
	return nil
}

// Cleanup lets go of the count.
func (b *BusyClient) Cleanup() error {
	if b.pooled == nil {
		return nil
	}
	_, err := busyClients.Delete(*b.pooled)
	b.pooled = nil
	return err
}

// MatchWithError reports whether the client of a request has had its Events,
// and counts the request if not.
func (b *BusyClient) MatchWithError(r *http.Request) (bool, error) {
	name := ""
	if repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		name = repl.ReplaceAll(b.Key, "")
	}
	if name == "" {
		name = client(r.Context())
	}
	ok, wait := b.recent.Take(name)
	if !ok {
		caddyhttp.SetVar(r.Context(), busyClientVar, busyClient{b.Zone, wait})
	}
	return !ok, nil
}

// Match is MatchWithError for callers that know no errors.
func (b *BusyClient) Match(r *http.Request) bool {
	ok, _ := b.MatchWithError(r)
	return ok
}

// Interface guards
var (
	_ caddy.Provisioner                 = (*BusyClient)(nil)
	_ caddy.CleanerUpper                = (*BusyClient)(nil)
	_ caddyhttp.RequestMatcherWithError = (*BusyClient)(nil)
)
