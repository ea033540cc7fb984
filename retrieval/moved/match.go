package moved

import (
	"cmp"
	"math/bits"
	"path"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	// proof is the least share of a page's text at one place that proves that the
	// page is there, if no other place has a share within margin. With .9, one of
	// 360 redirects on a public history led elsewhere than its repository says.
	proof, margin = .94, .2
	// common is on how many pages a shingle is no page's own text.
	common = 8
	// leastOwn is how many shingles that are its own text a page must have for a
	// proof, and half of those that are compared. leastSketch is for a sketch.
	leastOwn, leastSketch = 20, 16
	// leastShare is that of a place worth a look.
	leastShare = .15
	// compared is how many shingles are compared at a time, of all pages that are
	// looked for: a limit of memory. leastCompared are of each.
	compared, leastCompared = 1 << 20, 128
	// places is how many of a page are kept, the likeliest first.
	places = 3
)

// sought is a page that is looked for.
type sought struct {
	record   *record
	shingles []uint32
	whole    bool // shingles are those of its text, not of its sketch
	size     int  // of the text in shingles, 0 if only the sketch is known
	title    string

	own   int // shingles that are not on many pages
	found []found
}

// found is a page with some text of one that is looked for.
type found struct {
	document int
	size     int // of the document in shingles
	share    float64
	score    float64 // for the order of places that prove nothing
}

// hunt finds the texts of pages in those of others.
type hunt struct {
	pages []*sought
	// keys are the different shingles of pages in order, of which of[from[i]] to
	// of[from[i+1]] have keys[i]. bucket has the first of those that are the same
	// without their last bits, so many that a bucket has a few keys.
	keys     []uint32
	from     []int32
	of       []int32
	bucket   []int32
	lastBits int
	// Of each key: the last document that has it, and how many have.
	last    []int32
	holders []uint8
	hits    []hit
	sizes   []int // of the documents
}

type hit struct{ key, document int32 }

func newHunt(pages []*sought, documents int) *hunt {
	x := &hunt{pages: pages, sizes: make([]int, documents)}
	var all []uint64
	for i, p := range pages {
		for _, h := range p.shingles {
			all = append(all, uint64(h)<<32|uint64(i)) //nolint:gosec // an index
		}
	}
	slices.Sort(all)
	x.lastBits = 32 - min(bits.Len(uint(len(all))), 24)
	x.bucket = make([]int32, 1<<(32-x.lastBits)+1)
	for _, v := range all {
		if h := uint32(v >> 32); len(x.keys) == 0 || x.keys[len(x.keys)-1] != h { //nolint:gosec // its upper half
			x.keys, x.from = append(x.keys, h), append(x.from, int32(len(x.of))) //nolint:gosec // limited by compared
			x.bucket[h>>x.lastBits+1]++
		}
		x.of = append(x.of, int32(uint32(v))) //nolint:gosec // its lower half
	}
	x.from = append(x.from, int32(len(x.of))) //nolint:gosec // as above
	for i := range len(x.bucket) - 1 {
		x.bucket[i+1] += x.bucket[i]
	}
	x.last, x.holders = make([]int32, len(x.keys)), make([]uint8, len(x.keys))
	return x
}

// look looks at the shingles of a document, by its number. No number comes twice.
func (x *hunt) look(number int, shingles []uint32) {
	mark := int32(number + 1) //nolint:gosec // an index
	x.sizes[number] = len(shingles)
	for _, h := range shingles {
		from, to := x.bucket[h>>x.lastBits], x.bucket[h>>x.lastBits+1]
		if from == to {
			continue
		}
		at, ok := slices.BinarySearch(x.keys[from:to], h)
		key := from + int32(at) //nolint:gosec // an index
		if !ok || x.last[key] == mark || x.holders[key] > common {
			continue
		}
		x.last[key] = mark
		x.holders[key]++
		x.hits = append(x.hits, hit{key, mark - 1})
	}
}

