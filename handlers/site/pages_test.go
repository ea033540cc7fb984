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

func TestAPageIsNamedByItsPathInSearchResults(t *testing.T) {
	s := &Pages{site: New("acme", &options.Site{}, nil), byPath: map[string]*retrieval.Document{}}
	for _, page := range []string{"", "C", "C#", "C++", "F#", "Help:Editing", "std::vec", "50%", "what?"} {
		d := &retrieval.Document{Page: page, URL: (&url.URL{Path: "/" + page}).EscapedPath()}
		s.byPath[s.key(&url.URL{Path: "/" + page})] = d
	}
	s.byPath["/api#send"] = &retrieval.Document{Page: "api#send"}
	for name, page := range map[string]string{
		"C": "C", "C#": "C#", "C#intro": "C", "C##intro": "C#", "C++#intro": "C++", "F#": "F#", "F##intro": "F#",
		"/C.html": "C", "C.md": "C", "/C%23.html#intro": "C#", "http://acme.test/C.html": "C", "http://acme.test/C%23": "C#",
		"Help:Editing": "Help:Editing", "Help:Editing#top": "Help:Editing", "std::vec": "std::vec",
		"50%": "50%", "50%25": "50%", "what?": "what?", "/what%3F": "what?", "C?x=1": "C",
		"api#send": "api#send", "/api.html#send": "api#send", "#top": "", "/": "",
	} {
		if d := s.Named(name); d == nil || d.Page != page {
			t.Errorf("%s names %v, not %q", name, d, page)
		}
	}
	for _, name := range []string{"Help:Missing", "mailto:me", "51%", "G#"} {
		if d := s.Named(name); d != nil {
			t.Errorf("%s names %q", name, d.Page)
		}
	}
}
