package embedded

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// generation is one state of the index, never changed once it is made.
type generation struct {
	number uint64
	made   time.Time
	docs   []*retrieval.Document
	counts []*pageWords // beside docs
	byPage map[string]int32
	lex    *lexicon

	first   []uint32 // page → its first section; one more at the end
	pageOf  []uint32 // section → page
	byTerm  postings // sections that hold a term, with its saturated frequency
	pages   postings // pages that hold a term, likewise
	titles  members  // pages whose title holds a term
	slugs   members  // pages the last part of whose path holds a term
	heads   members  // sections whose headings hold a term
	idf     []float32
	pageIDF []float32
	// titleMass, headMass and slugMass are the sums of the idf of the words
	// of a page's title, a section's headings, the last part of a path.
	titleMass, headMass, slugMass []float32
	factor                        []float32 // page → what it is multiplied by: hubs, changelogs
	twin                          []uint32  // page → its number among twins, 0 for none
	langs                         []*language

	spelling *spelling
	filters  *filters
	vectors  *matrix
	// misfit is set once a query vector of another length was told of.
	misfit atomic.Bool
}

// postings hold for every term the places (sections or pages) it occurs in,
// rising, and the weight it has there.
type postings struct {
	start  []uint32
	place  []uint32
	weight []float32
	next   []uint32 // while it is made
}

// count returns in how many places a term is.
func (p *postings) count(term uint32) int {
	if int(term)+1 >= len(p.start) {
		return 0
	}
	return int(p.start[term+1] - p.start[term])
}

func (p *postings) of(term uint32) ([]uint32, []float32) {
	if int(term)+1 >= len(p.start) {
		return nil, nil
	}
	a, b := p.start[term], p.start[term+1]
	return p.place[a:b], p.weight[a:b]
}

// members are postings without weights.
type members struct {
	start []uint32
	place []uint32
	next  []uint32 // while it is made
}

func (p *members) of(term uint32) []uint32 {
	if int(term)+1 >= len(p.start) {
		return nil
	}
	return p.place[p.start[term]:p.start[term+1]]
}

// counted and add make postings in two passes over the same triples, which
// come in the order of places: first how many a term has, then which.
func (p *postings) counted(terms int) {
	for i := 1; i <= terms; i++ {
		p.start[i] += p.start[i-1]
	}
	p.place = make([]uint32, p.start[terms])
	p.weight = make([]float32, p.start[terms])
	p.next = slices.Clone(p.start[:terms])
}

func (p *postings) add(term, place uint32, weight float32) {
	if p.next == nil {
		p.start[term+1]++
		return
	}
	at := p.next[term]
	p.next[term]++
	p.place[at] = place
	p.weight[at] = weight
}

func (p *members) counted(terms int) {
	for i := 1; i <= terms; i++ {
		p.start[i] += p.start[i-1]
	}
	p.place = make([]uint32, p.start[terms])
	p.next = slices.Clone(p.start[:terms])
}

func (p *members) add(term, place uint32) {
	if p.next == nil {
		p.start[term+1]++
		return
	}
	p.place[p.next[term]] = place
	p.next[term]++
}

// masses sums the idf of the terms of every place.
func (p *members) masses(places int, idf []float32) []float32 {
	out := make([]float32, places)
	for t := range idf {
		for _, at := range p.of(uint32(t)) {
			out[at] += idf[t]
		}
	}
	return out
}

// gather sums weights by term.
type gather struct {
	sum   []float32
	seen  []bool
	terms []uint32
}

func (g *gather) add(term uint32, weight float32) {
	if !g.seen[term] {
		g.seen[term] = true
		g.terms = append(g.terms, term)
	}
	g.sum[term] += weight
}

func (g *gather) reset() {
	for _, t := range g.terms {
		g.sum[t] = 0
		g.seen[t] = false
	}
	g.terms = g.terms[:0]
}

func newGather(terms int) *gather {
	return &gather{sum: make([]float32, terms), seen: make([]bool, terms)}
}

