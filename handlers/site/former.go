package site

import (
	"net/url"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// Former returns the page that was at a path, nil if none was or one is, for
// operators: what readers may be told, Moved returns.
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
			f.To, f.Page, f.Share, f.Proved = (&url.URL{Path: pathOf(d), Fragment: p.Anchor}).String(), d.Page, p.Share, f.Proved && i == 0
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
