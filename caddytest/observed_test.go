package caddytest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// metricsSite is acme with the metrics of Caddy beside it.
func metricsSite(root string) string {
	return "http://:0 {\n\thandle /metrics {\n\t\tmetrics\n\t}\n\tdocs acme " + root + "\n}\n"
}

// patch adapts a Caddyfile and changes the JSON.
func patch(t testing.TB, caddyfile string, change func(map[string]any)) []byte {
	t.Helper()
	cfg, err := Adapt(caddyfile)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(cfg, &c); err != nil {
		t.Fatal(err)
	}
	change(c)
	if cfg, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// metrics are the series of the metrics endpoint.
func (s *Server) metrics(t testing.TB) map[string]float64 {
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

// metric is one series, 0 where there is none.
func (s *Server) metric(t testing.TB, series string) float64 {
	t.Helper()
	return s.metrics(t)[series]
}
