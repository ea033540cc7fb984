package embedded

import (
	"cmp"
	"slices"
)

// posting is a place, a section or a page, that holds a term.
type posting struct {
	place  uint32
	weight float32 // of the term there, as BM25 saturates it
}

// postings are the places of each term, in ascending order. They are filled in
// two passes over the words of a site: the first one counts, so that the second
// never has to grow a slice.
type postings struct {
	first []uint32 // term → its first posting; with one extra entry at the end
	list  []posting
}

func newPostings(terms int) postings { return postings{first: make([]uint32, terms+1)} }

// fill fills postings by calling add for each of their two passes.
func fill(terms int, add func(), all ...*postings) {
	for _, p := range all {
		*p = newPostings(terms)
	}
	add()
	for _, p := range all {
		p.counted()
	}
	add()
	for _, p := range all {
		p.filled()
	}
}

// of returns the postings of a term.
func (p *postings) of(term uint32) []posting { return p.list[p.first[term]:p.first[term+1]] }

// add counts a posting in the first pass, and adds it in the second, in which
// first is where the next one of each term is.
func (p *postings) add(term uint32, at posting) {
	if p.list != nil {
		p.list[p.first[term]] = at
	}
	p.first[term]++
}

// counted ends the first pass.
func (p *postings) counted() {
	sum := uint32(0)
	for t, n := range p.first {
		p.first[t] = sum
		sum += n
	}
	p.list = make([]posting, sum)
}

// filled ends the second pass.
func (p *postings) filled() {
	copy(p.first[1:], p.first)
	p.first[0] = 0
}

// at returns the weight of a term in a place, 0 if it doesn't have it.
func (p *postings) at(term, place uint32) float32 {
	list := p.of(term)
	i, ok := slices.BinarySearchFunc(list, place, func(p posting, place uint32) int { return cmp.Compare(p.place, place) })
	if !ok {
		return 0
	}
	return list[i].weight
}

// holds reports whether a place has a term.
func (p *postings) holds(term, place uint32) bool { return p.at(term, place) != 0 }

// idf returns the inverse document frequencies of all terms.
func (p *postings) idf(places int) []float32 {
	out := make([]float32, len(p.first)-1)
	for term := range out {
		out[term] = idf(places, len(p.of(uint32(term))))
	}
	return out
}

// sums adds up the IDF of the terms of each place.
func (p *postings) sums(places int, idf []float32) []float32 {
	out := make([]float32, places)
	for term := range idf {
		for _, at := range p.of(uint32(term)) {
			out[at.place] += idf[term]
		}
	}
	return out
}

// accumulator adds up the weights of the terms of one place.
type accumulator struct {
	sum   []float32 // by term
	terms []uint32  // those whose sum is not 0
}

func newAccumulator(terms int) *accumulator { return &accumulator{sum: make([]float32, terms)} }

func (a *accumulator) add(term uint32, weight float32) {
	if a.sum[term] == 0 {
		a.terms = append(a.terms, term)
	}
	a.sum[term] += weight
}

// moveTo adds the terms to the postings and starts over.
func (a *accumulator) moveTo(p *postings, place uint32) {
	for _, t := range a.terms {
		p.add(t, posting{place, a.sum[t] * (k1 + 1) / (a.sum[t] + k1)})
		a.sum[t] = 0
	}
	a.terms = a.terms[:0]
}
