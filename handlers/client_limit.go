package handlers

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/options"
)

// ClientLimit is http.handlers.docs_client_limit. It limits the requests of
// each client within a sliding window. A client is Caddy's {client_ip}, which
// respects trusted_proxies; the addresses of an IPv6 /64 are one client.
//
// Each response has a RateLimit header with the number of requests that the
// client has left (draft-ietf-httpapi-ratelimit-headers). A client over its
// limit gets the error 429 with a Retry-After header in seconds. Refused
// requests don't count. The window advances in steps of a 24th: a client never
// has more than its limit within any window, and waits at most one step longer
// than it would have to.
//
// Unlike rate_limit, which reserves memory for max_events requests of each
// client, this handler takes some 200 bytes a client. It sets
// {http.rate_limit.exceeded.name} to the zone, as rate_limit does.
type ClientLimit struct {
	// The name of the count. Handlers with the same zone, max_events and window
	// share one count, which survives config reloads. Required.
	Zone string `json:"zone"`

	Limit // of each client; required

	limiter *access.Limiter
	log     *zap.Logger
}

// clientLimiters keeps counts across config reloads.
var clientLimiters = caddy.NewUsagePool()

func (ClientLimit) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_client_limit", New: func() caddy.Module { return new(ClientLimit) }}
}

func (c *ClientLimit) Provision(ctx caddy.Context) error {
	c.log = ctx.Logger()
	limiter, _ := clientLimiters.LoadOrStore(c.poolKey(), access.NewLimiter(max(c.MaxEvents, 1), time.Duration(c.Window)))
	c.limiter = limiter.(*access.Limiter)
	return nil
}

func (c *ClientLimit) Validate() error {
	check := new(options.Checker)
	if c.Zone == "" {
		check.Fail("zone", "is missing; write a name for the count, like docs_search_ip")
	}
	check.Add(c.Limit.Validate())
	return check.Err()
}

func (c *ClientLimit) Cleanup() error {
	if c == nil || c.limiter == nil { // not provisioned
		return nil
	}
	_, err := clientLimiters.Delete(c.poolKey())
	return err
}

func (c *ClientLimit) poolKey() string {
	return fmt.Sprintf("%s %d %d", c.Zone, c.MaxEvents, c.Window)
}

func (c *ClientLimit) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	name := client(r)
	left, wait := c.limiter.Take(name)
	w.Header().Set("RateLimit", rateLimit("ip", max(left, 0), wait))
	if left >= 0 {
		return next.ServeHTTP(w, r)
	}
	c.log.Info("rate limit exceeded", zap.String("zone", c.Zone), zap.Duration("wait", wait), zap.String("client", name))
	if repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		repl.Set("http.rate_limit.exceeded.name", c.Zone)
	}
	return overLimit(w, wait)
}

// overLimit refuses a request until a limit has room again.
func overLimit(w http.ResponseWriter, wait time.Duration) error {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return caddyhttp.Error(http.StatusTooManyRequests, nil)
}