// newGeneration inverts the words of documents into an index.
func newGeneration(docs []*retrieval.Document, counts []*pageWords, lex *lexicon, w *weights) *generation {
	g := &generation{docs: docs, counts: counts, lex: lex, made: time.Now(), byPage: make(map[string]int32, len(docs))}
	terms := len(lex.terms)
	sections := 0
	var title, desc, key, path, head, text, pageHead, pageText mean
	for i, d := range docs {
		g.byPage[d.Page] = int32(i)
		g.first = append(g.first, uint32(sections))
		c := counts[i]
		sections += len(c.sections)
		title.add(c.titleLen)
		desc.add(c.descLen)
		key.add(c.keyLen)
		path.add(c.pathLen)
		var h, t uint32
		for _, s := range c.sections {
			head.add(s.headLen)
			text.add(s.textLen)
			h += s.headLen
			t += s.textLen
		}
		pageHead.add(h)
		pageText.add(t)
	}
	g.first = append(g.first, uint32(sections))
	g.pageOf = make([]uint32, sections)
	g.factor = make([]float32, len(docs))

	for _, p := range []*postings{&g.byTerm, &g.pages} {
		p.start = make([]uint32, terms+1)
	}
	for _, p := range []*members{&g.titles, &g.slugs, &g.heads} {
		p.start = make([]uint32, terms+1)
	}
	sect, page, bonus := newGather(terms), newGather(terms), newGather(terms)
	pass := func() {
		for i, c := range counts {
			var h, t uint32
			for _, s := range c.sections {
				h += s.headLen
				t += s.textLen
			}
			nt, nd, nk, np := w.norm(c.titleLen, title), w.norm(c.descLen, desc), w.norm(c.keyLen, key), w.norm(c.pathLen, path)
			ph, pt := w.norm(h, pageHead), w.norm(t, pageText)
			for _, x := range c.head {
				page.add(lex.words[x.word].term, w.title*float32(x.title)/nt+w.desc*float32(x.desc)/nd+w.key*float32(x.key)/nk+w.path*float32(x.path)/np)
				if x.plain {
					bonus.add(lex.words[x.word].term, 1)
				}
			}
			for _, term := range bonus.terms {
				g.titles.add(term, uint32(i))
			}
			bonus.reset()
			for _, x := range c.head {
				if x.slug {
					bonus.add(lex.words[x.word].term, 1)
				}
			}
			for _, term := range bonus.terms {
				g.slugs.add(term, uint32(i))
			}
			bonus.reset()
			from := uint32(0)
			for j, s := range c.sections {
				n := g.first[i] + uint32(j)
				g.pageOf[n] = uint32(i)
				nh, nx := w.norm(s.headLen, head), w.norm(s.textLen, text)
				for _, x := range c.head {
					sect.add(lex.words[x.word].term, w.title*float32(x.title)/nt+w.sectionDesc*float32(x.desc)/nd+w.sectionKey*float32(x.key)/nk+w.sectionPath*float32(x.path)/np)
				}
				for _, x := range c.words[from:s.end] {
					term := lex.words[x.word].term
					sect.add(term, w.head*float32(x.heading)/nh+w.text*float32(x.text)/nx)
					v := w.head*float32(x.heading)/ph + w.text*float32(x.text)/pt
					if j == 0 {
						v += w.lead * float32(x.text) / nx
					}
					page.add(term, v)
					if x.plain {
						bonus.add(term, 1)
					}
				}
				from = s.end
				for _, term := range sect.terms {
					tf := sect.sum[term]
					g.byTerm.add(term, n, tf*(w.k1+1)/(tf+w.k1))
				}
				sect.reset()
				for _, term := range bonus.terms {
					g.heads.add(term, n)
				}
				bonus.reset()
			}
			for _, term := range page.terms {
				tf := page.sum[term]
				g.pages.add(term, uint32(i), tf*(w.k1+1)/(tf+w.k1))
			}
			page.reset()
		}
	}
	pass()
	for _, p := range []interface{ counted(int) }{&g.byTerm, &g.pages, &g.titles, &g.slugs, &g.heads} {
		p.counted(terms)
	}
	pass()
	g.byTerm.next, g.pages.next, g.titles.next, g.slugs.next, g.heads.next = nil, nil, nil, nil, nil

	g.idf = make([]float32, terms)
	g.pageIDF = make([]float32, terms)
	for t := range terms {
		g.idf[t] = idf(sections, int(g.byTerm.start[t+1]-g.byTerm.start[t]))
		g.pageIDF[t] = idf(len(docs), int(g.pages.start[t+1]-g.pages.start[t]))
	}
	g.titleMass = g.titles.masses(len(docs), g.idf)
	g.slugMass = g.slugs.masses(len(docs), g.idf)
	g.headMass = g.heads.masses(sections, g.idf)
	seen := make([]bool, len(languages))
	for i, c := range counts {
		g.factor[i] = w.pageFactor(docs[i], c)
		if !seen[c.lang] {
			seen[c.lang] = true
			g.langs = append(g.langs, languages[c.lang])
		}
	}
	g.spelling = newSpelling(g)
	g.filters = newFilters(docs)
	g.twin = twins(docs)
	return g
}

func idf(n, with int) float32 {
	return float32(math.Log(1 + (float64(n)-float64(with)+.5)/(float64(with)+.5)))
}

// mean of lengths, empty ones left out.
type mean struct{ sum, n float64 }

func (m *mean) add(length uint32) {
	if length > 0 {
		m.sum += float64(length)
		m.n++
	}
}

func (w *weights) norm(length uint32, m mean) float32 {
	if m.n == 0 || length == 0 {
		return 1
	}
	return 1 - w.b + w.b*float32(float64(length)*m.n/m.sum)
}

// size estimates the bytes that a generation holds.
func (g *generation) size() int64 {
	n := 8*len(g.byTerm.place) + 8*len(g.pages.place) + 4*(len(g.titles.place)+len(g.slugs.place)+len(g.heads.place))
	n += (5*4 + 8) * len(g.lex.terms)
	for _, t := range g.lex.terms {
		n += len(t) + 40
	}
	for _, w := range g.lex.words {
		n += len(w.text) + 60
	}
	for _, c := range g.counts {
		n += 8*len(c.words) + 12*(len(c.head)+len(c.sections))
	}
	for _, d := range g.docs {
		n += 300 + len(d.Title) + len(d.Description)
		for i := range d.Sections {
			s := &d.Sections[i]
			n += 100 + len(s.Anchor) + len(s.Heading) + len(s.Text)
		}
	}
	if g.vectors != nil {
		n += 4 * len(g.vectors.values)
	}
	return int64(n)
}
