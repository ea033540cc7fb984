// Package reach finds out which pages of a site a client can open, by making
// the client's request inside the process, through the routes of the Caddy
// that serves the site: a page is shown only to those who could open it.
package reach

import (
	"cmp"
	"context"
	"hash/fnv"
	"log/slog"
	"math"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	// tick is how often Tick is called, which looks for new pages and old answers.
	tick = time.Second
	// maxAge is how old an answer to a stranger may become.
	maxAge = 10 * time.Minute
	// openedFor is how long a reader's answer for a locked page holds.
	openedFor = 30 * time.Second
	// maxOpened bounds the readers' answers that are held.
	maxOpened = 20_000
	// sample is how many pages must be asked for before the site may be taken
	// for one that is served elsewhere.
	sample = 64
)

// Options are the options of a Site.
type Options struct {
	Routes *Routes
	HTTP   *caddyhttp.App
	// Server serves the site. Default: the server for the host of URL, else
	// Other.
	Server, Other *caddyhttp.Server
	// URL is the site's, "" if it is not known. Prefix is then the path that the
	// pages are below. Host is what Server and Other take as Host, if that is not
	// the URL's (default: localhost).
	URL, Host, Prefix string
	// Documents returns the pages of the index. The slice is another one
	// after each change.
	Documents func() []*retrieval.Document
	Log       *slog.Logger
}

// Site is a site as one configuration of this Caddy serves it.
type Site struct {
	base      *url.URL
	inside    *inside // nil: no server of this Caddy serves the site
	here      bool    // a server of this Caddy has the site's host
	documents func() []*retrieval.Document
	log       *slog.Logger

	view atomic.Pointer[View]

	wake     chan struct{}
	updating sync.Mutex // one update at a time
	reported bool       // the states of the first complete view are in the log

	mu     sync.Mutex
	pages  map[string]*Page // by Document.Page
	opened map[openedKey]opened
	// found has the locked pages that are not where a stranger was refused, by
	// Document.Page: a lock on /x/* refuses /x/page, where nothing may be, as
	// it refuses /x/page.md. A reader who can open the page finds it.
	found sync.Map // of moved
	free  map[string]freePath
	// settled are documents that are not due before then.
	settled []*retrieval.Document
	then    time.Time
}

// View is what may be searched. Its sets are nil if all pages are in them.
type View struct {
	// Public has the pages that anyone can open.
	Public *retrieval.PageSet
	// Served has the public pages and those that some readers may open.
	Served *retrieval.PageSet
	// Locked reports that Served has pages that Public lacks.
	Locked bool
	// Elsewhere reports that this Caddy serves none of the pages: all count as
	// public.
	Elsewhere bool
	// Complete reports that all pages were asked for.
	Complete bool

	// moved has the pages that are not at their own URL, or have no anchors
	// there.
	moved map[string]moved
	// found is Site.found.
	found *sync.Map
}

// Document returns a document with the URL that its page is served at.
func (v *View) Document(d *retrieval.Document) *retrieval.Document {
	if v.found != nil {
		if m, ok := v.found.Load(d.Page); ok && m.(moved).hash == d.Hash {
			return m.(moved).document(d)
		}
	}
	if m, ok := v.moved[d.Page]; ok && m.hash == d.Hash {
		return m.document(d)
	}
	return d
}

