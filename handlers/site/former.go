package site

import (
	"net/url"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// Former is a page that was at a path, and where it is now, for operators: what
// readers may be told, Moved returns.
type Former struct {
	moved.Page
	// To is the place that is the likeliest, "" for none, Name the name of its page
	// and Share how much of the text it has.
	To, Name string
	Share    float64
}

// Former returns the page that was at a path, nil if none was or one is.
func (s *Pages) Former(path string) *Former {
	if gone := s.former(path); gone != nil {
		return s.formerly(gone)
	}
	return nil
}

// FormerPages returns all pages that are gone, by their paths.
func (s *Pages) FormerPages() (list []*Former) {
	for _, gone := range s.site.Index.Moved.Pages() {
		list = append(list, s.formerly(gone))
	}
	return list
}

func (s *Pages) formerly(gone *moved.Page) *Former {
	f := &Former{Page: *gone}
	for i, p := range f.Places {
		d := s.at(p.Address)
		if d == nil {
			continue
		}
		f.To, f.Name, f.Share, f.Proved = (&url.URL{Path: pathOf(d), Fragment: p.Anchor}).String(), d.Page, p.Share, f.Proved && i == 0
		break
	}
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

// RedirectLine returns the line of a Caddyfile that redirects a path to a URL,
// "" if there is nothing to redirect or the path means something else there.
func RedirectLine(from, to string) string {
	if to == "" || strings.ContainsAny(from, "*{}\"\\`\n\r\t%") {
		return ""
	}
	if strings.ContainsAny(from, " #") {
		from = `"` + from + `"`
	}
	return "redir " + from + " " + to + " permanent"
}
