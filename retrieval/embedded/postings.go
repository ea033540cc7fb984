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

// postings are the places of each term, in ascending order.
type postings [][]posting

// clip releases the memory that is left over from appending.
func (p postings) clip() {
	for term := range p {
		p[term] = slices.Clone(p[term])
	}
}

// holds reports whether a term's postings have a place.
func holds(list []posting, place uint32) bool {
	_, ok := slices.BinarySearchFunc(list, place, func(p posting, place uint32) int { return cmp.Compare(p.place, place) })
	return ok
}

// weightAt returns the weight of a term in a place, 0 if it doesn't have it.
func weightAt(list []posting, place uint32) float32 {
	i, ok := slices.BinarySearchFunc(list, place, func(p posting, place uint32) int { return cmp.Compare(p.place, place) })
	if !ok {
		return 0
	}
	return list[i].weight
}

// idf returns the inverse document frequencies of all terms.
func (p postings) idf(places int) []float32 {
	out := make([]float32, len(p))
	for term, list := range p {
		out[term] = idf(places, len(list))
	}
	return out
}

// sums adds up the IDF of the terms of each place.
func (p postings) sums(places int, idf []float32) []float32 {
	out := make([]float32, places)
	for term, list := range p {
		for _, at := range list {
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
func (a *accumulator) moveTo(p postings, place uint32) {
	for _, t := range a.terms {
		p[t] = append(p[t], posting{place, a.sum[t] * (k1 + 1) / (a.sum[t] + k1)})
		a.sum[t] = 0
	}
	a.terms = a.terms[:0]
}
