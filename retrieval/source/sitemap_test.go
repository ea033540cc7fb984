package source

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// testSite answers from a map of paths and records what was asked.
type testSite struct {
	*httptest.Server
	mu      sync.Mutex
	pages   map[string]http.HandlerFunc
	asked   []*http.Request
	current int
	most    int
}

func newSite(t testing.TB) *testSite {
	s := &testSite{pages: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		page := s.pages[r.URL.Path]
		s.asked = append(s.asked, r)
		s.current++
		s.most = max(s.most, s.current)
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.current--
			s.mu.Unlock()
		}()
		if page == nil {
			http.NotFound(w, r)
			return
		}
		page(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *testSite) set(path string, page http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = page
}

func (s *testSite) text(path, body string) {
	s.set(path, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.ReplaceAll(body, "SITE", s.URL))
	})
}

func (s *testSite) requests(path string) (list []*http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.asked {
		if r.URL.Path == path {
			list = append(list, r)
		}
	}
	return list
}

func urlset(entries ...string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for _, e := range entries {
		loc, lastmod, _ := strings.Cut(e, " ")
		fmt.Fprintf(&b, "<url><loc>%s</loc><lastmod>%s</lastmod><changefreq>daily</changefreq></url>", loc, lastmod)
	}
	b.WriteString("</urlset>")
	return b.String()
}

func (s *testSite) sitemap() *Sitemap {
	return &Sitemap{URL: s.URL + "/sitemap.xml", AllowPrivate: true}
}

func (s *testSite) paths(snap *retrieval.Snapshot) []string {
	var list []string
	for _, f := range snap.Files {
		list = append(list, strings.TrimPrefix(f.Path, s.URL))
	}
	return list
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

func TestSnapshotOfASitemap(t *testing.T) {
	tests := []struct {
		name     string
		files    map[string]string
		wants    func(string) bool
		want     []string
		problems []string
		err      string
	}{
		{
			name:  "pages are listed once, by address",
			files: map[string]string{"/sitemap.xml": urlset("SITE/b", "SITE/a", "SITE/b#x", "SITE/")},
			want:  []string{"/", "/a", "/b"},
		},
		{
			name: "an index of sitemaps, one of them gzipped, two levels deep",
			files: map[string]string{
				"/sitemap.xml": `<sitemapindex><sitemap><loc>SITE/1.xml</loc></sitemap><sitemap><loc> SITE/2.xml.gz </loc></sitemap><sitemap><loc>SITE/sitemap.xml</loc></sitemap></sitemapindex>`,
				"/1.xml":       urlset("SITE/a"),
				"/2.xml.gz":    zipped(`<sitemapindex><sitemap><loc>http://HOST/3.xml</loc></sitemap></sitemapindex>`),
				"/3.xml":       urlset("SITE/c"),
			},
			want: []string{"/a", "/c"},
		},
		{
			name: "deeper sitemaps are named, not read",
			files: map[string]string{
				"/sitemap.xml": `<sitemapindex><sitemap><loc>SITE/1.xml</loc></sitemap></sitemapindex>`,
				"/1.xml":       `<sitemapindex><sitemap><loc>SITE/2.xml</loc></sitemap></sitemapindex>`,
				"/2.xml":       `<sitemapindex><sitemap><loc>SITE/3.xml</loc></sitemap></sitemapindex>`,
				"/3.xml":       urlset("SITE/deep"),
			},
			problems: []string{"nested deeper"},
		},
		{
			name:  "a text file with an address a line",
			files: map[string]string{"/sitemap.xml": "\ufeffSITE/a\n\nSITE/b\n"},
			want:  []string{"/a", "/b"},
		},
		{
			name:     "other hosts are left out and named",
			files:    map[string]string{"/sitemap.xml": urlset("SITE/a", "https://evil.example/b", "http://127.0.0.1:1/c", "//SITE/d", "file:///etc/passwd", "SITE/\x7f")},
			want:     []string{"/a"},
			problems: []string{"2 URLs of other hosts are left out, the first is https://evil.example/b", "3 entries are not URLs"},
		},
		{
			name: "robots.txt is obeyed, by name before by star",
			files: map[string]string{
				"/robots.txt":  "User-agent: *\nDisallow: /\n\nUser-agent: caddy-docs\nDisallow: /private/\nDisallow: /*?print\n",
				"/sitemap.xml": urlset("SITE/a", "SITE/private/b", "SITE/c?print=1"),
			},
			want:     []string{"/a"},
			problems: []string{"forbids 2 of the sitemap's pages"},
		},
		{
			name:  "what the site doesn't want is not fetched",
			files: map[string]string{"/sitemap.xml": urlset("SITE/a", "SITE/blog/b")},
			wants: func(a string) bool { return !strings.Contains(a, "/blog/") },
			want:  []string{"/a"},
		},
		{name: "HTML in the sitemap's place is an error", files: map[string]string{"/sitemap.xml": "<!doctype html><html><body>Hello</body></html>"}, err: "begins with <html>"},
		{name: "an empty file is an error", files: map[string]string{"/sitemap.xml": ""}, err: "is not a sitemap"},
		{name: "a cut sitemap is an error, not a short list", files: map[string]string{"/sitemap.xml": urlset("SITE/a")[:120]}, err: "reading it"},
		{name: "a missing sitemap is an error", err: "404"},
		{
			name: "a missing part of an index is an error, not a short list",
			files: map[string]string{
				"/sitemap.xml": `<sitemapindex><sitemap><loc>SITE/1.xml</loc></sitemap><sitemap><loc>SITE/2.xml</loc></sitemap></sitemapindex>`,
				"/1.xml":       urlset("SITE/a"),
			},
			err: "2.xml: the site responds with 404",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			site := newSite(t)
			for path, body := range test.files {
				if bytes.HasPrefix([]byte(body), []byte{0x1f, 0x8b}) {
					host := site.Listener.Addr().String()
					body = zipped(`<sitemapindex><sitemap><loc>http://` + host + `/3.xml</loc></sitemap></sitemapindex>`)
				}
				site.text(path, body)
			}
			source := site.sitemap()
			source.Wants = test.wants
			snap, err := source.Snapshot(t.Context())
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer snap.Close()
			if got := site.paths(snap); !slices.Equal(got, test.want) {
				t.Errorf("pages %q, want %q", got, test.want)
			}
			if len(snap.Problems) != len(test.problems) {
				t.Fatalf("problems %+v", snap.Problems)
			}
			for i, p := range snap.Problems {
				if !strings.Contains(p.Reason, test.problems[i]) {
					t.Errorf("problem %q, want %q", p.Reason, test.problems[i])
				}
			}
			for _, r := range site.requests("/sitemap.xml") {
				if !strings.HasPrefix(r.UserAgent(), "caddy-docs (") {
					t.Errorf("asked as %q", r.UserAgent())
				}
			}
		})
	}
}

