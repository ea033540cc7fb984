// Package reach finds out which pages of a site a client can open, by making
// the client's request inside the process, through the routes of the Caddy
// that serves the site. A page is closed until it is proven open: it is public
// if a stranger's request is answered with 200 and the page's own text, and
// shown to others only if their own request is.
package reach

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/handlers/hosting"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Options are the options of a Gate.
type Options struct {
	Routes *Routes
	HTTP   *caddyhttp.App
	// Server serves the site. Default: the server for the host of URL. Nil and no
	// such server: the site is served elsewhere.
	Server *caddyhttp.Server
	// URL is the site's URL, "" if it is unknown; then the pages are below the path
	// Prefix. Host is the Host header that Server expects, if it is not that of
	// URL (default: localhost).
	URL, Host, Prefix string
	// Also are further places that serve the site's pages, where a page must open,
	// too.
	Also []Place
	// Named reports that this Caddy has the URL's host, although it may have
	// nothing that serves pages there.
	Named bool
	// Documents returns the pages of the index. After each change it returns a
	// new slice.
	Documents func() []*retrieval.Document
	// Whole returns a page of Documents with its texts, nil if it is gone.
	Whole func(ctx context.Context, page string) (*retrieval.Document, error)
	// File, if not nil, reads the file of a page. made reports that the document was
	// made of these bytes. err is not nil for pages that don't come from files.
	File func(d *retrieval.Document) (file []byte, made bool, err error)
	// Loads returns what a document's page loads its text from if its HTML may lack
	// the text: the paths where readers may get it, of which those without a
	// leading slash are below the site's root, and its bytes. Both are nil for
	// other documents.
	Loads func(d *retrieval.Document) (paths []string, data []byte)
	// Open makes every page public: locks are off.
	Open bool
	// Members, if not nil, are the sites of a group, whose gates say what is
	// shown. The documents are theirs, with the site as their Source.
	Members func() []Member
	// OnView, if not nil, is called with each view that is complete.
	OnView func(*View)
	Log    *slog.Logger
}

// Place is a host of a server, and the path that the site's pages are below there.
type Place struct {
	Server       *caddyhttp.Server
	Host, Prefix string
}

// Gate is a site as one configuration of this Caddy serves it.
type Gate struct {
	Options
	location
	inside  *inside   // nil: the site is served elsewhere
	also    []*inside // those of Also
	states  states
	readers readers

	view       atomic.Pointer[View]
	publishing sync.Mutex
	// late is the first document of a generation whose pages took so long that they
	// are not waited for again.
	late atomic.Pointer[retrieval.Document]

	// running ends with Run, and the checks for readers with it.
	running context.Context
	stop    context.CancelFunc

	wake     chan struct{}
	updating sync.Mutex // one update at a time
	// reported and reportedFailing are true once the log has the states, and a page
	// that gives no answer.
	reported, reportedFailing atomic.Bool

	mu   sync.Mutex
	free map[string]freePath

	proving proving
}

// View is what strangers may see at one moment.
type View struct {
	// Public narrows a search to the public pages. Nil: all pages are searched,
	// and IsPublic says which of them may be shown.
	Public *retrieval.PageSet
	// Elsewhere reports that this Caddy does not serve the site, by its
	// configuration, or that locks are off: all pages count as public.
	Elsewhere bool
	// Complete reports that all pages were asked for.
	Complete bool

	pages map[string]*Page // by Document.Page
	// front is the front page, or else another page, that strangers get.
	front *Page
	// byURL are the pages by where they are served.
	byURL func() map[string][]*Page
	// documents are those of the index that the view was made from. replaced is
	// closed when there is a new view.
	documents []*retrieval.Document
	replaced  chan struct{}
	sets      *sets // nil until the first complete view
	// locks are the handlers that refuse strangers or have nothing for them, with
	// the pages behind them.
	locks []*lock
	found *sync.Map
	// members are the sites that a group's view was made from.
	members []member
}

// IsPublic reports whether a document was proven public.
func (v *View) IsPublic(d *retrieval.Document) bool {
	if v.Elsewhere {
		return true
	}
	p := v.pages[d.Page]
	return p.shows(d) && p.State == Public
}

// AnyLocked reports whether a page at one of the URLs is not public. A URL without
// a page counts as locked.
func (v *View) AnyLocked(urls []string) bool {
	return !v.Elsewhere && slices.ContainsFunc(urls, func(u string) bool {
		pages := v.at(u)
		return len(pages) == 0 || slices.ContainsFunc(pages, (*Page).locked)
	})
}

// Locked returns the URLs of pages that are not public.
func (v *View) Locked(urls []string) (locked []string) {
	for _, u := range urls {
		if !v.Elsewhere && slices.ContainsFunc(v.at(u), (*Page).locked) {
			locked = append(locked, u)
		}
	}
	return locked
}

