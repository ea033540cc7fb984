package site

import (
	"net/url"
	"testing"

	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

func TestAPageIsNamedByAURLWithAnIPv6Address(t *testing.T) {
	s := &Pages{site: New("acme", &options.Site{URL: "http://[::1]:8080"}, nil)}
	d := &retrieval.Document{URL: "http://[::1]:8080/guide"}
	s.byPath = map[string]*retrieval.Document{s.key(&url.URL{Path: "/guide"}): d}
	if s.Named(d.URL) != d {
		t.Errorf("%s names no page", d.URL)
	}
}