func TestRobotsThatCannotBeHadStopEverything(t *testing.T) {
	site := newSite(t)
	site.text("/sitemap.xml", urlset("SITE/a"))
	site.set("/robots.txt", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	if _, err := site.sitemap().Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "robots.txt: the site responds with 503") {
		t.Errorf("error %v", err)
	}
	if len(site.requests("/sitemap.xml")) != 0 {
		t.Error("the sitemap was fetched all the same")
	}
}

// Each response stays below the time of a request; all of them together don't
// stay below that of the list.
func TestSitemapsThatDripAreGivenUp(t *testing.T) {
	site := newSite(t)
	drip := func(w http.ResponseWriter, r *http.Request) { // until the client is gone
		for r.Context().Err() == nil {
			fmt.Fprint(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	}
	for name, slow := range map[string]string{"robots.txt": "/robots.txt", "the sitemap": "/sitemap.xml", "a sitemap of an index": "/part.xml"} {
		site.text("/robots.txt", "")
		site.text("/sitemap.xml", `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>`+site.URL+`/part.xml</loc></sitemap></sitemapindex>`)
		site.text("/part.xml", urlset("SITE/a"))
		sitemap := site.sitemap()
		sitemap.listTimeout = 500 * time.Millisecond
		if _, err := sitemap.Snapshot(t.Context()); err != nil {
			t.Fatalf("before %s is slow: %v", name, err)
		}
		site.set(slow, drip)
		if _, err := sitemap.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "took more than 500ms") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFetchingPages(t *testing.T) {
	other := newSite(t)
	other.text("/secret", "secret")
	html := func(header, value string, status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			if header != "" {
				w.Header().Set(header, value)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	tests := []struct {
		name string
		page http.HandlerFunc
		want string
		is   error
		text string // of an error that is none of ours
	}{
		{name: "a page", page: html("", "", 200, "<p>hello"), want: "<p>hello"},
		{name: "a page that is gone", page: html("", "", 404, "not found"), is: fs.ErrNotExist},
		{name: "a page that is gone for good", page: html("", "", 410, ""), is: fs.ErrNotExist},
		{name: "a server's fault is temporary", page: html("", "", 503, ""), is: retrieval.ErrTemporary},
		{name: "too many requests is temporary", page: html("", "", 429, ""), is: retrieval.ErrTemporary},
		{name: "a login in the page's place is temporary", page: html("", "", 401, ""), is: retrieval.ErrTemporary},
		{name: "noindex in the header", page: html("X-Robots-Tag", "nofollow, NoIndex", 200, "x"), is: retrieval.ErrNotPage},
		{name: "noindex for us by name", page: html("X-Robots-Tag", "caddy-docs: none", 200, "x"), is: retrieval.ErrNotPage},
		{name: "noindex for another crawler", page: html("X-Robots-Tag", "otherbot: noindex", 200, "x"), want: "x"},
		{name: "other rules beside noindex", page: html("X-Robots-Tag", "max-snippet: 20, noindex", 200, "x"), is: retrieval.ErrNotPage},
		{name: "a PDF is no page", page: html("Content-Type", "application/pdf", 200, "%PDF"), is: retrieval.ErrNotPage},
		{name: "a large page is named", page: html("", "", 200, strings.Repeat("x", retrieval.MaxPage+1)), text: "larger than 12 MB"},
		{name: "a redirect to another host", page: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/secret", http.StatusFound)
		}, is: retrieval.ErrNotPage},
		{name: "a redirect to another page of the sitemap", page: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusFound)
		}, is: retrieval.ErrNotPage},
		{name: "a redirect to the page's new URL", page: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/moved", http.StatusMovedPermanently)
		}, want: "moved"},
		{name: "a redirect to a page that robots.txt forbids", page: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/forbidden", http.StatusFound)
		}, is: retrieval.ErrNotPage},
		{name: "a redirect to a page that is excluded, and from there to another", page: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/excluded", http.StatusFound)
		}, is: retrieval.ErrNotPage},
		{name: "redirects without end", page: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/page", http.StatusFound)
		}, is: retrieval.ErrTemporary},
		{name: "a cut answer is temporary", page: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "half")
		}, is: retrieval.ErrTemporary},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			site := newSite(t)
			site.text("/sitemap.xml", urlset("SITE/page", "SITE/other"))
			site.set("/page", test.page)
			site.set("/moved", html("", "", 200, "moved"))
			site.set("/forbidden", html("", "", 200, "forbidden"))
			site.set("/excluded", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/moved", http.StatusFound) })
			site.text("/robots.txt", "User-agent: *\nDisallow: /forbidden\n")
			site.set("/other", html("", "", 200, "other"))
			source := site.sitemap()
			source.Wants = func(page string) bool { return !strings.Contains(page, "/excluded") }
			snap, err := source.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer snap.Close()
			content, err := snap.Read(t.Context(), retrieval.File{Path: site.URL + "/page"})
			if len(site.requests("/forbidden"))+len(site.requests("/excluded")) > 0 {
				t.Error("a page that may not be fetched was requested")
			}
			switch {
			case test.is != nil:
				if !errors.Is(err, test.is) {
					t.Errorf("error %v, want %v", err, test.is)
				}
			case test.text != "":
				if err == nil || !strings.Contains(err.Error(), test.text) || errors.Is(err, retrieval.ErrTemporary) {
					t.Errorf("error %v, want %q", err, test.text)
				}
			case err != nil || string(content.Data) != test.want:
				t.Errorf("read %.100q, %v", content.Data, err)
			}
		})
	}
	if len(other.requests("/secret")) != 0 {
		t.Error("another host was asked")
	}
}

