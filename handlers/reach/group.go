package reach

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Member is a site of a group.
type Member struct {
	// Name is the site's name, with which the names of its pages in the group begin.
	Name string
	*Gate
}

// member is one of the sites that a view of a group was made from.
type member struct {
	Member
	view      *View
	documents []*retrieval.Document
}

// In returns the name that a page of a site has in a group.
func In(site, page string) string { return strings.TrimSuffix(site+"/"+page, "/") }

// Own returns the name that a page of a group has on its own site.
func Own(site, page string) string {
	return strings.TrimPrefix(strings.TrimPrefix(page, site), "/")
}

// View returns what may be searched now. A group's view is made from the current
// views of its sites: what a site no longer shows, the group doesn't show either.
func (s *Gate) View() *View {
	v := s.view.Load()
	if s.Members == nil || s.isCurrent(v) {
		return v
	}
	s.updating.Lock()
	defer s.updating.Unlock()
	if v = s.view.Load(); s.isCurrent(v) {
		return v
	}
	next := s.states.newView(s.Documents())
	for _, m := range s.Members() {
		next.members = append(next.members, member{m, m.Gate.View(), m.Documents()})
	}
	next.join()
	s.show(v, next)
	return next
}

// isCurrent reports whether a view of a group has what its sites show now.
func (s *Gate) isCurrent(v *View) bool {
	members := s.Members()
	if len(members) != len(v.members) || !SameDocuments(s.Documents(), v.documents) {
		return false
	}
	for i, m := range members {
		was := &v.members[i]
		if m.Gate != was.Gate || m.Gate.View() != was.view || !SameDocuments(m.Documents(), was.documents) {
			return false
		}
	}
	return true
}

// join gives the documents of a group the states that they have on their own
// sites. A document that its site lacks, or has with other content, gets none.
func (v *View) join() {
	bySite := make(map[string][]*retrieval.Document, len(v.members))
	for _, d := range v.documents {
		bySite[d.Source] = append(bySite[d.Source], d)
	}
	for _, m := range v.members {
		v.Complete = v.Complete && (m.view.Complete || len(m.documents) == 0)
		own := make(map[string]*retrieval.Document, len(m.documents))
		for _, d := range m.documents {
			own[d.Page] = d
		}
		for _, d := range bySite[m.Name] {
			there := own[Own(m.Name, d.Page)]
			if there == nil || there.OwnHash() != d.OwnHash() {
				continue
			}
			p := Page{Document: there, State: Public, URL: there.URL}
			if !m.view.Elsewhere {
				known := m.view.pages[there.Page]
				if !known.shows(there) {
					continue
				}
				p = *known
			}
			p.Document, p.gate, p.own = d, m.Gate, there
			v.pages[d.Page] = &p
		}
	}
}

// Named returns a page of a group by its name, nil if no reader gets it.
func (v *View) Named(page string) *retrieval.Document {
	if p := v.pages[page]; p != nil {
		return v.Served(p.Document)
	}
	return nil
}

// memberOf returns the site of a group that a page belongs to, the page's name
// there, and the page as that site has it. For a name or URL without a page, it
// returns the site that would have it.
func (s *Gate) memberOf(name string, d *retrieval.Document) (g *Gate, own string, page *retrieval.Document) {
	v := s.View()
	if d != nil {
		if p := v.pages[d.Page]; p.shows(d) {
			return p.gate, p.own.Page, p.own
		}
		name = d.Page
	}
	u, err := url.Parse(name)
	if err != nil || len(v.members) == 0 {
		return nil, "", nil
	}
	site, rest, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	best := -1
	for _, m := range v.members {
		below, ok := strings.CutPrefix(u.Path, m.root())
		switch {
		case u.Host == "" && m.Name == site:
			return m.Gate, rest, nil
		case u.Host != "" && ok && strings.EqualFold(u.Host, m.base.Host) && len(m.root()) > best:
			g, own, best = m.Gate, below, len(m.root())
		}
	}
	if g == nil {
		g, own = v.members[0].Gate, rest // which takes as long
	}
	return g, own, nil
}

// openedOnSites returns what a reader has opened on the sites of a group, by lock.
func (v *View) openedOnSites(visit *visit) map[int32][]*Page {
	opened := make(map[int32][]*Page)
	for _, m := range v.members {
		r := m.readers.last(visit.hash())
		if r == nil {
			continue
		}
		r.mu.Lock()
		for lock, pages := range r.opened {
			for _, p := range pages {
				if p = v.pages[In(m.Name, p.Page)]; p != nil && len(opened[lock]) < 2 {
					opened[lock] = append(opened[lock], p)
				}
			}
		}
		r.mu.Unlock()
	}
	return opened
}

// prove is Prove for documents of a group, by their names, on their own sites.
func (v *View) prove(ctx context.Context, names map[string]bool) {
	var wait sync.WaitGroup
	for _, m := range v.members {
		var own []*retrieval.Document
		for _, d := range m.documents {
			if names[In(m.Name, d.Page)] {
				own = append(own, d)
			}
		}
		wait.Go(func() { m.Prove(ctx, own...) })
	}
	wait.Wait()
}

// learn records what a reader's own request for a page of a group has found, for
// searches of the group.
func (s *Gate) learn(ctx context.Context, d *retrieval.Document, open bool) {
	visit := visitOf(ctx)
	if visit == nil || d == nil || Incomplete(ctx) {
		return
	}
	if p := s.View().pages[d.Page]; p.shows(d) && p.locked() {
		r := s.readers.rights(s, visit)
		r.check("own "+d.Page, func(context.Context, *check) { r.count(p, open) })
	}
}

// awaitMembers is awaitComplete for each site of a group.
func (s *Gate) awaitMembers(ctx context.Context) bool {
	var wait sync.WaitGroup
	var late atomic.Bool
	for _, m := range s.Members() {
		if v := m.Gate.View(); v.Elsewhere || v.Complete && SameDocuments(m.Documents(), v.documents) {
			continue
		}
		wait.Go(func() {
			if !m.awaitComplete(ctx) {
				late.Store(true)
			}
		})
	}
	wait.Wait()
	return !late.Load()
}

// refusesAny is Refuses for a group: a client that one of its sites refuses is
// refused by the group, too.
func (s *Gate) refusesAny(ctx context.Context) (status int) {
	var asked []func() int
	for _, m := range s.Members() {
		asked = append(asked, m.askFront(ctx))
	}
	for _, refusal := range asked {
		if status = refusal(); status != 0 {
			return status
		}
	}
	return 0
}

// eachFound calls f with the locked pages that readers found elsewhere, by their
// names in the view.
func (v *View) eachFound(f func(page string, m moved)) {
	v.found.Range(func(page, m any) bool {
		f(page.(string), m.(moved))
		return true
	})
	for _, of := range v.members {
		of.states.found.Range(func(page, m any) bool {
			f(In(of.Name, page.(string)), m.(moved))
			return true
		})
	}
}
