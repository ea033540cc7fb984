package embedded

import (
	"context"
	"fmt"
	"math"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// matrix holds the sections' vectors, each of length 1, in one piece. A
// flat scan of it is enough up to some 50,000 sections.
type matrix struct {
	dim     int
	section []uint32 // row → section, rising
	values  []float32
	// length is that of the sum of a page's vectors, see weigh.
	length []float32
}

// newMatrix normalizes vectors, by document and section. Sections without a
// vector, or with one that has no direction, are left out.
func newMatrix(docs []*retrieval.Document, vectors [][][]float32) (*matrix, error) {
	if vectors == nil {
		return nil, nil
	}
	if len(vectors) != len(docs) {
		return nil, fmt.Errorf("vectors of %d documents for %d documents", len(vectors), len(docs))
	}
	m := &matrix{}
	rows := 0
	for i, d := range docs {
		if len(vectors[i]) != 0 && len(vectors[i]) != len(d.Sections) {
			return nil, fmt.Errorf("page %q has %d vectors for %d sections", d.Page, len(vectors[i]), len(d.Sections))
		}
		for _, v := range vectors[i] {
			if v == nil {
				continue
			}
			if m.dim == 0 {
				m.dim = len(v)
			}
			if len(v) != m.dim {
				return nil, fmt.Errorf("page %q has a vector of %d dimensions where others have %d: embed all pages with one model", d.Page, len(v), m.dim)
			}
			rows++
		}
	}
	if m.dim == 0 {
		return nil, nil
	}
	m.section = make([]uint32, 0, rows)
	m.values = make([]float32, 0, rows*m.dim)
	n := uint32(0)
	for i, d := range docs {
		for j := range d.Sections {
			if len(vectors[i]) > 0 && vectors[i][j] != nil {
				if from := len(m.values); m.grow(vectors[i][j]) {
					m.section = append(m.section, n)
				} else {
					m.values = m.values[:from]
				}
			}
			n++
		}
	}
	return m, nil
}

// grow appends a vector at length 1, false if it has no direction.
func (m *matrix) grow(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false
	}
	scale := float32(1 / math.Sqrt(sum))
	for _, x := range v {
		m.values = append(m.values, x*scale)
	}
	return true
}

func (m *matrix) fits(vector []float32) bool {
	return m != nil && len(m.section) > 0 && len(vector) == m.dim
}

// similarity is how near the sections are to a query's vector.
type similarity struct {
	of        []float32 // by section; 0 without a vector
	mean, top float32
	// partial: only those of some sections are known.
	partial bool
}

// compare scans the matrix.
func (m *matrix) compare(ctx context.Context, vector []float32, s *scratch) (*similarity, error) {
	q := matrix{dim: m.dim, values: make([]float32, 0, m.dim)}
	if !q.grow(vector) {
		return nil, nil
	}
	s.similar = zeroed(s.similar, len(s.section))
	out := &similarity{of: s.similar, top: -1}
	sum := 0.0
	for i, section := range m.section {
		if i%4096 == 4095 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		v := dot(q.values, m.values[i*m.dim:(i+1)*m.dim])
		s.similar[section] = v
		out.top = max(out.top, v)
		sum += float64(v)
	}
	out.mean = float32(sum / float64(len(m.section)))
	return out, nil
}

// dot is unrolled, which lets the processor add four sums at once.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// score is the similarity's share in a hit's score, see relevance.
func (x *similarity) score(section uint32) float64 {
	v := x.of[section] - x.mean
	if v <= 0 || x.mean >= 1 {
		return 0
	}
	return min(1, math.Pow(float64(v/(1-x.mean)), 1.5))
}

// fuse mixes the similarity of sections into the values of sections and
// pages. A page is as near as its best section and the mean of all its
// sections. Both scales are those of this query: keywords run from 0 to the
// best page's value, similarities from the mean of all sections, which is
// noise, to the best's. The share of vectors is small for one and two
// words, which are names of things more often than descriptions.
func (g *generation) fuse(x *similarity, allowed bitset, all bool, words int, w *weights, s *scratch) {
	if x == nil || x.top <= x.mean {
		return
	}
	share := w.semantic
	if words <= 2 {
		share = w.semanticShort
	}
	var top, topSection float32
	for _, p := range s.order {
		top = max(top, s.value[p])
	}
	for _, v := range s.section {
		topSection = max(topSection, v)
	}
	if top == 0 {
		top, topSection = 1, 1
	}
	s.nearness = zeroed(s.nearness, len(g.docs))
	nearest := float32(-1)
	for p := range g.docs {
		if g.first[p] == g.first[p+1] || !all && !allowed.has(uint32(p)) {
			s.nearness[p] = -1
			continue
		}
		best, sum := float32(-1), float32(0)
		for _, v := range x.of[g.first[p]:g.first[p+1]] {
			best = max(best, v)
			sum += v
		}
		s.nearness[p] = best
		if !x.partial {
			s.nearness[p] = (1-w.wholePage)*best + w.wholePage*sum/g.vectors.length[p]
		}
		nearest = max(nearest, s.nearness[p])
	}
	s.order = s.order[:0]
	for p := range g.docs {
		if s.nearness[p] == -1 {
			continue
		}
		near := max(0, (s.nearness[p]-x.mean)/(nearest-x.mean))
		if s.value[p] == 0 && near < .5 {
			continue
		}
		s.value[p] = (1-share)*s.value[p]/top + share*near*g.factor[p]
		found := false
		for n := g.first[p]; n < g.first[p+1]; n++ {
			v := max(0, (x.of[n]-x.mean)/(x.top-x.mean))
			// Below half of the best it is no reason to show a section.
			if s.section[n] == 0 && v < .5 {
				continue
			}
			s.section[n] = (1-share)*s.section[n]/topSection + share*v
			found = true
		}
		if found {
			s.order = append(s.order, uint32(p))
		}
	}
}

// weigh finds the length of the sum of every page's vectors: a query's
// similarity to their mean is the sum of its similarities over that length,
// so that the means themselves need not be kept or scanned.
func (m *matrix) weigh(g *generation) {
	if m == nil {
		return
	}
	m.length = make([]float32, len(g.docs))
	sum := make([]float64, m.dim)
	row := 0
	for p := range g.docs {
		clear(sum)
		for ; row < len(m.section) && m.section[row] < g.first[p+1]; row++ {
			for i, v := range m.values[row*m.dim : (row+1)*m.dim] {
				sum[i] += float64(v)
			}
		}
		l := 0.0
		for _, v := range sum {
			l += v * v
		}
		m.length[p] = float32(max(math.Sqrt(l), 1e-6))
	}
}
