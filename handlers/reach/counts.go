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
		c.add(p.State)
	}
	return c
}

func (c *Counts) add(s State) {
	switch s {
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

// Raw returns how many pages are served as text, and the first of them.
func Raw(pages []Page) (n int, first *Page) {
	for i, p := range pages {
		if p.State != Public || !p.Raw {
			continue
		}
		if n++; first == nil {
			first = &pages[i]
		}
	}
	return n, first
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
	pages := s.Pages()
	if v.Elsewhere {
		const message = "this Caddy serves none of the site's pages; all of them count as public"
		if s.here && len(pages) > 0 {
			s.log.Warn(message, "pages", len(pages), "example", pages[0].URL, "why", pages[0].Why, "see", "caddy docs doctor")
		} else {
			s.log.Info(message, "pages", len(pages))
		}
		return
	}
	if p, exclude := FirstNotServed(pages); p != nil {
		s.log.Warn("some pages are left out because they are not served", "pages", Count(pages).NotServed, "of", len(pages),
			"example", p.URL, "why", p.Why, "write", exclude)
	}
}