func TestAPageIsAskedForWithItsValidators(t *testing.T) {
	site := newSite(t)
	site.text("/sitemap.xml", urlset("SITE/page"))
	site.set("/page", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(w, r, "page.html", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), strings.NewReader("<p>hello"))
	})
	snap, err := site.sitemap().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := snap.Files[0]
	content, err := snap.Read(t.Context(), file)
	if err != nil || string(content.Data) != "<p>hello" {
		t.Fatalf("read %q, %v", content.Data, err)
	}
	file.Tag = content.Tag
	if _, err := snap.Read(t.Context(), file); !errors.Is(err, retrieval.ErrUnchanged) {
		t.Errorf("error %v", err)
	}
	second := site.requests("/page")[1]
	if got := second.Header; got.Get("If-None-Match") != `"v1"` || got.Get("If-Modified-Since") != "Fri, 02 Jan 2026 03:04:05 GMT" {
		t.Errorf("asked with %v", got)
	}
}

func TestFourRequestsAtOnceAreTheMost(t *testing.T) {
	site := newSite(t)
	site.text("/sitemap.xml", urlset("SITE/page"))
	var arrived sync.WaitGroup
	arrived.Add(sitemapWorkers)
	var first sync.Once
	release := make(chan struct{})
	count := 0
	site.set("/page", func(w http.ResponseWriter, r *http.Request) {
		site.mu.Lock()
		if count++; count <= sitemapWorkers {
			arrived.Done()
		}
		site.mu.Unlock()
		<-release
		fmt.Fprint(w, "<p>x")
	})
	snap, err := site.sitemap().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := snap.Read(t.Context(), snap.Files[0]); err != nil {
				t.Error(err)
			}
		})
	}
	arrived.Wait()
	first.Do(func() { close(release) })
	group.Wait()
	if site.most != sitemapWorkers {
		t.Errorf("%d requests at once", site.most)
	}
}