// moved is where and how a page is served.
type moved struct {
	hash string // of its document
	url  string
	raw  bool
	path string // of url, as it is asked for
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

type openedKey struct {
	reader [32]byte
	page   string
}

type opened struct {
	open  bool
	until time.Time
}

// New returns the site. Nothing is asked before Run.
func New(o Options) (*Site, error) {
	base, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	if o.URL == "" {
		base.Path = o.Prefix
	}
	s := &Site{base: base, documents: o.Documents, log: o.Log, wake: make(chan struct{}, 1), pages: make(map[string]*Page), opened: make(map[openedKey]opened)}
	server, host := o.Server, cmp.Or(o.Host, base.Host, "localhost")
	if server == nil {
		if server = serverFor(o.HTTP, base); server != nil {
			host = base.Host
		} else {
			server = o.Other
		}
	}
	s.here = server != nil && (base.Host == "" || serverFor(o.HTTP, base) != nil || MatchesHost(topHosts(server.Routes), base.Hostname()))
	s.view.Store(&View{Elsewhere: true})
	if server != nil {
		s.inside, err = newInside(o.Routes, server, host)
		if err != nil {
			return nil, err
		}
		s.inside.public = cmp.Or(base.Host, host)
		none := &retrieval.PageSet{Has: func(string) bool { return false }}
		s.view.Store(&View{Public: none, Locked: true, found: &s.found}) // until the pages are asked for
	}
	return s, nil
}

// Here reports whether this Caddy has the site's host, so that readers ask it
// for the pages.
func (s *Site) Here() bool { return s.here }

// View returns what may be searched now.
func (s *Site) View() *View { return s.view.Load() }

// Run keeps the states of the pages up to date until ctx ends.
func (s *Site) Run(ctx context.Context) {
	if s.inside == nil {
		s.log.Info("no server of this Caddy serves the site; all of its pages count as public")
		return
	}
	for {
		s.Update(ctx)
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
	}
}

// Ticks calls each at every tick until ctx ends. One clock for all sites, of
// which there may be a thousand, wakes the process once a second.
func Ticks(ctx context.Context, each func()) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			each()
		}
	}
}

// Tick lets Run go on if a page is due, or may be.
func (s *Site) Tick() {
	if s.inside == nil || s.isSettled(s.documents(), time.Now()) {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default: // it is to look already
	}
}

// isSettled reports whether none of the documents is due.
func (s *Site) isSettled(documents []*retrieval.Document, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sameDocuments(documents, s.settled) && now.Before(s.then)
}

// Update asks for the pages that are new, changed, or were asked for too long
// ago, and returns when their states are known.
func (s *Site) Update(ctx context.Context) {
	if s.inside != nil {
		s.update(ctx, math.MaxInt)
	}
}

// update asks for the pages that are new, changed, or were asked for too long
// ago: for at most limit of them.
func (s *Site) update(ctx context.Context, limit int) {
	s.updating.Lock()
	defer s.updating.Unlock()
	documents := s.documents()
	due := s.due(documents, time.Now())
	if len(due) == 0 {
		return
	}
	if len(due) > limit {
		some := make([]*retrieval.Document, limit)
		for i := range some {
			some[i] = due[i*len(due)/limit] // from all parts of the site
		}
		due = some
	}
	fallback, err := s.fallback(ctx)
	if err != nil {
		return // at the next tick
	}
	front := fronts(documents)
	w := &walls{root: s.root(), look: func(path string) (answer, error) { return s.inside.look(ctx, path, true) }}
	var wait sync.WaitGroup
	next := make(chan *retrieval.Document)
	for range min(len(due), insideAtOnce) {
		wait.Go(func() {
			for d := range next {
				p, err := s.look(ctx, d, fallback, w, front[d.Page])
				if err != nil {
					continue
				}
				s.mu.Lock()
				s.pages[d.Page] = &p
				s.mu.Unlock()
			}
		})
	}
	for _, d := range due {
		next <- d
	}
	close(next)
	wait.Wait()
	if ctx.Err() == nil {
		s.publish(documents)
		s.report()
	}
}

// due returns the documents to ask for, and forgets the pages that are gone.
// Old answers are renewed a few at a time.
func (s *Site) due(documents []*retrieval.Document, now time.Time) (due []*retrieval.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := now.Add(maxAge)
	const perAge = int(maxAge / tick)
	renewed, atOnce := 0, len(documents)/perAge+1
	hashes := make(map[string]string, len(documents)) // by page
	for _, d := range documents {
		hashes[d.Page] = d.Hash
		p := s.pages[d.Page]
		var again time.Time
		if p != nil {
			again = p.asked.Add(maxAge/2 + spread(d.URL))
		}
		switch {
		case p == nil || p.Hash != d.Hash || p.Document.URL != d.URL:
			due = append(due, d)
		case now.After(again) && renewed < atOnce:
			renewed++
			due = append(due, d)
		case again.Before(first):
			first = again
		}
	}
	if s.settled = nil; len(due) == 0 {
		s.settled, s.then = documents, first
	}
	for name := range s.pages {
		if _, ok := hashes[name]; !ok {
			delete(s.pages, name)
		}
	}
	s.found.Range(func(name, m any) bool {
		if hash, ok := hashes[name.(string)]; !ok || hash != m.(moved).hash {
			s.found.Delete(name)
		}
		return true
	})
	return due
}

