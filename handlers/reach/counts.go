package reach

import (
	"fmt"
	"net/url"
	"path"
	"slices"
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
	by := map[State]*int{Public: &c.Public, Locked: &c.Locked, NotServed: &c.NotServed, Duplicate: &c.Duplicate, Unknown: &c.Unknown}
	for _, p := range pages {
		*by[p.State]++
	}
	return c
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

// First returns the first page in a state, nil for none.
func First(pages []Page, state State) *Page {
	if i := slices.IndexFunc(pages, func(p Page) bool { return p.State == state }); i >= 0 {
		return &pages[i]
	}
	return nil
}

// FirstNotServed returns a page that is not served, and what leaves it out of
// the index: a line of the site's block. It returns nil if all are served.
func FirstNotServed(pages []Page) (example *Page, exclude string) {
	if example = First(pages, NotServed); example == nil {
		return nil, ""
	}
	file := example.File
	if u, err := url.Parse(file); err == nil && u.Host != "" { // of a sitemap
		file = u.Path
	} else if ext := path.Ext(file); !slices.ContainsFunc(pages, func(p Page) bool { return p.State != NotServed && path.Ext(p.File) == ext }) {
		return example, "exclude /**" + ext
	}
	return example, "exclude /" + strings.TrimPrefix(file, "/")
}
