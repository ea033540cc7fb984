package reach

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// State is what a stranger's request for a page gets.
type State string

// The states of a page. Nothing but Public pages is shown to strangers.
const (
	// Unknown pages have no answer yet, or none any longer: requests for them fail
	// or take too long.
	Unknown State = "unknown"
	// Public pages answer a stranger with 200 and their own text.
	Public State = "public"
	// Locked pages refuse a stranger, or answer with something else.
	Locked State = "locked"
	// NotServed pages are at none of the URLs that they could have, for a
	// stranger.
	NotServed State = "not served"
	// Duplicate pages are at the URL of another page.
	Duplicate State = "duplicate"
)

// Page is a page of the index, as the site serves it.
type Page struct {
	*retrieval.Document
	State State
	// URL is where the page is served. Like Document.URL it is absolute if the
	// site's URL is known.
	URL string
	// Why is the reason for the state, for people; "" for pages that a stranger
	// got as HTML.
	Why string
	// Raw reports that the page is served as text, such as a Markdown file, where
	// links to sections lead nowhere.
	Raw bool

	path string // of URL, as it is requested
	// refused reports that a Locked page refuses a stranger by its status or by a
	// redirect, rather than by answering with something else.
	refused bool
	// lock is the handler that answered for a page that is not Public, and folder
	// that of the folders behind it that the page is in.
	lock   int32
	folder string

	// gate is the gate of the page's own site, which has own in place of Document;
	// nil outside of a group.
	gate *Gate
	own  *retrieval.Document

	asking
}

// asking is when and how to request a page. No view shows it.
type asking struct {
	// proof is the hash of the response with which a page was proven Public.
	proof uint64
	// due is when the page is to be requested again.
	due time.Time
	// failures counts the unanswered requests in a row.
	failures int
	// late is how much patience the last answer took, so that the next request has
	// as much from the start.
	late int
	// again reports that the page is about to be requested once more.
	again bool
}

// equal reports whether views show both pages in the same way.
func (p *Page) equal(other *Page) bool {
	if p == nil || other == nil {
		return p == other
	}
	c := *p
	c.asking = other.asking
	return c == *other
}

// locked reports whether some readers may open the page and others not, as far
// as is known.
func (p *Page) locked() bool { return p.State != Public && p.State != Duplicate }

// shows reports whether the state of the page is that of a document.
func (p *Page) shows(d *retrieval.Document) bool {
	return p != nil && (p.Document == d || p.Document.OwnHash() == d.OwnHash() && p.File == d.File)
}

// judge says what an answer means. It is Public if it has the page's own text.
func judge(a answer) (state State, why string) {
	switch {
	case a.elsewhere != "":
		return Locked, "redirects to " + a.elsewhere
	case a.status == statusAborted:
		return Locked, "closes the connection"
	case a.status == 0:
		return NotServed, "is not handled by any route"
	case a.status == http.StatusNotFound || a.status == http.StatusGone:
		return NotServed, "responds with " + http.StatusText(a.status)
	case a.status >= 500, a.status == http.StatusTooManyRequests, a.status == http.StatusRequestTimeout, a.status == http.StatusTooEarly:
		return Unknown, "responds with " + strings.TrimSpace(http.StatusText(a.status))
	case a.status != http.StatusOK:
		return Locked, "responds with " + strings.TrimSpace(http.StatusText(a.status))
	case !isText(a.contentType) && path.Ext(a.path) != ".md" && path.Ext(a.path) != ".mdx": // whose types systems don't know
		return NotServed, "responds with " + a.contentType
	}
	return Public, ""
}

// otherText is the reason for the lock of a page whose response is not the page.
const otherText = "responds with 200, but not with the page's text"