// spread is how much later than others a page is asked for again, so that the
// pages of a thousand sites are not asked for in the same seconds.
func spread(url string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(url))
	return maxAge / 2 / 1000 * time.Duration(h.Sum32()%1000)
}

// sameDocuments reports whether both are the documents of one generation of the
// index, which never change.
func sameDocuments(a, b []*retrieval.Document) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// publish makes the view of the states.
func (s *Site) publish(documents []*retrieval.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openFronts(documents)
	s.findDuplicates(documents)
	v := &View{Complete: true, moved: make(map[string]moved), found: &s.found}
	public, served := make(map[string]bool), make(map[string]bool)
	for _, d := range documents {
		p := s.pages[d.Page]
		switch {
		case p == nil:
			v.Complete, v.Locked = false, true
			served[d.Page] = true
			continue
		case p.State == Public:
			public[d.Page], served[d.Page] = true, true
		case p.State == Locked || p.State == Unknown:
			v.Locked = true
			served[d.Page] = true
		default:
			continue
		}
		if p.URL != d.URL || p.Raw {
			v.moved[d.Page] = moved{d.Hash, p.URL, p.Raw, p.path}
		}
	}
	switch {
	case v.Complete && len(served) == 0:
		v.Elsewhere = true
	case len(public) < len(documents):
		v.Public = &retrieval.PageSet{Has: func(page string) bool { return public[page] }}
		if v.Locked {
			v.Served = &retrieval.PageSet{Has: func(page string) bool { return served[page] }}
		}
	}
	s.view.Store(v)
}

// openFronts opens the front pages of folders that respond with them to every
// unknown URL, as applications do. They are behind a lock only if a page below
// them is.
func (s *Site) openFronts(documents []*retrieval.Document) {
	locked := make(map[string]bool) // names of folders
	front := fronts(documents)
	for _, d := range documents {
		if p := s.pages[d.Page]; p != nil && p.walled && !front[d.Page] {
			for above := path.Dir(d.Page); above != "."; above = path.Dir(above) {
				locked[above] = true
			}
		}
	}
	for _, d := range documents {
		p := s.pages[d.Page]
		switch {
		case p == nil || !p.walled || !front[d.Page]:
		case locked[d.Page]:
			p.State, p.Why = Locked, walled
		default:
			p.State, p.Why = Public, ""
		}
	}
}

// findDuplicates finds pages that are served at one URL, of which the one
// whose own URL it is remains, else the HTML file, else the first.
func (s *Site) findDuplicates(documents []*retrieval.Document) {
	at := make(map[string]*Page)
	for _, d := range documents {
		p := s.pages[d.Page]
		if p == nil || p.State != Public && p.State != Locked {
			continue
		}
		key := strings.TrimSuffix(p.path, "/")
		other := at[key]
		if other == nil {
			at[key] = p
			continue
		}
		if better(p, other) {
			at[key], p, other = p, other, p
		}
		p.State, p.Why = Duplicate, "is at the URL of "+other.File
	}
}

func better(p, other *Page) bool {
	own := func(p *Page) bool { return p.URL == p.Document.URL }
	if own(p) != own(other) {
		return own(p)
	}
	html := func(p *Page) bool { return strings.HasSuffix(p.File, ".html") || strings.HasSuffix(p.File, ".htm") }
	return html(p) && !html(other)
}

