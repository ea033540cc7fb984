// Package postings has the places of each term of an index, with the weights that
// BM25 gives them.
package postings

import (
	"cmp"
	"math"
	"slices"
)

// k1 is BM25's saturation of frequencies.
const k1 = 1.2

// Posting is a place, a section or a page, that holds a term.
type Posting struct {
	Place  uint32
	Weight float32 // of the term there, as BM25 saturates it
}

// List has the places of each term, in ascending order. They are filled in
// two passes over the words of a site: the first one counts, so that the second
// never has to grow a slice.
type List struct {
	first []uint32 // term → its first posting; with one extra entry at the end
	list  []Posting
}

func newList(terms int) List { return List{first: make([]uint32, terms+1)} }

// Fill fills lists by calling add for each of their two passes.
func Fill(terms int, add func(), all ...*List) {
	for _, p := range all {
		*p = newList(terms)
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

// Of returns the postings of a term.
func (p *List) Of(term uint32) []Posting { return p.list[p.first[term]:p.first[term+1]] }

// Add counts a posting in the first pass, and adds it in the second, in which
// first is where the next one of each term is.
func (p *List) Add(term uint32, at Posting) {
	if p.list != nil {
		p.list[p.first[term]] = at
	}
	p.first[term]++
}

// counted ends the first pass.
func (p *List) counted() {
	sum := uint32(0)
	for t, n := range p.first {
		p.first[t] = sum
		sum += n
	}
	p.list = make([]Posting, sum)
}

// filled ends the second pass.
func (p *List) filled() {
	copy(p.first[1:], p.first)
	p.first[0] = 0
}

// Weight returns the weight of a term in a place, 0 if it doesn't have it.
func (p *List) Weight(term, place uint32) float32 {
	list := p.Of(term)
	i, ok := slices.BinarySearchFunc(list, place, func(p Posting, place uint32) int { return cmp.Compare(p.Place, place) })
	if !ok {
		return 0
	}
	return list[i].Weight
}

// Holds reports whether a place has a term.
func (p *List) Holds(term, place uint32) bool { return p.Weight(term, place) != 0 }

// IDFs returns the inverse document frequencies of all terms.
func (p *List) IDFs(places int) []float32 {
	out := make([]float32, len(p.first)-1)
	for term := range out {
		out[term] = IDF(places, len(p.Of(uint32(term))))
	}
	return out
}

// Sums adds up the IDF of the terms of each place.
func (p *List) Sums(places int, idf []float32) []float32 {
	out := make([]float32, places)
	for term := range idf {
		for _, at := range p.Of(uint32(term)) {
			out[at.Place] += idf[term]
		}
	}
	return out
}

// Accumulator adds up the weights of the terms of one place.
type Accumulator struct {
	sum   []float32 // by term
	terms []uint32  // those whose sum is not 0
}

// NewAccumulator returns one for as many terms.
func NewAccumulator(terms int) *Accumulator { return &Accumulator{sum: make([]float32, terms)} }

// Add adds the weight of a term.
func (a *Accumulator) Add(term uint32, weight float32) {
	if a.sum[term] == 0 {
		a.terms = append(a.terms, term)
	}
	a.sum[term] += weight
}

// MoveTo adds the terms to the postings and starts over.
func (a *Accumulator) MoveTo(p *List, place uint32) {
	for _, t := range a.terms {
		p.Add(t, Posting{place, a.sum[t] * (k1 + 1) / (a.sum[t] + k1)})
		a.sum[t] = 0
	}
	a.terms = a.terms[:0]
}

// IDF is the inverse document frequency of a term that is in some of n places.
func IDF(n, some int) float32 {
	return float32(math.Log(1 + (float64(n)-float64(some)+.5)/(float64(some)+.5)))
}