// mediaType is a content type without its parameters.
func mediaType(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// isHTML reports whether headings have ids in a content type.
func isHTML(contentType string) bool {
	kind := mediaType(contentType)
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// isText reports whether a content type may be that of a page.
func isText(contentType string) bool {
	kind := mediaType(contentType)
	return isHTML(kind) || slices.Contains([]string{"", "text/markdown", "text/x-markdown", "text/plain"}, kind)
}

// bare is a path without a slash or an extension at its end.
func bare(p string) string {
	p = strings.TrimSuffix(p, "/")
	return strings.TrimSuffix(strings.TrimSuffix(p, path.Ext(p)), "/index")
}

// location is where a site is: at a URL, or below a path if the URL is not known.
type location struct{ base *url.URL }

// candidates are the paths that a page may be served at, the likeliest first.
func (s *location) candidates(d *retrieval.Document) []string {
	var paths []string
	add := func(p string) {
		if p != "" && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	if u, err := url.Parse(d.URL); err == nil {
		if u.Host == "" { // the document doesn't know the prefix
			add(s.root() + strings.TrimPrefix(u.EscapedPath(), "/"))
		} else {
			add(u.EscapedPath())
		}
	}
	if strings.Contains(d.File, "://") {
		return paths // of a sitemap, which has the URL
	}
	file := s.root() + strings.TrimPrefix(pageFile(d), "/")
	name := bare(file)
	if strings.HasSuffix(strings.TrimSuffix(file, path.Ext(file)), "/index") {
		add(escape(name + "/"))
	}
	if name != "" {
		add(escape(name))
		add(escape(name + "/"))
		add(escape(name + ".html"))
	}
	add(escape(file))
	return paths
}

// pageFile is the file of a document, without the fragment of one of a page's several.
func pageFile(d *retrieval.Document) string {
	if f := fragment(d); f != "" {
		return strings.TrimSuffix(d.File, "#"+f)
	}
	return d.File
}

func unescape(p string) string {
	if u, err := url.PathUnescape(p); err == nil {
		return u
	}
	return p
}

func escape(p string) string { return (&url.URL{Path: p}).EscapedPath() }

// root is the path of the site's front page, which ends with a slash.
func (s *location) root() string { return strings.TrimSuffix(s.base.EscapedPath(), "/") + "/" }

// fragment is the fragment in the address of one of a page's several documents.
func fragment(d *retrieval.Document) string {
	u, err := url.Parse(d.URL)
	if err != nil {
		return ""
	}
	return u.Fragment
}

// urlAt is the URL of a document whose page is at a path.
func (s *location) urlAt(d *retrieval.Document, p string) string {
	u := s.absolute(p)
	if f := fragment(d); f != "" {
		u += "#" + (&url.URL{Fragment: f}).EscapedFragment()
	}
	return u
}

// absolute is the URL of a path, in the form of Document.URL.
func (s *location) absolute(p string) string {
	if s.base.Host == "" {
		return escape(p)
	}
	return (&url.URL{Scheme: s.base.Scheme, Host: s.base.Host, Path: p}).String()
}

// Counts are how many pages of a site are in each state.
type Counts struct {
	Public    int `json:"public"`
	Locked    int `json:"locked"`
	NotServed int `json:"not_served"`
	Duplicate int `json:"duplicate"`
	Unknown   int `json:"unknown"`
}

// AllPublic reports whether every page is Public.
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

// CountOf counts pages by state.
func CountOf(pages []Page) Counts {
	by := map[State]int{}
	for _, p := range pages {
		by[p.State]++
	}
	return Counts{by[Public], by[Locked], by[NotServed], by[Duplicate], by[Unknown]}
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
	file := pageFile(example.Document)
	if u, err := url.Parse(file); err == nil && u.Host != "" { // of a sitemap
		file = u.Path
	} else if ext := path.Ext(file); ext != "" && !slices.ContainsFunc(pages, func(p Page) bool { return p.State != NotServed && path.Ext(pageFile(p.Document)) == ext }) {
		return example, "exclude /**" + ext
	}
	return example, "exclude /" + strings.TrimPrefix(file, "/")
}
