package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/temoto/robotstxt"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Bounds of fetching a site.
const (
	maxSitemapBytes = 50 << 20 // as in the sitemap protocol
	maxSitemapURLs  = 50_000   // as in the sitemap protocol
	maxSitemaps     = 1000
	maxSitemapDepth = 2
	maxRobots       = 500 << 10 // as in RFC 9309
	// maxRules bounds robots.txt, because each page is tested against all of
	// its rules.
	maxRules       = 2000
	maxCrawlDelay  = 10 * time.Second
	maxRedirects   = 5
	maxURL         = 2048 // bytes
	requestTimeout = 30 * time.Second
	// defaultListTimeout bounds robots.txt and all sitemaps together. Each may
	// arrive as slowly as requestTimeout allows.
	defaultListTimeout = 2 * time.Minute
	// sitemapWorkers is how many requests are made at once.
	sitemapWorkers = 4
	// giveUpAfter is the number of consecutive failures after which the
	// remaining pages of a snapshot are not requested.
	giveUpAfter    = 10
	defaultRefetch = time.Hour
)

// userAgent is the name by which robots.txt may address this crawler. Requests
// send it with a link.
const userAgent = "caddy-docs"

const agentHeader = userAgent + " (+https://github.com/caddy-docs/caddy-docs)"

// Sitemap is a site whose pages are fetched as its sitemap lists them, for
// sites that this server proxies.
//
// Only pages of the sitemap's host are fetched, and only from public addresses
// unless AllowPrivate is set. That includes redirects. robots.txt is obeyed,
// and so is noindex in an X-Robots-Tag header. A page that can't be fetched
// keeps its last good version; one that answers 404 or 410 is gone. Pages are
// requested with the validators of the last response. A page whose lastmod has
// not changed is requested once a day.
//
// If Site is on another host than URL, the latter is an upstream: pages are
// fetched from it and known by their URLs below Site. The sitemap may name
// either host.
type Sitemap struct {
	// URL of the sitemap or sitemap index: XML or text, may be gzipped.
	URL string
	// Site is the URL of the site for readers, which may have a path. If the
	// path of URL begins with it, that of the upstream's pages does, too. "":
	// pages are known by the URLs in the sitemap.
	Site string
	// Wants filters pages by URL. Nil: everything.
	Wants func(page string) bool
	// AllowPrivate allows addresses of private networks and of this machine.
	AllowPrivate bool
	// Interval is the time between two looks. Default: 1 h.
	Interval time.Duration

	listTimeout time.Duration // 0: defaultListTimeout
}

// Watch calls changed at the interval.
func (s *Sitemap) Watch(ctx context.Context, changed func()) error {
	return Poll(ctx, cmp.Or(s.Interval, defaultRefetch), changed)
}

// Snapshot fetches robots.txt and the sitemaps. It fails if any of them can't
// be read: an incomplete list would look like deletions.
func (s *Sitemap) Snapshot(ctx context.Context) (*retrieval.Snapshot, error) {
	site, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	snap := &sitemapSnapshot{sitemap: s, host: hostOf(site), listed: map[string]bool{}, gate: make(chan struct{}, sitemapWorkers)}
	if err := snap.rebase(site); err != nil {
		return nil, err
	}
	snap.client.Timeout = requestTimeout
	snap.client.CheckRedirect = snap.checkRedirect
	snap.client.Transport = newTransport(s.AllowPrivate)
	timeout := cmp.Or(s.listTimeout, defaultListTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("robots.txt and the sitemaps took more than %s", timeout))
	defer cancel()
	if err := snap.fetchRobots(ctx, site); err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	if snap.delay = min(snap.robots.CrawlDelay, maxCrawlDelay); snap.delay > 0 {
		snap.gate = make(chan struct{}, 1)
	}
	list := listing{snapshot: snap, seen: map[string]bool{}, now: time.Now()}
	if err := list.read(ctx, s.URL, 0); err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	list.finish()
	snap.client.CheckRedirect = snap.checkPageRedirect
	snap.Read, snap.Workers = snap.read, sitemapWorkers
	snap.Close = func() error {
		snap.client.CloseIdleConnections()
		return nil
	}
	return &snap.Snapshot, nil
}

// errRedirect is wrapped by errors for redirects that are not followed.
var errRedirect = errors.New("is a redirect")

func (s *sitemapSnapshot) checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errors.New("too many redirects")
	}
	target, ok := s.upstreamURL(r.URL)
	if !ok || r.URL.Scheme != "https" && r.URL.Scheme != "http" {
		return fmt.Errorf("%w to another host, %q", errRedirect, r.URL.Host)
	}
	r.URL, r.Host = target, ""
	return nil
}

// checkPageRedirect allows redirects only to pages that may be listed.
func (s *sitemapSnapshot) checkPageRedirect(r *http.Request, via []*http.Request) error {
	if err := s.checkRedirect(r, via); err != nil {
		return err
	}
	if page, ok := s.pageURL(r.URL); !ok || s.sitemap.Wants != nil && !s.sitemap.Wants(page.String()) {
		return fmt.Errorf("%w to %s, which the site's configuration excludes", errRedirect, r.URL)
	}
	if !s.robots.Test(r.URL.RequestURI()) {
		return fmt.Errorf("%w to %s, which robots.txt forbids", errRedirect, r.URL)
	}
	return nil
}

// get requests a page or a sitemap.
func (s *sitemapSnapshot) get(ctx context.Context, address, tag string) (*http.Response, error) {
	return get(ctx, &s.client, address, tag, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5")
}

// get makes a request. tag is an ETag and, behind a line break, a Last-Modified
// of an earlier response. The caller closes the body.
func get(ctx context.Context, client *http.Client, address, tag, accept string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", agentHeader)
	etag, modified, _ := strings.Cut(tag, "\n")
	for name, value := range map[string]string{"Accept": accept, "If-None-Match": etag, "If-Modified-Since": modified} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	response, err := client.Do(r)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // callers name the URL
	}
	return response, err
}

// fetchRobots reads the rules for this crawler.
func (s *sitemapSnapshot) fetchRobots(ctx context.Context, site *url.URL) error {
	address := (&url.URL{Scheme: site.Scheme, Host: site.Host, Path: "/robots.txt"}).String()
	response, err := s.get(ctx, address, "")
	if errors.Is(err, errRedirect) {
		s.robots, err = parseRobots(http.StatusNotFound, nil)
		return err
	}
	if err != nil {
		return fmt.Errorf("fetching %s: %w", address, err)
	}
	defer response.Body.Close()
	// RFC 9309: without robots.txt everything may be fetched; while the server
	// fails to send it, nothing.
	if response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests {
		return fmt.Errorf("fetching %s: the site responds with %s", address, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRobots))
	if err != nil {
		return fmt.Errorf("fetching %s: %w", address, err)
	}
	if s.robots, err = parseRobots(response.StatusCode, body); err != nil {
		return fmt.Errorf("reading %s: %w", address, err)
	}
	return nil
}

func parseRobots(status int, body []byte) (*robotstxt.Group, error) {
	rules := 0
	for line := range bytes.Lines(body) {
		field, _, _ := bytes.Cut(bytes.ToLower(line), []byte(":"))
		if field = bytes.TrimSpace(field); string(field) == "allow" || string(field) == "disallow" {
			rules++
		}
	}
	if rules > maxRules {
		return nil, fmt.Errorf("it has %d rules; sites with more than %d are not supported", rules, maxRules)
	}
	data, err := robotstxt.FromStatusAndBytes(status, body)
	if err != nil {
		return nil, err
	}
	return data.FindGroup(userAgent), nil
}
