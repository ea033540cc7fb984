package reach

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// Counts are how many pages of a site are in each state.
type Counts struct {
	Public    int `json:"public"`
	Locked    int `json:"locked"`
	NotServed int `json:"not_served"`
	Duplicate int `json:"duplicate"`
	Unknown   int `json:"unknown"`
}

// AllPublic reports whether no page is in another state than Public.
func (c Counts) AllPublic() bool { return c == Counts{Public: c.Public} }

// String returns the counts for people: "3 public, 1 locked".
func (c Counts) String() string {
	parts := []string{fmt.Sprintf("%d public", c.Public)}
	for _, s := range []struct {
		n     int
		state State
	}{{c.Locked, Locked}, {c.NotServed, NotServed}, {c.Duplicate, Duplicate}, {c.Unknown, Unknown}} {
		if s.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", s.n, s.state))
		}
	}
	return strings.Join(parts, ", ")
}

// Count counts pages by state.
func Count(pages []Page) (c Counts) {
	for _, p := range pages {
		switch p.State {
		case Public:
			c.Public++
		case Locked:
			c.Locked++
		case NotServed:
			c.NotServed++
		case Duplicate:
			c.Duplicate++
		default:
			c.Unknown++
		}
	}
	return c
}

// FirstNotServed returns a page that is not served, and what leaves it out of
// the index: a line of the site's block. It returns nil if all are served.
func FirstNotServed(pages []Page) (example *Page, exclude string) {
	served := make(map[string]bool) // by extension
	for i, p := range pages {
		if p.State == NotServed {
			if example == nil {
				example = &pages[i]
			}
			continue
		}
		served[path.Ext(p.File)] = true
	}
	if example == nil {
		return nil, ""
	}
	file := example.File
	if u, err := url.Parse(file); err == nil && u.Host != "" { // of a sitemap
		file = u.Path
	} else if ext := path.Ext(file); !served[ext] {
		return example, "exclude /**" + ext
	}
	return example, "exclude /" + strings.TrimPrefix(file, "/")
}

// report logs the states of the first complete view, if an operator should
// know of them.
func (s *Site) report() {
	v := s.View()
	if s.reported || !v.Complete {
		return
	}
	s.reported = true
	if v.Elsewhere {
		s.log.Info("this Caddy serves none of the site's pages; all of them count as public", "pages", len(s.documents()))
		return
	}
	pages := s.Pages()
	if p, exclude := FirstNotServed(pages); p != nil {
		s.log.Warn("some pages are left out because they are not served", "pages", Count(pages).NotServed, "of", len(pages),
			"example", p.URL, "why", p.Why, "write", exclude)
	}
}