// count finishes: each page has what was found, the largest share first.
func (x *hunt) count() {
	var shared []uint64 // the number of a page and that of a document, for each shingle that both have
	repeated := func(key int32) bool { return x.holders[key] > common || x.from[key+1]-x.from[key] > common }
	for key := range x.keys {
		if !repeated(int32(key)) { //nolint:gosec // an index
			for _, p := range x.of[x.from[key]:x.from[key+1]] {
				x.pages[p].own++
			}
		}
	}
	for _, h := range x.hits {
		if !repeated(h.key) {
			for _, p := range x.of[x.from[h.key]:x.from[h.key+1]] {
				shared = append(shared, uint64(p)<<32|uint64(h.document)) //nolint:gosec // indexes
			}
		}
	}
	slices.Sort(shared)
	for len(shared) > 0 {
		n := 1
		for n < len(shared) && shared[n] == shared[0] {
			n++
		}
		p, document := x.pages[shared[0]>>32], int(uint32(shared[0])) //nolint:gosec // its lower half
		if share := float64(n) / float64(p.own); share >= leastShare {
			p.found = append(p.found, found{document: document, size: x.sizes[document], share: share})
		}
		shared = shared[n:]
	}
	for _, p := range x.pages {
		slices.SortFunc(p.found, func(a, b found) int {
			return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.document, b.document))
		})
	}
}

// prove reports whether the first place that was found is where the page is.
func (p *sought) prove(n *names, documents []*retrieval.Document, added map[string]bool) bool {
	if len(p.found) == 0 || 2*p.own < len(p.shingles) {
		return false
	}
	best, next := p.found[0], 0.
	if len(p.found) > 1 {
		next = p.found[1].share
	}
	to := documents[best.document]
	address, base := addressOf(to), path.Base(Address(p.record.Path))
	same := folded(to.Title) == folded(p.title) && path.Base(address) == base
	// What disappeared in one place and appeared in another word for word is there,
	// although pages of one pattern have much in common.
	whole := p.whole && best.share == 1 && added[address]
	least := leastOwn
	switch {
	case !p.whole:
		least = leastSketch
	case whole && same:
		least = 1
	}
	if p.own < least || best.share < proof || next >= best.share-margin && !(whole && next < 1) {
		return false
	}
	if same {
		return true
	}
	// A new page with the name of the old one, whose text is elsewhere.
	return !slices.ContainsFunc(slices.Concat(n.titles[folded(p.title)], n.bases[base]), func(i int) bool {
		return i != best.document && added[addressOf(documents[i])]
	})
}

// names are the documents by what they are called.
type names struct{ titles, bases map[string][]int }

func newNames(documents []*retrieval.Document) *names {
	n := &names{map[string][]int{}, map[string][]int{}}
	for i, d := range documents {
		n.titles[folded(d.Title)] = append(n.titles[folded(d.Title)], i)
		base := path.Base(addressOf(d))
		n.bases[base] = append(n.bases[base], i)
	}
	return n
}

func folded(title string) string { return strings.ToLower(strings.TrimSpace(title)) }

// rank orders what was found by how likely readers of the page want it, and adds
// documents with its name.
func (p *sought) rank(n *names, documents []*retrieval.Document, added map[string]bool) {
	at := Address(p.record.Path)
	for _, list := range [][]int{n.titles[folded(p.title)], n.bases[path.Base(at)]} {
		for _, i := range list {
			if len(list) <= common && !slices.ContainsFunc(p.found, func(f found) bool { return f.document == i }) {
				p.found = append(p.found, found{document: i})
			}
		}
	}
	for i := range p.found {
		f := &p.found[i]
		d := documents[f.document]
		address := addressOf(d)
		f.score = f.share + .2*alike(at, address)
		if folded(d.Title) == folded(p.title) {
			f.score += .25
		}
		if path.Base(address) == path.Base(at) {
			f.score += .15
		}
		if added[address] {
			f.score += .1
		}
	}
	slices.SortFunc(p.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.document, b.document))
	})
}

// alike is the share of the segments of two paths that both have.
func alike(a, b string) float64 {
	x, y := strings.Split(strings.Trim(a, "/"), "/"), strings.Split(strings.Trim(b, "/"), "/")
	n := 0
	for _, s := range x {
		if slices.Contains(y, s) {
			n++
		}
	}
	return float64(n) / float64(max(len(x), len(y)))
}

// anchorOf is the anchor of the section of a document at which the text of a
// page begins, "" if that is not a part of the document.
func (p *sought) anchorOf(d *retrieval.Document) string {
	all, of := 0, 0
	anchor, begun := "", false
	for i := range d.Sections {
		n, shared := 0, 0
		eachShingle(&d.Sections[i], func(h uint32) {
			if h > p.shingles[len(p.shingles)-1] {
				return // shingles are the lowest
			}
			n++
			if _, ok := slices.BinarySearch(p.shingles, h); ok {
				shared++
			}
		})
		if all, of = all+n, of+shared; !begun && 2*shared > n {
			anchor, begun = d.Sections[i].Anchor, true
		}
	}
	if 2*of > all || len(anchor) > maxAnchor {
		return "" // the document is the page, which may have a new beginning
	}
	return anchor
}