// HasLocked reports whether any page is not public.
func (v *View) HasLocked() bool {
	for _, p := range v.pages {
		if p.locked() {
			return true
		}
	}
	return false
}

// Served returns a document as its page is served, nil if no reader gets it.
func (v *View) Served(d *retrieval.Document) *retrieval.Document {
	if p := v.pages[d.Page]; p.shows(d) && p.State == Duplicate {
		return nil
	}
	return v.Document(d)
}

// Document returns a document with the URL that its page is served at.
func (v *View) Document(d *retrieval.Document) *retrieval.Document {
	p, found, page := v.pages[d.Page], v.found, d.Page
	if p != nil && p.gate != nil {
		found, page = &p.gate.states.found, p.own.Page
	}
	if m, ok := found.Load(page); ok && m.(moved).content == d.OwnHash() {
		return m.(moved).document(d)
	}
	if p.shows(d) && (p.State == Public || p.State == Locked) && (p.URL != d.URL || p.Raw) {
		return moved{url: p.URL, raw: p.Raw}.document(d)
	}
	return d
}

// at returns the pages at a URL: the page that a stranger's request found there or
// was refused, and a page that a reader has found there.
func (v *View) at(u string) (pages []*Page) {
	pages = slices.Clone(v.byURL()[u]) // one of several documents of a page
	u, _, anchor := strings.Cut(u, "#")
	if anchor {
		pages = append(pages, v.byURL()[u]...)
	}
	v.eachFound(func(page string, m moved) {
		if p := v.pages[page]; m.url == u && p != nil && p.Document.OwnHash() == m.content {
			pages = append(pages, p)
		}
	})
	return pages
}

// moved is where and how the content of a page is served.
type moved struct {
	content, url string
	path         string // of url, as it is requested
	raw          bool
}

// document returns a document as its page is served.
func (m moved) document(d *retrieval.Document) *retrieval.Document {
	c := *d
	c.URL = m.url
	if m.raw {
		c.Sections = slices.Clone(d.Sections)
		for i := range c.Sections {
			c.Sections[i].Anchor = ""
		}
	}
	return &c
}

// New returns the gate of a site. It makes no request before Run.
func New(o Options) (*Gate, error) {
	base, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	if o.URL == "" {
		base.Path = o.Prefix
	}
	s := &Gate{Options: o, location: location{base}, wake: make(chan struct{}, 1)}
	s.running, s.stop = context.WithCancel(context.Background())
	server, host := o.Server, cmp.Or(o.Host, base.Host, "localhost")
	if server == nil {
		server, host = hosting.ServerFor(o.HTTP, base), base.Host
	}
	v := s.states.newView(nil)
	s.view.Store(v)
	if s.Members != nil {
		return s, nil
	}
	v.Elsewhere = server == nil || o.Open
	if v.Complete = v.Elsewhere; v.Elsewhere { // others are asked for their pages first
		return s, nil
	}
	if s.inside, err = newInside(o.Routes, server, host); err != nil {
		return nil, err
	}
	s.inside.public = cmp.Or(base.Host, host)
	for _, at := range o.Also {
		in, err := newInside(o.Routes, at.Server, at.Host)
		if err != nil {
			return nil, err
		}
		s.also = append(s.also, in)
	}
	return s, nil
}

// Pages returns the pages with their states, by URL.
func (s *Gate) Pages() []Page { return s.View().sorted(s.Documents(), s.Open) }

func (v *View) sorted(documents []*retrieval.Document, open bool) []Page {
	return slices.SortedFunc(v.all(documents, open), func(a, b Page) int { return strings.Compare(a.URL, b.URL) })
}

// all returns documents with their states. open is true if all are public by
// the configuration.
func (v *View) all(documents []*retrieval.Document, open bool) iter.Seq[Page] {
	return func(yield func(Page) bool) {
		for _, d := range documents {
			p := Page{Document: d, State: Unknown, URL: d.URL, Why: "has not been requested yet"}
			switch found := v.pages[d.Page]; {
			case v.Elsewhere:
				if p.State, p.Why = Public, ""; !open {
					p.Why = "is not served by this Caddy"
				}
			case found.shows(d):
				p = *found
			}
			if !yield(p) {
				return
			}
		}
	}
}

func (s *states) newView(documents []*retrieval.Document) *View {
	v := &View{Complete: true, found: &s.found, pages: make(map[string]*Page, len(documents)), documents: documents, replaced: make(chan struct{})}
	v.byURL = sync.OnceValue(v.pagesByURL)
	return v
}

