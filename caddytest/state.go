package caddytest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
)

// App returns the app docs of this process, with its admin API.
func App(t testing.TB) admin.API {
	t.Helper()
	a, err := caddy.ActiveContext().AppIfConfigured("docs")
	if err != nil {
		t.Fatal(err)
	}
	return admin.API{App: a.(*app.App)}
}

// AllAsked waits until a stranger's request was made for each page of a site.
func AllAsked(t testing.TB, site string) {
	t.Helper()
	Until(t, "every page was asked for", func() bool {
		pages := App(t).Site(site).Reach.Pages()
		return len(pages) > 0 && !slices.ContainsFunc(pages, func(p reach.Page) bool { return p.State == reach.Unknown })
	})
}

// Embedded waits until searches of a new site, the only one, use the vectors of
// all sections. Its first generation has none.
func Embedded(t testing.TB) {
	t.Helper()
	Until(t, "searches use vectors", func() bool {
		index := App(t).Status().Sites[0].Index
		e := index.Embeddings
		return e != nil && e.Total > 0 && e.Done == e.Total && index.Generation > 1
	})
}

// Metrics returns the series of a MetricsSite by name and labels.
func (s *Server) Metrics(t testing.TB) map[string]float64 {
	t.Helper()
	r := s.Do(Request{Method: http.MethodGet, Path: "/metrics", Key: "-"})
	if r.Status != http.StatusOK {
		t.Fatalf("metrics: %d %s", r.Status, r.Body)
	}
	series := make(map[string]float64)
	for line := range strings.Lines(string(r.Body)) {
		if i := strings.LastIndexByte(strings.TrimSpace(line), ' '); i > 0 && line[0] != '#' {
			v, err := strconv.ParseFloat(strings.TrimSpace(line)[i+1:], 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			series[line[:i]] = v
		}
	}
	return series
}

// Metric returns one series, 0 if it is missing.
func (s *Server) Metric(t testing.TB, series string) float64 {
	t.Helper()
	return s.Metrics(t)[series]
}
