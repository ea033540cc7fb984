// Package moved remembers the addresses that a site had, and finds out where the
// text of a page went whose address is gone.
package moved

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Page is a page whose address is gone.
type Page struct {
	// Path is that of the URL that the page had.
	Path string `json:"path"`
	// Title is what the page was called.
	Title string `json:"title"`
	// Open reports that strangers could read the page.
	Open bool `json:"open"`
	// Last is when the index last had the page.
	Last time.Time `json:"last"`
	// Proved reports that the page is now at the first of its places: at least
	// 94 % of its text is there, and no other page has nearly as much of it.
	Proved bool `json:"proved"`
	// Places are up to three where the page may be, the likeliest first. No page
	// that is gone is one.
	Places []Place `json:"places"`
}

// Place is where the text of a page, or some of it, is now.
type Place struct {
	Address string `json:"url"`
	// Anchor is where the page begins if it has become a part of another.
	Anchor string `json:"-"`
	// Share is how much of the page's text is there, 0–1.
	Share float64 `json:"share"`
}

// Former is a page that is gone, for operators.
type Former struct {
	Path  string `json:"path"`
	Title string `json:"title"`
	// Last is when the index last had it, and Open whether strangers could read it.
	Last time.Time `json:"last"`
	Open bool      `json:"open"`
	// To is the path where it may be now, Page the name of the page there, and Share
	// how much of its text that has, 0–1; "" for nowhere. Proved reports that it is
	// there.
	To     string  `json:"to"`
	Page   string  `json:"page"`
	Share  float64 `json:"share"`
	Proved bool    `json:"proved"`
	// Redirect is the line of a Caddyfile that sends readers there.
	Redirect string `json:"redirect"`
}

// Memory has the addresses of a site, the last 100,000, in a file with at most 200
// bytes for each. While the site is served, only those that are gone are in
// memory.
type Memory struct {
	path string // "" keeps all in memory
	log  *slog.Logger

	gone atomic.Pointer[map[string]*Page]

	mu      sync.Mutex // guards the file
	records map[string]*record
	// public are the addresses that strangers can read, as View was last told, and
	// viewed identifies them.
	public map[string]bool
	viewed uint64
	failed bool
}

// Open returns the memory in a file, which is created when it is needed. A file
// that can't be read is logged and replaced.
func Open(path string, log *slog.Logger) *Memory {
	m := &Memory{path: path, log: log}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.show(m.load())
	return m
}

// Address is a path without what its forms differ in: a slash at the end, index
// and an extension.
func Address(p string) string {
	p = path.Clean("/" + p)
	switch ext := path.Ext(p); ext {
	case ".html", ".htm", ".md", ".mdx":
		p = strings.TrimSuffix(p, ext)
	}
	if p == "/index" {
		return "/"
	}
	return strings.TrimSuffix(p, "/index")
}

// addressOf is the address of a page.
func addressOf(d *retrieval.Document) string { return Address(PathOf(d)) }

// PathOf is the path of a page's URL; all of it if it can't be parsed.
func PathOf(d *retrieval.Document) string {
	if u, err := url.Parse(d.URL); err == nil {
		return u.Path
	}
	return d.URL
}

// Find returns the page that was at an address, nil if none was, or one is.
func (m *Memory) Find(address string) *Page { return (*m.gone.Load())[address] }

// Pages returns all pages that are gone, by address.
func (m *Memory) Pages() []*Page {
	gone := *m.gone.Load()
	list := make([]*Page, 0, len(gone))
	for _, address := range slices.Sorted(maps.Keys(gone)) {
		list = append(list, gone[address])
	}
	return list
}

// load returns the records, which the caller holds the lock for.
func (m *Memory) load() map[string]*record {
	if m.path == "" {
		if m.records == nil {
			m.records = map[string]*record{}
		}
		return m.records
	}
	records, err := load(m.path)
	if err != nil {
		m.log.Warn("the site's former URLs can't be read; pages that moved won't be found by them", "file", m.path, "error", err)
	}
	return records
}