// publish makes the view of the states.
func (s *Gate) publish(documents []*retrieval.Document) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	if s.running.Err() != nil { // what OnView writes may have been removed since Run ended
		return
	}
	old, v := s.View(), s.states.newView(documents)
	s.states.mu.Lock()
	if !SameDocuments(documents, s.states.seen) { // replaced since Prove was called
		s.states.mu.Unlock()
		return
	}
	for _, d := range documents {
		if p := s.states.pages[d.Page]; p.shows(d) && !p.again {
			v.pages[d.Page] = p
		} else {
			v.Complete = false
		}
	}
	s.states.changed = false
	s.states.mu.Unlock()
	v.findDuplicates()
	s.show(old, v)
}

// show replaces the view by one whose pages have their states.
func (s *Gate) show(old, v *View) {
	next := &sets{public: make(map[string]bool), locked: make(map[string]int32)}
	for name, p := range v.pages {
		switch {
		case p.State == Public:
			next.public[name] = true
		case p.locked():
			next.locked[name] = p.lock
		}
	}
	next.all = len(next.public) == len(v.documents)
	switch {
	case old.sets != nil && (!v.Complete && s.Members == nil || old.sets.equal(next)):
		v.sets = old.sets
	case v.Complete, s.Members != nil:
		v.sets = next
	}
	if v.sets != nil && !v.sets.all {
		v.Public = v.sets.with(nil)
	}
	v.locks = v.locksOf(s.Routes)
	for _, d := range v.documents {
		if p := v.pages[d.Page]; p != nil && p.State == Public && (v.front == nil || d.Page == "") {
			v.front = p
		}
	}
	s.view.Store(v)
	close(old.replaced)
	s.showComplete(v)
}

// showComplete calls OnView with a view that is complete.
func (o *Options) showComplete(v *View) {
	if o.OnView != nil && v.Complete {
		o.OnView(v)
	}
}

// pagesByURL makes byURL. There may be several pages at one URL: they were asked
// for at different moments, or sites of a group have no URL.
func (v *View) pagesByURL() map[string][]*Page {
	at := make(map[string][]*Page, len(v.pages))
	for _, p := range v.pages {
		if p.State != Duplicate {
			at[p.URL] = append(at[p.URL], p)
		}
	}
	return at
}

// sets are the pages that searches are narrowed to. Indexes keep what they derive
// from a set, so a set is replaced only if its pages change.
type sets struct {
	all    bool             // all pages are public
	public map[string]bool  // by Document.Page
	locked map[string]int32 // the locks in front of the others
	mu     sync.Mutex
	made   map[string]*retrieval.PageSet
}

func (s *sets) equal(other *sets) bool {
	return s.all == other.all && maps.Equal(s.public, other.public) && maps.Equal(s.locked, other.locked)
}

// maxSets bounds the sets of pages that readers of different locks search.
const maxSets = 16

// with returns the public pages together with those behind some locks.
func (s *sets) with(locks []int32) *retrieval.PageSet {
	var key strings.Builder
	open := make(map[int32]bool, len(locks))
	for _, l := range slices.Sorted(slices.Values(locks)) {
		key.WriteString(strconv.Itoa(int(l)) + ",")
		open[l] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if set := s.made[key.String()]; set != nil {
		return set
	}
	if s.made == nil || len(s.made) >= maxSets {
		s.made = make(map[string]*retrieval.PageSet)
	}
	set := &retrieval.PageSet{Has: func(page string) bool {
		if s.public[page] {
			return true
		}
		lock, ok := s.locked[page]
		return ok && open[lock]
	}}
	s.made[key.String()] = set
	return set
}

// findDuplicates finds pages that are served at the same URL. The page whose own
// URL it is remains, or else the HTML file, or else the first page.
func (v *View) findDuplicates() {
	at := make(map[string]*Page)
	for _, d := range v.documents {
		p := v.pages[d.Page]
		if p == nil || p.State != Public && p.State != Locked {
			continue
		}
		key := strings.TrimSuffix(p.path, "/") + "#" + fragment(p.Document)
		other := at[key]
		if other == nil {
			at[key] = p
			continue
		}
		if better(p, other) {
			at[key], p, other = p, other, p
		}
		c := *p
		c.State, c.Why = Duplicate, "has the same URL as "+other.File
		v.pages[p.Page] = &c
	}
}

func better(p, other *Page) bool {
	if (p.State == Public) != (other.State == Public) {
		return p.State == Public
	}
	own := func(p *Page) bool { return p.URL == p.Document.URL }
	if own(p) != own(other) {
		return own(p)
	}
	html := func(p *Page) bool { return strings.HasSuffix(p.File, ".html") || strings.HasSuffix(p.File, ".htm") }
	return html(p) && !html(other)
}
