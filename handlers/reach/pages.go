package reach

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// State is what a stranger's request for a page gets.
type State string

// The states of a page.
const (
	// Unknown pages have no answer yet. They are treated as locked.
	Unknown State = "unknown"
	// Public pages answer 200 to a stranger.
	Public State = "public"
	// Locked pages refuse a stranger.
	Locked State = "locked"
	// NotServed pages are at none of the URLs that they could have.
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
	// Raw reports that the page is served as text, as a Markdown file is, in
	// which links to sections lead nowhere.
	Raw bool

	asked time.Time
	path  string // of URL, as it is asked for
	// walled pages respond to a stranger with 200 and what pages that do not
	// exist respond with, as behind a login form.
	walled bool
}

// walls are the responses of folders for pages that do not exist in them, by a
// path without the random part. look asks for them. root is a folder that was
// asked already (Site.fallback), "" for none.
type walls struct {
	look    func(path string) (answer, error)
	root    string
	answers sync.Map
}

// hide reports whether an answer for a page is that for a page that does not
// exist in its folder. The folder of a front page is the one it is in front of.
func (w *walls) hide(candidate string, front bool, a answer) (bool, error) {
	folder, name := path.Split(strings.TrimSuffix(candidate, "/"))
	tail := path.Ext(name) + candidate[len(folder)+len(name):]
	if front {
		folder, tail = bare(candidate)+"/", ""
	}
	if folder == w.root {
		return false, nil
	}
	once, _ := w.answers.LoadOrStore(folder+"*"+tail, sync.OnceValues(func() (answer, error) {
		return w.look(folder + "docs-" + strings.ToLower(rand.Text()) + tail)
	}))
	absent, err := once.(func() (answer, error))()
	return err == nil && absent.status == a.status && absent.body == a.body, err
}

// fronts returns the names of the pages that other pages are below.
func fronts(documents []*retrieval.Document) map[string]bool {
	names := make(map[string]bool)
	for _, d := range documents {
		if above := path.Dir(d.Page); above != "." {
			names[above] = true
		}
	}
	return names
}

// look asks for a page as a stranger.
func (s *Site) look(ctx context.Context, d *retrieval.Document, fallback *answer, w *walls, front bool) (Page, error) {
	p := Page{Document: d, State: NotServed, URL: d.URL, asked: time.Now()}
	for i, candidate := range s.candidates(d) {
		a, err := s.inside.look(ctx, candidate, true)
		if err != nil {
			return p, err
		}
		state, why := judge(candidate, a, fallback, candidate == s.root())
		if state == NotServed {
			if i == 0 {
				p.Why = candidate + " " + why
			}
			continue
		}
		if state == Public && candidate != s.root() {
			hidden, err := w.hide(candidate, front, a)
			if err != nil {
				return p, err
			}
			if hidden { // the page may be at the next path
				if !p.walled {
					p.walled, p.State, p.Why = true, Locked, walled
					p.path = unescape(candidate)
				}
				continue
			}
		}
		p.walled, p.State, p.Why = false, state, why
		if state == Public && !isHTML(a.contentType) {
			p.Raw, p.Why = true, "is served as text, not rendered"
		}
		if p.path = a.path; state != Public { // where a login is, say
			p.path = unescape(candidate)
		}
		break
	}
	if p.State != NotServed {
		p.URL = s.absolute(p.path)
		if p.State != Locked {
			s.found.Delete(d.Page)
		}
	}
	return p, nil
}

// walled is the reason for the lock of such a page.
const walled = "responds like pages that do not exist"

// judge says what an answer for the path asked means. fallback is the site's
// answer for a page that does not exist, if it has the status 200.
func judge(asked string, a answer, fallback *answer, root bool) (State, string) {
	switch {
	case a.elsewhere != "":
		return Locked, "redirects to " + a.elsewhere
	case a.status == statusAborted:
		return Locked, "closes the connection"
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden || a.status == http.StatusProxyAuthRequired:
		return Locked, "responds with " + http.StatusText(a.status)
	case a.status == http.StatusTooManyRequests:
		return Unknown, "responds with Too Many Requests"
	case a.status == 0:
		return NotServed, "is not handled by any route"
	case a.status != http.StatusOK:
		return NotServed, "responds with " + strings.TrimSpace(http.StatusText(a.status))
	case !samePage(unescape(asked), a.path):
		return Locked, "redirects to " + a.path // a login, or where the page has moved
	case !isText(a.contentType):
		return NotServed, "responds with " + a.contentType
	case fallback != nil && !root && a.body == fallback.body:
		return NotServed, "responds like a page that does not exist"
	}
	return Public, ""
}

// samePage reports whether a redirect leads to another URL of the same page:
// without an extension, with a slash, or below a prefix.
func samePage(from, to string) bool {
	from, to = bare(from), bare(to)
	return from == to || from != "" && strings.HasSuffix(to, from) && !isLogin(to)
}

// bare is a path without a slash or an extension at its end.
func bare(p string) string {
	p = strings.TrimSuffix(p, "/")
	return strings.TrimSuffix(strings.TrimSuffix(p, path.Ext(p)), "/index")
}

// isHTML reports whether a content type is one in which headings have ids.
func isHTML(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// isText reports whether a content type is one of pages.
func isText(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "", "text/html", "application/xhtml+xml", "text/markdown", "text/x-markdown", "text/plain":
		return true
	}
	return false
}

// candidates are the paths that a page may be served at, the likeliest first.
func (s *Site) candidates(d *retrieval.Document) []string {
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
	file := s.root() + strings.TrimPrefix(d.File, "/")
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

func unescape(p string) string {
	if u, err := url.PathUnescape(p); err == nil {
		return u
	}
	return p
}

func escape(p string) string { return (&url.URL{Path: p}).EscapedPath() }

// root is the path of the site's front page, which ends with a slash.
func (s *Site) root() string { return strings.TrimSuffix(s.base.EscapedPath(), "/") + "/" }

// absolute is the URL of a path, in the form of Document.URL.
func (s *Site) absolute(p string) string {
	if s.base.Host == "" {
		return escape(p)
	}
	return (&url.URL{Scheme: s.base.Scheme, Host: s.base.Host, Path: p}).String()
}

// fallback asks for a page that does not exist. Sites made of one page, or
// with an error page that has the status 200, have an answer for it, which
// must not pass for a page.
func (s *Site) fallback(ctx context.Context) (*answer, error) {
	a, err := s.inside.look(ctx, s.root()+"docs-"+strings.ToLower(rand.Text()), true)
	if err != nil || a.status != http.StatusOK {
		return nil, err
	}
	return &a, nil
}
