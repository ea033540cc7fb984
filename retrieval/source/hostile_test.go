package source

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// hostileSite serves a robots.txt with so many rules, and a sitemap with so
// many pages.
func hostileSite(t *testing.T, rules, pages int, onSitemap func()) *Sitemap {
	var site *httptest.Server
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprintln(w, "User-agent: *")
			for i := range rules {
				fmt.Fprintf(w, "Disallow: /*x%d*y*z$\n", i)
			}
			return
		}
		for i := range pages {
			fmt.Fprintf(w, "%s/p%d%s\n", site.URL, i, strings.Repeat("x1y", 60))
		}
		onSitemap()
	}))
	t.Cleanup(site.Close)
	return &Sitemap{URL: site.URL + "/sitemap.txt", AllowPrivate: true}
}

// Rules times pages is work: a robots.txt of half a megabyte would keep a
// core busy for minutes, at every look.
func TestARobotsFileOfTooManyRulesIsRefused(t *testing.T) {
	s := hostileSite(t, maxRules+1, 1, func() {})
	if _, err := s.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "rules") {
		t.Errorf("%v", err)
	}
	s = hostileSite(t, maxRules, 1, func() {})
	if _, err := s.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
}

// A stop, or a reload, waits for the refresh in progress.
func TestReadingAListOfPagesEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	s := hostileSite(t, 1, 5000, func() {})
	s.Wants = func(string) bool {
		if seen++; seen == 10 {
			cancel()
		}
		return true
	}
	if _, err := s.Snapshot(ctx); err == nil || seen > 10 {
		t.Errorf("%d pages were looked at after the context's end, %v", seen-10, err)
	}
}