func (m *Memory) save(records map[string]*record) {
	err := save(m.path, records)
	if err != nil && !m.failed {
		m.log.Warn("the site's URLs could not be stored; pages that move before the next start won't be found by their old URLs", "file", m.path, "error", err)
	}
	m.failed = err != nil
	m.show(records)
}

// show makes the records those that are found. What moved several times is found
// where it is in the end. That ends: an address that is followed was left before
// the one that it led to.
func (m *Memory) show(records map[string]*record) {
	gone := map[string]*Page{}
	for address, r := range records {
		if r.Seen == 0 {
			continue
		}
		p := &Page{Path: r.Path, Title: r.Title, Open: r.Open, Last: r.time(), Proved: r.Proved}
		to, share := r, 1.
		for range records { // a damaged file may lead in a circle
			next := (*record)(nil)
			if to.Proved && len(to.To) > 0 {
				next = records[to.To[0].address]
			}
			if next == nil || next.Seen == 0 {
				break
			}
			share *= float64(to.To[0].Share) / 100
			to = next
			p.Proved, p.Open = p.Proved && to.Proved, p.Open && to.Open
		}
		for _, at := range to.To {
			if now := records[at.address]; now != nil && now.Seen == 0 {
				p.Places = append(p.Places, Place{Address: at.address, Anchor: at.Anchor, Share: share * float64(at.Share) / 100})
			}
		}
		p.Proved = p.Proved && len(p.Places) > 0
		gone[address] = p
	}
	m.gone.Store(&gone)
}

// View tells the memory which pages of the index strangers can read. It may come
// before the function that Replace returns is called for these pages.
func (m *Memory) View(documents []*retrieval.Document, public func(*retrieval.Document) bool) {
	h, open := fnv.New64a(), make(map[string]bool, len(documents))
	for _, d := range documents {
		a := addressOf(d)
		open[a] = public(d)
		fmt.Fprintln(h, a, open[a])
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.Sum64() == m.viewed {
		return
	}
	m.public, m.viewed = open, h.Sum64()
	if records := m.load(); m.open(records) {
		m.save(records)
	}
}

// open notes in records which pages strangers can read, and reports whether that
// has changed.
func (m *Memory) open(records map[string]*record) (changed bool) {
	for a, public := range m.public {
		if r := records[a]; r != nil && r.Seen == 0 && r.Open != public {
			r.Open, changed = public, true
		}
	}
	return changed
}

// Texts returns a page of the index with its texts.
type Texts func(ctx context.Context, page string) (*retrieval.Document, error)

// Replace tells the memory that a generation is about to replace another. The
// function that it returns is called afterwards. texts are those of the index,
// which has the old pages before and the new ones then.
func (m *Memory) Replace(ctx context.Context, before, after []*retrieval.Document, texts Texts) (replaced func()) {
	now := make(map[string]bool, len(after))
	for _, d := range after {
		now[addressOf(d)] = true
	}
	var left []*retrieval.Document
	for _, d := range before {
		if !now[addressOf(d)] {
			left = append(left, d)
		}
	}
	most := max(leastCompared, compared/max(1, len(left)))
	old := make(map[string]oldText, len(left))
	for _, d := range left {
		if whole, err := whole(ctx, d, texts); err == nil {
			shingles := shinglesOf(whole, nil)
			old[addressOf(d)] = oldText{lowest(shingles, most), len(shingles)}
		}
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		u := &update{ctx: ctx, records: m.load(), documents: after, texts: texts, old: old, names: newNames(after)}
		u.note(before)
		changed := u.run(time.Now())
		if m.open(u.records) || changed {
			m.save(u.records)
		}
	}
}

func whole(ctx context.Context, d *retrieval.Document, texts Texts) (*retrieval.Document, error) {
	if !d.Outline {
		return d, nil
	}
	w, err := texts(ctx, d.Page)
	return cmp.Or(w, d), err
}