func TestASiteThatIsDownIsNotAskedForEachPage(t *testing.T) {
	site := newSite(t)
	site.text("/sitemap.xml", urlset("SITE/page"))
	site.set("/page", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) })
	snap, err := site.sitemap().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := snap.Read(t.Context(), snap.Files[0]); !errors.Is(err, retrieval.ErrTemporary) {
			t.Fatalf("error %v", err)
		}
	}
	if n := len(site.requests("/page")); n != giveUpAfter {
		t.Errorf("asked %d times", n)
	}
}

func TestPrivateAddressesAreRefusedUnlessAllowed(t *testing.T) {
	site := newSite(t)
	site.text("/sitemap.xml", urlset("SITE/a"))
	source := site.sitemap()
	source.AllowPrivate = false
	if _, err := source.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "127.0.0.1: it is a private address") {
		t.Errorf("error %v", err)
	}
	u, _ := url.Parse(site.URL)
	source = &Sitemap{URL: "http://localhost:" + u.Port() + "/sitemap.xml"}
	if _, err := source.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "private address") {
		t.Errorf("by name: error %v", err)
	}
	if len(site.asked) != 0 {
		t.Error("the site was asked")
	}
	for address, want := range map[string]bool{
		"1.1.1.1": true, "93.184.215.14": true, "2606:4700::1111": true, "64:ff9b::101:101": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.1.1": false, "0.0.0.0": false, "0.1.2.3": false, "255.255.255.255": false, "224.0.0.1": false,
		"198.18.0.1": false, "::1": false, "::": false, "fe80::1%eth0": false, "fd00::1": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b:1::7f00:1": false, "64:ff9b:1::101:101": false, "2002:7f00:1::": false, "2001:db8::1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: public is %v", address, got)
		}
	}
}

func TestVersionsFromLastmod(t *testing.T) {
	now := time.Now()
	site := newSite(t)
	site.text("/sitemap.xml", urlset(
		"SITE/1-old 2020-01-02T03:04:05Z", "SITE/2-old-day 2020-01-02", "SITE/3-today "+now.UTC().Format(time.DateOnly),
		"SITE/4-now "+now.UTC().Format(time.RFC3339), "SITE/5-none", "SITE/6-odd yesterday"))
	snap, err := site.sitemap().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false, false, false, false} {
		if f := snap.Files[i]; (f.Version != "") != want {
			t.Errorf("%s has version %q", f.Path, f.Version)
		}
	}
	days := map[int64]int{}
	for i := range 1000 {
		days[checkDay(fmt.Sprint(i), now)-checkDay(fmt.Sprint(i), now.Add(-time.Hour))]++
	}
	if days[1] < 10 || days[1] > 120 || days[0]+days[1] != 1000 {
		t.Errorf("asked for again within an hour: %v of 1000 pages", days)
	}
}

func TestSitemapAddresses(t *testing.T) {
	for _, bad := range []string{"", "docs.example.com/sitemap.xml", "ftp://x/sitemap.xml", "https:///x", "http://x y/"} {
		if _, err := (&Sitemap{URL: bad}).Snapshot(t.Context()); err == nil {
			t.Errorf("%q was fetched", bad)
		}
	}
}

func TestSitemapsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("much work of one goroutine")
	}
	var many strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&many, "<url><loc>https://x.example/%d</loc></url>", i)
	}
	pages, _, err := parseSitemap(strings.NewReader("<urlset>"+many.String()+"</urlset>"), maxSitemapURLs)
	if len(pages) != maxSitemapURLs || !errors.Is(err, errTooMuch) {
		t.Errorf("%d pages, %v", len(pages), err)
	}
	bomb := zipped(strings.Repeat(" ", maxSitemapBytes+1) + "<urlset></urlset>")
	if _, _, err := parseSitemap(strings.NewReader(bomb), 10); !errors.Is(err, errTooMuch) {
		t.Errorf("a bomb: %v", err)
	}
}

func FuzzParseSitemap(f *testing.F) {
	f.Add([]byte(urlset("https://x.example/a 2020-01-01")))
	f.Add([]byte(`<sitemapindex><sitemap><loc>https://x.example/1.xml</loc></sitemap></sitemapindex>`))
	f.Add([]byte("https://x.example/a\nhttps://x.example/b"))
	f.Add([]byte(zipped(urlset("https://x.example/a"))))
	f.Add([]byte(`<?xml version="1.0" encoding="latin1"?><urlset><url><loc>caf` + "\xe9" + `</loc></url></urlset>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		pages, maps, _ := parseSitemap(bytes.NewReader(data), 100)
		if len(pages)+len(maps) > 100 {
			t.Fatalf("%d entries", len(pages)+len(maps))
		}
		now := time.Now()
		robots, err := parseRobots(404, nil)
		if err != nil {
			t.Fatal(err)
		}
		snap := &sitemapSnapshot{sitemap: &Sitemap{}, host: "x.example", robots: robots, listed: map[string]bool{}}
		l := listing{snapshot: snap, seen: map[string]bool{}, now: now}
		for _, p := range pages {
			l.add(p)
		}
		l.finish()
		for _, file := range snap.Files {
			u, err := url.Parse(file.Path)
			if err != nil || hostOf(u) != "x.example" {
				t.Fatalf("%q is not of this host", file.Path)
			}
		}
	})
}

func TestASitemapIsLookedAtAtItsInterval(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	calls := 0
	err := (&Sitemap{Interval: time.Millisecond}).Watch(ctx, func() {
		if calls++; calls == 3 {
			cancel()
		}
	})
	if err != nil || calls < 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestPagesOfAnUpstreamAreKnownByTheURLsOfTheSite(t *testing.T) {
	for _, c := range []struct{ name, site, sitemap, prefix string }{
		{"at the root", "https://docs.example.com", "/sitemap.xml", ""},
		{"below a path that the proxy strips", "https://example.com/docs/", "/sitemap.xml", ""},
		{"below a path that the proxy keeps", "https://example.com/docs", "/docs/sitemap.xml", "/docs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			site := newSite(t)
			base := strings.TrimSuffix(c.site, "/")
			site.text(c.sitemap, "<sitemapindex><sitemap><loc>"+base+"/pages.xml</loc></sitemap></sitemapindex>")
			site.text(c.prefix+"/pages.xml", urlset("SITE"+c.prefix+"/a", base+"/b", base+"/a", base+"/private/c", base+"/moved", "https://elsewhere.example/d"))
			site.text("/robots.txt", "User-agent: *\nDisallow: "+c.prefix+"/private/\n")
			site.text(c.prefix+"/b", "<p>page b")
			site.set(c.prefix+"/moved", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, base+"/new", http.StatusFound)
			})
			site.text(c.prefix+"/new", "<p>page new")
			source := &Sitemap{URL: site.URL + c.sitemap, Site: c.site, AllowPrivate: true}
			snap, err := source.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer snap.Close()
			if got, want := paths(snap), []string{base + "/a", base + "/b", base + "/moved"}; !slices.Equal(got, want) {
				t.Fatalf("pages %q, want %q; problems %v", got, want, snap.Problems)
			}
			for i, want := range map[int]string{1: "<p>page b", 2: "<p>page new"} {
				if content, err := snap.Read(t.Context(), snap.Files[i]); err != nil || string(content.Data) != want {
					t.Errorf("%s: %q, %v", snap.Files[i].Path, content.Data, err)
				}
			}
			if len(snap.Problems) != 2 {
				t.Errorf("problems %+v", snap.Problems)
			}
		})
	}
}
