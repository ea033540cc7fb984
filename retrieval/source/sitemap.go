package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/temoto/robotstxt"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Bounds of fetching a site. The first two are the sitemap protocol's.
const (
	maxSitemapBytes = 50 << 20
	maxSitemapURLs  = 50_000
	// maxSitemaps and maxSitemapDepth bound an index of sitemaps.
	maxSitemaps     = 1000
	maxSitemapDepth = 2
	// maxRobots is what RFC 9309 asks crawlers to read at least.
	maxRobots = 500 << 10
	// maxRules bounds its rules: each page of the sitemap is held against all
	// of them.
	maxRules     = 2000
	maxRedirects = 5
	// sitemapWorkers is the number of requests under way at once.
	sitemapWorkers = 4
	requestTimeout = 30 * time.Second
	// maxCrawlDelay bounds what robots.txt may ask for.
	maxCrawlDelay = 10 * time.Second
	// giveUpAfter failures in a row the site is taken for down, and the
	// remaining pages are not asked for in this round.
	giveUpAfter = 10
	// defaultRefetch is the default of Sitemap.Interval.
	defaultRefetch = time.Hour
	// maxAddress is the longest address that is fetched, in bytes.
	maxAddress = 2048
)

// UserAgent is the name by which robots.txt may address us; requests carry
// it with a link behind it.
const UserAgent = "caddy-docs"

// Sitemap is a site whose pages are fetched, as its sitemap lists them: for
// sites that this server proxies instead of serving their files.
//
// Only pages of the sitemap's own host are fetched, from public addresses
// unless AllowPrivate is set, redirects included. robots.txt is obeyed, and
// noindex in an X-Robots-Tag header. A page that can't be fetched keeps its
// last good version, one that answers 404 or 410 is gone. Pages are asked
// for with the validators of the last answer; one whose lastmod has not
// changed is asked for once a day.
type Sitemap struct {
	// URL of the sitemap or sitemap index: XML or text, perhaps gzipped.
	URL string
	// Wants filters by absolute address; nil: everything.
	Wants func(address string) bool
	// AllowPrivate allows addresses of private networks and of this machine.
	AllowPrivate bool
	// Interval is the time between two looks. Default: 1 h.
	Interval time.Duration
	// MaxPage is the size in bytes above which a page is reported, not read.
	// Default: 20 MB.
	MaxPage int64
	// Log; nil: slog.Default().
	Log *slog.Logger

	once   sync.Once
	client *http.Client
	host   string
}

// Watch calls changed at the interval.
func (s *Sitemap) Watch(ctx context.Context, changed func()) error {
	interval := s.Interval
	if interval <= 0 {
		interval = defaultRefetch
	}
	return (&Folder{Interval: interval}).poll(ctx, changed)
}

func (s *Sitemap) maxPage() int64 {
	if s.MaxPage > 0 {
		return s.MaxPage
	}
	return MaxPage
}

// ParseSitemapURL checks the address of a sitemap.
func ParseSitemapURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("sitemap %q: write its whole address, like https://docs.example.com/sitemap.xml", address)
	}
	if u.User != nil {
		return nil, fmt.Errorf("sitemap of %q: an address with a user name is not supported", u.Host)
	}
	return u, nil
}

// hostOf is a host with its port, unless that is the scheme's own: http and
// https of one name are one host.
func hostOf(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		host += ":" + port
	}
	return host
}

func (s *Sitemap) init(site *url.URL) {
	s.once.Do(func() {
		s.host = hostOf(site)
		transport := &http.Transport{
			// No proxy: the address that we check must be the one that is
			// asked.
			DialContext:            dialer(s.AllowPrivate).DialContext,
			ForceAttemptHTTP2:      true,
			MaxConnsPerHost:        sitemapWorkers,
			IdleConnTimeout:        30 * time.Second,
			TLSHandshakeTimeout:    10 * time.Second,
			ResponseHeaderTimeout:  requestTimeout,
			MaxResponseHeaderBytes: 64 << 10,
		}
		s.client = &http.Client{
			Transport: transport,
			Timeout:   requestTimeout,
			CheckRedirect: func(r *http.Request, via []*http.Request) error {
				if len(via) > maxRedirects {
					return errors.New("too many redirects")
				}
				if hostOf(r.URL) != s.host || r.URL.Scheme != "https" && r.URL.Scheme != "http" {
					return fmt.Errorf("%w to another host, %q", errElsewhere, r.URL.Host)
				}
				return nil
			},
		}
	})
}