// CanOpen reports whether the reader of the context can open a page.
func (s *Site) CanOpen(ctx context.Context, d *retrieval.Document) bool {
	v := s.View()
	if v.Elsewhere || v.Public == nil || v.Public.Has(d.Page) {
		return true
	}
	who := readerFrom(ctx)
	s.mu.Lock()
	p := s.pages[d.Page]
	s.mu.Unlock()
	switch {
	case p == nil:
		return s.openedFirst(ctx, d, who)
	case p.State == Public:
		return true
	case p.State == NotServed:
		return !v.Complete && s.servedNowhere(ctx)
	case p.State == Duplicate || who == stranger:
		return false
	}
	key := openedKey{who.hash(), d.Page}
	now := time.Now()
	s.mu.Lock()
	known, ok := s.opened[key]
	s.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.open
	}
	first := p.path // where a stranger was refused
	if m, ok := s.found.Load(d.Page); ok && m.(moved).hash == d.Hash {
		first = m.(moved).path
	}
	paths := append([]string{escape(first)}, s.candidates(d)...)
	state, err := s.find(ctx, d, paths, who, p.walled)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.opened) >= maxOpened {
		clear(s.opened)
	}
	s.opened[key] = opened{state == Public, now.Add(openedFor)}
	return state == Public
}

// find asks for a page as a reader, at the paths in order. The first at which
// anything is decides. With walled, a response must be another than that for a
// page that does not exist.
func (s *Site) find(ctx context.Context, d *retrieval.Document, paths []string, who *reader, walled bool) (State, error) {
	refused := NotServed
	for i, candidate := range paths {
		a, err := s.inside.ask(ctx, candidate, who, walled)
		if err != nil {
			return Unknown, err
		}
		state, _ := judge(candidate, a, nil, false)
		if state == NotServed {
			continue
		}
		if state == Public && walled && candidate != s.root() {
			w := walls{look: func(path string) (answer, error) { return s.inside.ask(ctx, path, who, true) }}
			front := slices.ContainsFunc(s.documents(), func(other *retrieval.Document) bool { return path.Dir(other.Page) == d.Page })
			hidden, err := w.hide(candidate, front, a)
			if err != nil {
				return Unknown, err
			}
			if hidden {
				refused = Locked
				continue
			}
		}
		if state == Public && i > 0 {
			s.found.Store(d.Page, moved{d.Hash, s.absolute(a.path), !isHTML(a.contentType), a.path})
		}
		return state, nil
	}
	return refused, nil
}

// openedFirst asks for a page that no stranger asked for yet. One that is not
// served may be shown if none of the site's pages is.
func (s *Site) openedFirst(ctx context.Context, d *retrieval.Document, who *reader) bool {
	state, err := s.find(ctx, d, s.candidates(d), who, true)
	if err != nil {
		return false
	}
	return state == Public || state == NotServed && s.servedNowhere(ctx)
}

// servedNowhere reports whether this Caddy serves none of a sample of the
// site's pages.
func (s *Site) servedNowhere(ctx context.Context) bool {
	enough := min(sample, len(s.documents()))
	s.mu.Lock()
	asked := len(s.pages)
	s.mu.Unlock()
	if asked < enough {
		s.update(ctx, sample)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pages {
		if p.State != NotServed {
			return false
		}
	}
	return len(s.pages) >= enough
}

// CanOpenAll reports whether the reader of the context can open the pages at
// all URLs. URLs of no page don't count.
func (s *Site) CanOpenAll(ctx context.Context, urls []string) bool {
	v := s.View()
	if v.Elsewhere || v.Public == nil || len(urls) == 0 {
		return true
	}
	wanted := make(map[string]bool, len(urls))
	for _, u := range urls {
		u, _, _ = strings.Cut(u, "#")
		wanted[u] = true
	}
	for _, d := range s.documents() {
		if wanted[v.Document(d).URL] && !s.CanOpen(ctx, d) {
			return false
		}
	}
	return true
}

// Counts returns how many pages are in each state.
func (s *Site) Counts() (c Counts) {
	v := s.View()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.documents() {
		switch known := s.pages[d.Page]; {
		case v.Elsewhere:
			c.add(Public)
		case known == nil:
			c.add(Unknown)
		default:
			c.add(known.State)
		}
	}
	return c
}

// Pages returns the pages with their states, by URL.
func (s *Site) Pages() []Page {
	v := s.View()
	var all []Page
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.documents() {
		p := Page{Document: d, State: Unknown, URL: d.URL}
		if known := s.pages[d.Page]; known != nil {
			p = *known
		}
		if v.Elsewhere {
			p.State, p.Why = Public, cmp.Or(p.Why, "is not served by this Caddy")
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Page) int { return strings.Compare(a.URL, b.URL) })
	return all
}
