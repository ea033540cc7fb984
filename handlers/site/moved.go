package site

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// Moved is where a page went that was at a path of the site.
type Moved struct {
	// Former reports that there was a page.
	Former bool
	// Proved reports that the page is now at the first of Pages: that has at least
	// 94 % of its text, and no other has nearly as much.
	Proved bool
	// Pages are up to three pages that may be what the reader wants, the likeliest
	// first. Their URLs have a fragment if the text is a part of the page.
	Pages []*retrieval.Document
}

// Moved returns where the page went that was at a path which now has nothing; it
// returns nothing if no page was there. It names only pages that the reader of the
// context can open.
func (s *Pages) Moved(ctx context.Context, path string) (m Moved) {
	var places []moved.Place
	open, proved := true, true
	gone := s.former(path)
	m.Former = gone != nil
	switch d := s.At(path); {
	case d != nil && moved.PathOf(d) != path && s.view.IsPublic(d): // at another form of its address
		places = []moved.Place{{Address: moved.Address(moved.PathOf(d))}}
	case d == nil && gone != nil:
		places, proved, open = gone.Places, gone.Proved, gone.Open
	}
	var first *retrieval.Document
	for i, p := range places {
		d := s.at(p.Address)
		public := d != nil && s.view.IsPublic(d)
		if d != nil && !public && open { // strangers knew the page, so asking for it now tells them nothing
			v := s.site.Reach.Prove(ctx, d)
			if public = v.IsPublic(d); public {
				d = v.Document(d) // which says where it is served
			}
		}
		switch {
		case d == nil:
			continue
		case public:
			if !open && !s.view.Elsewhere {
				continue // strangers never knew that the page was there
			}
		case i > 0:
			continue
		default:
			first = d
			if !s.site.Reach.CanOpen(ctx, path, d) {
				continue
			}
		}
		c := *d
		if p.Anchor != "" {
			c.URL += "#" + p.Anchor
		}
		m.Pages = append(m.Pages, &c)
		m.Proved = m.Proved || i == 0 && proved
	}
	if first == nil && s.movedLocked() {
		// It takes as long as for a page that has moved behind a lock.
		s.site.Reach.CanOpen(ctx, path, nil)
	}
	return m
}

// Instead returns up to five pages that a reader of a path without one may want:
// those where its page may be, then the public ones that are most like the path.
func (s *Pages) Instead(path string, m Moved) []*retrieval.Document {
	pages := m.Pages
	for _, d := range s.Nearest(path) {
		if len(pages) < maxNearest && !slices.ContainsFunc(pages, func(p *retrieval.Document) bool { return p.Page == d.Page }) {
			pages = append(pages, d)
		}
	}
	return pages
}

// Location is the URL of the first page, without its host: a request may have
// come by another one.
func (m Moved) Location() string {
	u, err := url.Parse(m.Pages[0].URL)
	if err != nil {
		return m.Pages[0].URL
	}
	path := "/" + strings.TrimLeft(u.Path, "/") // two slashes would begin another host
	return (&url.URL{Path: path, RawPath: u.RawPath, Fragment: u.Fragment}).String()
}

// movedLocked reports whether any page has moved behind a lock.
func (s *Pages) movedLocked() bool {
	if s.view.Elsewhere || len(s.Public) == len(s.documents) {
		return false
	}
	s.moved.once.Do(func() {
		s.moved.locked = slices.ContainsFunc(s.site.Index.Moved.Pages(), func(p *moved.Page) bool {
			if len(p.Places) == 0 {
				return false
			}
			d := s.at(p.Places[0].Address)
			return d != nil && !s.view.IsPublic(d)
		})
	})
	return s.moved.locked
}

// at returns the page at an address that documents have, nil if there is none:
// they may not know the path that the site is below.
func (s *Pages) at(address string) *retrieval.Document {
	return cmp.Or(s.At(address), s.At(s.site.Reach.Prefix+address))
}

// Former returns, for operators, the page that was at a path, nil if there was none
// or there is one now. What readers may be told is what Moved returns.
func (s *Pages) Former(path string) *moved.Former {
	if gone := s.former(path); gone != nil {
		f := s.formerly(path, gone)
		return &f
	}
	return nil
}

// FormerPages returns all pages that are gone, by their paths.
func (s *Pages) FormerPages() []moved.Former {
	list := []moved.Former{}
	for _, gone := range s.site.Index.Moved.Pages() {
		list = append(list, s.formerly(gone.Path, gone))
	}
	return list
}

func (s *Pages) formerly(path string, gone *moved.Page) moved.Former {
	f := moved.Former{Path: path, Title: gone.Title, Last: gone.Last, Open: gone.Open, Proved: gone.Proved}
	for i, p := range gone.Places {
		if d := s.at(p.Address); d != nil {
			f.To, f.Page, f.Share, f.Proved = (&url.URL{Path: moved.PathOf(d), Fragment: p.Anchor}).String(), d.Page, p.Share, f.Proved && i == 0
			break
		}
	}
	f.Redirect = redirectLine(path, f.To)
	return f
}

// former returns what the index remembers of a path.
func (s *Pages) former(path string) *moved.Page {
	gone := s.site.Index.Moved.Find(moved.Address(path))
	if below, ok := strings.CutPrefix(path, s.site.Reach.Prefix); gone == nil && ok { // documents may not know it
		gone = s.site.Index.Moved.Find(moved.Address(below))
	}
	return gone
}

// redirectLine returns the line of a Caddyfile that redirects a path to a URL,
// "" if there is nothing to redirect or the path means something else there.
func redirectLine(from, to string) string {
	if to == "" || strings.ContainsAny(from, "*{}\"\\`\n\r\t%") {
		return ""
	}
	if strings.ContainsAny(from, " #") {
		from = `"` + from + `"`
	}
	return "redir " + from + " " + to + " permanent"
}
