package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/disk"
)

// groupSource is both the source and the ingester of a group's index. It has the
// documents of the group's sites, which have already been read.
type groupSource struct {
	members *Newest[func() []*Site] // of the newest configuration

	mu   sync.Mutex
	read map[string]*retrieval.Document // by file, until the ingester takes them
}

const (
	// groupWait is how long a group waits for the first pages of its sites.
	groupWait = 10 * time.Second
	// groupTick is how often a group looks for new pages of its sites, and
	// groupBurst how long it waits for their changes to end: otherwise two hundred
	// sites that start would make two hundred generations.
	groupTick, groupBurst = time.Second, 15 * time.Second
)

func (g *groupSource) sites() []*Site {
	if members := g.members.Current(); members != nil {
		return members()
	}
	return nil
}

func (g *groupSource) Watch(ctx context.Context, changed func()) error {
	ticker := time.NewTicker(groupTick)
	defer ticker.Stop()
	type state struct { // of a site
		index      *Index
		generation uint64
		looked     bool
	}
	var seen, last []state
	since := time.Now()
	for {
		var now []state
		for _, r := range g.sites() {
			now = append(now, state{r.Index, r.Index.Refresher.Generation(), r.Index.hasLooked()})
		}
		switch {
		case slices.Equal(now, seen):
			since = time.Now()
		case slices.Equal(now, last), time.Since(since) > groupBurst:
			seen, since = now, time.Now()
			changed()
		}
		last = now
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// Snapshot implements retrieval.Source. Sites without pages are problems, and
// the others are listed.
func (g *groupSource) Snapshot(ctx context.Context) (*retrieval.Snapshot, error) {
	sites := g.sites()
	if len(sites) == 0 {
		return nil, errors.New("the sites of the group are not open yet")
	}
	s := &groupSnapshot{groupSource: g, own: make(map[string]ownPage)}
	s.Read, s.Close = s.page, s.close
	g.mu.Lock()
	g.read = make(map[string]*retrieval.Document)
	g.mu.Unlock()
	wait, cancel := context.WithTimeout(ctx, groupWait)
	defer cancel()
	unread := 0
	for _, r := range sites {
		select {
		case <-r.Index.Looked:
		case <-wait.Done():
		}
		looked := r.Index.hasLooked()
		if !looked {
			unread++
		}
		release, open := r.Acquire()
		if !open {
			continue
		}
		s.releases = append(s.releases, release)
		switch st := r.Index.Refresher.Status(); {
		case !looked:
		case !st.Ready:
			s.Problems = append(s.Problems, retrieval.Problem{File: r.Name, Reason: "the site has no pages yet", Do: r.Remedy(st)})
		case st.Error != "":
			s.Problems = append(s.Problems, retrieval.Problem{File: r.Name, Reason: "searching the site's last good pages: " + st.Error, Do: r.Remedy(st)})
		}
		for _, d := range r.Index.Documents() {
			file := r.Name + "/" + d.File
			if _, twice := s.own[file]; !twice {
				s.Files = append(s.Files, retrieval.File{Path: file, Size: -1, Version: versionOf(d)})
				s.own[file] = ownPage{r, d}
			}
		}
	}
	if unread > 0 {
		reading := fmt.Sprintf("%d of %d sites are still being read", unread, len(sites))
		s.Problems = append(s.Problems, retrieval.Problem{File: "sites", Reason: reading, Do: "wait; they will join the group"})
	}
	slices.SortFunc(s.Files, func(a, b retrieval.File) int { return strings.Compare(a.Path, b.Path) })
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &s.Snapshot, nil
}

// versionOf differs for documents that are not equal, or not at one URL.
func versionOf(d *retrieval.Document) string { return d.Hash + " " + d.Page + " " + d.URL }

// ownPage is a page as its site has it.
type ownPage struct {
	site     *Site
	document *retrieval.Document
}

// groupSnapshot is the pages of a group at one moment.
type groupSnapshot struct {
	*groupSource
	retrieval.Snapshot
	own      map[string]ownPage // by file
	releases []func()
}

func (s *groupSnapshot) close() error {
	for _, release := range s.releases {
		release()
	}
	return nil
}

// page returns the version of a document, which Document then returns.
func (s *groupSnapshot) page(ctx context.Context, file retrieval.File) (retrieval.Content, error) {
	p := s.own[file.Path]
	d, err := p.site.Index.Page(ctx, p.document.Page)
	switch {
	case err != nil:
		return retrieval.Content{}, fmt.Errorf("%w: %w", retrieval.ErrTemporary, err)
	case d == nil || d.Outline || versionOf(d) != file.Version:
		return retrieval.Content{}, fmt.Errorf("%w: the page has changed", retrieval.ErrTemporary)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read[file.Path] = grouped(p.site.Name, d)
	return retrieval.Content{Data: []byte(file.Version)}, nil
}

// grouped returns a page of a site as one of a group.
func grouped(site string, d *retrieval.Document) *retrieval.Document {
	c := *d
	c.Page, c.File, c.Source = reach.In(site, d.Page), site+"/"+d.File, site
	for _, to := range []*string{&c.Canonical, &c.Translations} {
		if *to != "" {
			*to = "/" + reach.In(site, strings.TrimPrefix(*to, "/"))
		}
	}
	c.Links = slices.Clone(d.Links)
	for i := range c.Links {
		c.Links[i].Page = reach.In(site, c.Links[i].Page)
	}
	return &c
}

func (g *groupSource) Document(file string, _ []byte) (*retrieval.Document, []string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.read[file]
	delete(g.read, file)
	return d, nil, nil
}

func (*groupSource) Wants(string) bool                                        { return true }
func (*groupSource) Page(file string) string                                  { return file }
func (*groupSource) Prefer(string, string) bool                               { return false }
func (*groupSource) Learn(map[string][]byte) retrieval.Repeated               { return nil }
func (*groupSource) Use(retrieval.Repeated)                                   {}
func (*groupSource) Fingerprint() string                                      { return "group-1" }
func (*groupSource) Complete(all []*retrieval.Document) []*retrieval.Document { return all }

// vectors returns the vectors that the sites have.
func (g *groupSource) vectors(ctx context.Context, keys []disk.Key) [][]float32 {
	all := make([][]float32, len(keys))
	for _, r := range g.sites() {
		for i, v := range r.Index.Refresher.Vectors(ctx, keys) {
			if v != nil {
				all[i] = v
			}
		}
	}
	return all
}

// markdown returns a page of the group as its site has it.
func (g *groupSource) markdown(d *retrieval.Document, base string, keep bool) ([]byte, error) {
	for _, r := range g.sites() {
		if r.Name != d.Source {
			continue
		}
		release, open := r.Acquire()
		if !open {
			break
		}
		defer release()
		own, err := r.Index.Page(context.Background(), reach.Own(r.Name, d.Page))
		if err != nil {
			return nil, err
		}
		if own == nil || own.OwnHash() != d.OwnHash() {
			break
		}
		c := *own
		c.URL = d.URL
		return r.Index.Markdown(&c, base, keep)
	}
	return nil, fs.ErrNotExist
}

// member returns a site of a group by its name, nil if the group has none of that
// name now, or r is not a group.
func (r *Site) member(name string) *Site {
	if r.Members == nil {
		return nil
	}
	for _, of := range r.Members() {
		if of.Name == name {
			return of
		}
	}
	return nil
}

// inGroup returns a page of a group as its readers see it: below the title of
// its site.
func (r *Site) inGroup(d *retrieval.Document) *retrieval.Document {
	if r.Members == nil {
		return d
	}
	c := *d
	title := d.Source
	if of := r.member(d.Source); of != nil {
		title = of.Title()
	}
	c.Breadcrumbs = append([]string{title}, d.Breadcrumbs...)
	return &c
}