// errElsewhere: the page is not on this site.
var errElsewhere = errors.New("is a redirect")

// get makes a request; the caller closes the body.
func (s *Sitemap) get(ctx context.Context, address, tag string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", UserAgent+" (+https://github.com/caddy-docs/caddy-docs)")
	r.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5")
	if etag, modified, ok := strings.Cut(tag, "\n"); ok {
		if etag != "" {
			r.Header.Set("If-None-Match", etag)
		}
		if modified != "" {
			r.Header.Set("If-Modified-Since", modified)
		}
	}
	response, err := s.client.Do(r)
	if err != nil {
		// The client's error repeats method and address, which stand beside
		// it wherever it is shown.
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return nil, err
	}
	return response, nil
}

// Snapshot fetches robots.txt and the sitemap, or sitemaps. It fails if any
// of them can't be read: half a list must not look like deletions.
func (s *Sitemap) Snapshot(ctx context.Context) (retrieval.Snapshot, error) {
	site, err := ParseSitemapURL(s.URL)
	if err != nil {
		return nil, err
	}
	s.init(site)
	robots, err := s.robots(ctx, site)
	if err != nil {
		return nil, err
	}
	snap := &sitemapSnapshot{sitemap: s, listed: map[string]bool{}, gate: make(chan struct{}, sitemapWorkers)}
	if snap.delay = min(robots.CrawlDelay, maxCrawlDelay); snap.delay > 0 {
		snap.gate = make(chan struct{}, 1)
	}
	list := listing{sitemap: s, snapshot: snap, robots: robots, seen: map[string]bool{}, now: time.Now()}
	if err := list.read(ctx, s.URL, 0); err != nil {
		return nil, err
	}
	list.finish()
	return snap, nil
}

// robots returns the rules for us.
func (s *Sitemap) robots(ctx context.Context, site *url.URL) (*robotstxt.Group, error) {
	address := (&url.URL{Scheme: site.Scheme, Host: site.Host, Path: "/robots.txt"}).String()
	response, err := s.get(ctx, address, "")
	if errors.Is(err, errElsewhere) {
		return s.rules(http.StatusNotFound, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("fetching %s: %w", address, err)
	}
	defer response.Body.Close()
	// RFC 9309: while it can't be had for the server's fault, nothing may be
	// fetched; where there is none, everything may.
	if response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests {
		return nil, fmt.Errorf("fetching %s: the site answers %s", address, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRobots))
	if err != nil {
		return nil, fmt.Errorf("fetching %s: %w", address, err)
	}
	group, err := s.rules(response.StatusCode, body)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", address, err)
	}
	return group, nil
}

// rules are those for us in a robots.txt.
func (s *Sitemap) rules(status int, body []byte) (*robotstxt.Group, error) {
	n := 0
	for line := range bytes.Lines(body) {
		field, _, _ := bytes.Cut(line, []byte(":"))
		field = bytes.TrimSpace(field)
		if bytes.EqualFold(field, []byte("allow")) || bytes.EqualFold(field, []byte("disallow")) {
			n++
		}
	}
	if n > maxRules {
		return nil, fmt.Errorf("it has %d rules; sites with more than %d are not fetched", n, maxRules)
	}
	data, err := robotstxt.FromStatusAndBytes(status, body)
	if err != nil {
		return nil, err
	}
	return data.FindGroup(UserAgent), nil
}

// listing gathers the pages of the sitemaps.
type listing struct {
	sitemap  *Sitemap
	snapshot *sitemapSnapshot
	robots   *robotstxt.Group
	now      time.Time

	seen                       map[string]bool // sitemaps
	foreign, forbidden, broken dropped
}

// dropped counts addresses that are left out for one reason.
type dropped struct {
	n     int
	first string
}

func (d *dropped) add(address string) {
	if d.n++; d.n == 1 {
		d.first = address
	}
}

// read reads one sitemap and those it names.
func (l *listing) read(ctx context.Context, address string, depth int) error {
	if l.seen[address] {
		return nil
	}
	if len(l.seen) == maxSitemaps {
		return fmt.Errorf("sitemap %s: more than %d sitemaps", l.sitemap.URL, maxSitemaps)
	}
	l.seen[address] = true
	response, err := l.sitemap.get(ctx, address, "")
	if err != nil {
		return fmt.Errorf("fetching sitemap %s: %w", address, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("fetching sitemap %s: the site answers %s", address, response.Status)
	}
	pages, maps, err := parseSitemap(response.Body, maxSitemapURLs)
	if err != nil && !errors.Is(err, errTooMuch) {
		return fmt.Errorf("sitemap %s: %w", address, err)
	}
	if err != nil {
		l.problem(address, err.Error()+"; the rest is left out")
	}
	for _, p := range pages {
		if err := ctx.Err(); err != nil { // rules times pages can take long
			return err
		}
		if len(l.snapshot.files) == maxSitemapURLs {
			l.problem(l.sitemap.URL, fmt.Sprintf("names more than %d pages; the rest is left out", maxSitemapURLs))
			return nil
		}
		l.add(p)
	}
	for _, m := range maps {
		u, err := url.Parse(m.Loc)
		switch {
		case err != nil || u.Host == "":
			l.broken.add(m.Loc)
		case hostOf(u) != l.sitemap.host:
			l.foreign.add(m.Loc)
		case depth == maxSitemapDepth:
			l.problem(m.Loc, fmt.Sprintf("sitemaps are nested deeper than %d; not read", maxSitemapDepth))
		default:
			if err := l.read(ctx, m.Loc, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// add takes an address up if it may be fetched.
func (l *listing) add(entry sitemapEntry) {
	u, err := url.Parse(entry.Loc)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || len(entry.Loc) > maxAddress {
		l.broken.add(entry.Loc)
		return
	}
	u.Fragment, u.RawFragment = "", ""
	address := u.String()
	switch {
	case hostOf(u) != l.sitemap.host:
		l.foreign.add(address)
		return
	case l.sitemap.Wants != nil && !l.sitemap.Wants(address):
		return
	case !l.robots.Test(u.RequestURI()):
		l.forbidden.add(address)
		return
	case l.snapshot.listed[address]:
		return
	}
	l.snapshot.listed[address] = true
	file := retrieval.File{Path: address, Size: -1}
	modified, whole := lastModified(entry.LastMod)
	settled := young
	if !whole {
		settled = 48 * time.Hour // that day, in any time zone
	}
	if !modified.IsZero() && l.now.Sub(modified) > settled {
		file.Modified = modified
		file.Version = fmt.Sprintf("%s/%d", entry.LastMod, checkDay(address, l.now))
	}
	l.snapshot.files = append(l.snapshot.files, file)
}

// checkDay numbers the days, each page's beginning at another hour: sitemaps
// are wrong about lastmod often enough to ask for each page now and then,
// and not for all at once.
func checkDay(address string, now time.Time) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(address))
	const day = 24 * 60 * 60
	return (now.Unix() + int64(h.Sum32()%day)) / day
}

func (l *listing) finish() {
	for _, d := range []struct {
		dropped
		file, reason string
	}{
		{l.foreign, l.sitemap.URL, "%d addresses of other hosts are left out, the first is %.200s"},
		{l.broken, l.sitemap.URL, "%d entries are no addresses, the first is %.200q"},
		{l.forbidden, "/robots.txt", "it forbids %d of the sitemap's pages, the first is %.200s"},
	} {
		if d.n > 0 {
			l.problem(d.file, fmt.Sprintf(d.reason, d.n, d.first))
		}
	}
	slices.SortFunc(l.snapshot.files, func(a, b retrieval.File) int { return cmp.Compare(a.Path, b.Path) })
}

func (l *listing) problem(file, reason string) {
	l.snapshot.problems = append(l.snapshot.problems, retrieval.Problem{File: file, Reason: reason, Since: l.now})
}
