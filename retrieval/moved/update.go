package moved

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

// maxPending is how many pages that were not found yet are looked for in what is
// new, the latest first.
const maxPending = 20_000

// oldText has the lowest of so many shingles of a page.
type oldText struct {
	lowest []uint32
	size   int
}

// update brings the records up to date with a generation.
type update struct {
	ctx       context.Context
	records   map[string]*record
	documents []*retrieval.Document // of the generation
	names     *names
	texts     Texts
	// old are the texts of the pages that are gone since the last generation.
	old map[string]oldText
	// added are the addresses that are new, and fresh the documents whose text is
	// not that of their record.
	added   map[string]bool
	fresh   []int
	changed bool // the records differ from the file
}

// note makes records of the pages of the last generation that have none, as
// when the file was lost.
func (u *update) note(before []*retrieval.Document) {
	for _, d := range before {
		if a := addressOf(d); u.records[a] == nil {
			u.records[a], u.changed = &record{Path: PathOf(d), Title: short.Bytes(d.Title, maxTitle)}, true
		}
	}
}

// run does the update, and reports whether the records have changed.
func (u *update) run(now time.Time) (changed bool) {
	current := u.current()
	var left, pending []*sought
	for a, r := range u.records {
		if current[a] {
			continue
		}
		p := &sought{record: r, title: r.Title, shingles: decodeSketch(r.Sketch)}
		switch s := u.old[a]; {
		case r.Seen == 0:
			if r.Seen, u.changed = now.Unix(), true; s.size > 0 {
				p.shingles, p.size, p.whole = s.lowest, s.size, true
			}
			left = append(left, p)
		case len(p.shingles) > 0:
			pending = append(pending, p)
		}
	}
	slices.SortFunc(pending, func(a, b *sought) int {
		return cmp.Or(cmp.Compare(b.record.Seen, a.record.Seen), cmp.Compare(a.record.Path, b.record.Path))
	})
	pending = pending[:min(len(pending), maxPending)]
	if len(left) == 0 || len(pending) > 0 {
		// Those of which what is new has more than was found before are looked for
		// everywhere.
		u.scan(pending, u.fresh)
		for _, p := range pending {
			if len(p.found) > 0 && p.found[0].share > p.record.share()+.05 {
				p.found, p.own = nil, 0
				left = append(left, p)
			}
		}
	}
	if len(left) > 0 {
		all := make([]int, len(u.documents))
		for i := range all {
			all[i] = i
		}
		u.scan(left, all)
		for _, p := range left {
			u.place(p)
		}
	}
	return u.changed || len(u.fresh) > 0
}

// current makes the records of the generation's pages, and returns their
// addresses.
func (u *update) current() map[string]bool {
	current := make(map[string]bool, len(u.documents))
	u.added = make(map[string]bool)
	for i, d := range u.documents {
		a, title := addressOf(d), short.Bytes(d.Title, maxTitle)
		r := u.records[a]
		if r == nil || r.Seen != 0 {
			r = &record{}
			u.records[a], u.added[a] = r, true
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(d.OwnHash()))
		if content := h.Sum64(); r.Content != content {
			r.Content, r.Sketch = content, nil
			u.fresh = append(u.fresh, i)
		}
		p := PathOf(d)
		u.changed = u.changed || r.Path != p || r.Title != title
		r.Path, r.Title, current[a] = p, title, true
	}
	return current
}

// scan finds the texts of pages in documents, of which those that are fresh get
// their sketches.
func (u *update) scan(pages []*sought, documents []int) {
	h := newHunt(pages, len(u.documents))
	var shingles []uint32
	for _, i := range documents {
		d, err := whole(u.ctx, u.documents[i], u.texts)
		if err != nil {
			continue
		}
		shingles = shinglesOf(d, shingles[:0])
		h.look(i, shingles)
		if r := u.records[addressOf(d)]; r.Sketch == nil {
			r.Sketch = encodeSketch(lowest(shingles, sketched))
		}
	}
	h.count()
}

// place keeps where a page was found.
func (u *update) place(p *sought) {
	r := p.record
	r.Content, r.To, r.Sketch, u.changed = 0, nil, encodeSketch(p.shingles), true
	if r.Proved = p.prove(u.names, u.documents, u.added); r.Proved {
		p.found, r.Sketch = p.found[:1], nil
	} else {
		p.rank(u.names, u.documents, u.added)
	}
	for _, f := range p.found[:min(len(p.found), places)] {
		to := place{address: addressOf(u.documents[f.document]), Share: uint8(100 * f.share)}
		if f.share >= .5 && f.size >= 2*p.size {
			if d, err := whole(u.ctx, u.documents[f.document], u.texts); err == nil {
				to.Anchor = p.anchorOf(d)
			}
		}
		r.To = append(r.To, to)
	}
}
