package reach

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

const (
	// maxSpoofed is how many locked pages are asked for with headers that a
	// stranger made up, evenly among them.
	maxSpoofed = 50
	// maxClaimed is how many values each header is tried with.
	maxClaimed = 20
)

// Spoofed returns a locked page that opens for a stranger who sends the headers
// that prove a person, and one value that opens it; "" for none. The values are
// the words of the configuration's matchers that look at such a header.
func (s *Gate) Spoofed(ctx context.Context) (page, value string) {
	if s.inside == nil || s.HTTP == nil {
		return "", ""
	}
	var names []string
	for _, server := range s.HTTP.Servers {
		names = append(names, personHeaders(server.Routes)...)
	}
	var locked []*Page
	pages := s.Pages()
	for i := range pages {
		if pages[i].State != Public {
			locked = append(locked, &pages[i])
		}
	}
	if len(names) == 0 || len(locked) == 0 {
		return "", ""
	}
	values := []string{"x"}
	for _, server := range s.HTTP.Servers {
		values = claimed(server.Routes, names, values)
		for _, named := range server.NamedRoutes {
			values = claimed(caddyhttp.RouteList{*named}, names, values)
		}
	}
	values = values[:min(len(values), maxClaimed)]
	for i := 0; i < len(locked); i += 1 + len(locked)/maxSpoofed {
		p := locked[i]
		for _, value := range append(values, strings.Join(values, ",")) {
			who := &reader{remoteAddr: stranger.remoteAddr, header: http.Header{}}
			for _, name := range names {
				who.header.Set(name, value)
			}
			if open, err := s.find(ctx, who, p.Document, append([]string{escape(p.path)}, s.candidates(p.Document)...), true); err == nil && open {
				return p.URL, value
			}
		}
	}
	return "", ""
}

// personHeaders are the headers that handlers of routes set for a person.
func personHeaders(routes caddyhttp.RouteList) (names []string) {
	for _, route := range routes {
		for _, handler := range route.Handlers {
			switch h := handler.(type) {
			case *caddyhttp.Subroute:
				names = append(names, personHeaders(h.Routes)...)
			case interface{ PersonHeaders() []string }:
				names = append(names, h.PersonHeaders()...)
			}
		}
	}
	return names
}

// word is a value in a pattern or an expression.
var word = regexp.MustCompile(`[\pL\pN][\pL\pN_.@-]*`)

// claimed adds the values that matchers of routes compare such a header with.
func claimed(routes caddyhttp.RouteList, names, values []string) []string {
	var look func(caddyhttp.MatcherSets)
	look = func(sets caddyhttp.MatcherSets) {
		for _, set := range sets {
			for _, m := range set {
				switch not := m.(type) {
				case *caddyhttp.MatchNot:
					look(not.MatcherSets)
				case caddyhttp.MatchNot:
					look(not.MatcherSets)
				}
				text, _ := json.Marshal(m) // that of a matcher that has none names no header
				if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(strings.ToLower(string(text)), strings.ToLower(name)) }) {
					continue
				}
				for _, value := range word.FindAllString(string(text), -1) {
					if !slices.Contains(values, value) && !slices.Contains(names, value) {
						values = append(values, value)
					}
				}
			}
		}
	}
	for _, route := range routes {
		look(route.MatcherSets)
		for _, handler := range route.Handlers {
			if sub, ok := handler.(*caddyhttp.Subroute); ok {
				values = claimed(sub.Routes, names, values)
			}
		}
	}
	return values
}
