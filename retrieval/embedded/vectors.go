package embedded

import (
	"context"
	"fmt"
	"math"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// matrix holds the sections' vectors, each of length 1, in one slice. Reading
// all of it for each query is fast enough for some 50,000 sections.
type matrix struct {
	dim     int
	section []uint32 // row → section, ascending
	values  []float32
	// length is the length of the sum of each page's vectors, see measure.
	length []float32
}

// newMatrix normalizes vectors, by document and section. It leaves out
// sections without a vector, and vectors without a direction.
func newMatrix(docs []*retrieval.Document, vectors func(document int) [][]float32) (*matrix, error) {
	if vectors == nil {
		return nil, nil
	}
	m := &matrix{}
	sections, section := 0, uint32(0)
	for _, d := range docs {
		sections += len(d.Sections)
	}
	for i, d := range docs {
		of := vectors(i)
		if len(of) != 0 && len(of) != len(d.Sections) {
			return nil, fmt.Errorf("page %q has %d vectors for %d sections", d.Page, len(of), len(d.Sections))
		}
		for j, v := range of {
			if v == nil {
				continue
			}
			if m.dim == 0 {
				m.dim = len(v)
				m.values = make([]float32, 0, sections*m.dim) // growing would take more than twice as much
			}
			if len(v) != m.dim {
				return nil, fmt.Errorf("page %q has a vector of %d dimensions where others have %d: embed all pages with one model", d.Page, len(v), m.dim)
			}
			if unit := retrieval.Normalized(v); unit != nil {
				m.values = append(m.values, unit...)
				m.section = append(m.section, section+uint32(j))
			}
		}
		section += uint32(len(d.Sections))
	}
	if m.dim == 0 {
		return nil, nil
	}
	return m, nil
}

func (m *matrix) fits(vector []float32) bool {
	return m != nil && len(m.section) > 0 && len(vector) == m.dim
}

// measure computes the lengths of the sums of each page's vectors: the
// similarity of a query to a page's mean is the sum of its similarities to the
// sections, divided by that length.
func (m *matrix) measure(g *generation) {
	if m == nil {
		return
	}
	m.length = make([]float32, len(g.docs))
	sum := make([]float64, m.dim)
	row := 0
	for page := range g.docs {
		clear(sum)
		for ; row < len(m.section) && m.section[row] < g.first[page+1]; row++ {
			for i, v := range m.values[row*m.dim : (row+1)*m.dim] {
				sum[i] += float64(v)
			}
		}
		squares := 0.
		for _, v := range sum {
			squares += v * v
		}
		m.length[page] = float32(max(math.Sqrt(squares), 1e-6))
	}
}

// similarity is how similar sections are to a query's vector.
type similarity struct {
	of        []float32 // by section; 0 without a vector
	mean, top float32
	partial   bool // known only for some sections
}

// compare computes the similarity of all sections, nil if the vector has no
// direction.
func (m *matrix) compare(ctx context.Context, vector []float32, s *scratch) (*similarity, error) {
	query := retrieval.Normalized(vector)
	if query == nil {
		return nil, nil
	}
	s.similarity = zeroed(s.similarity, len(s.section))
	out := &similarity{of: s.similarity, top: -1}
	sum := 0.
	for i, section := range m.section {
		if i%4096 == 4095 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		v := dot(query, m.values[i*m.dim:(i+1)*m.dim])
		s.similarity[section] = v
		out.top = max(out.top, v)
		sum += float64(v)
	}
	out.mean = float32(sum / float64(len(m.section)))
	return out, nil
}

// dot has four sums, which processors add at once.
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

// score is what similarity contributes to a hit's score: how far it rises above
// the mean of all sections, as a share of what is left up to 1. Models differ in
// where their similarities lie, but not in this.
func (x *similarity) score(section uint32) float64 {
	v := x.of[section] - x.mean
	if v <= 0 || x.mean >= 1 {
		return 0
	}
	return min(1, math.Pow(float64(v/(1-x.mean)), 1.5))
}

// fuse adds the similarity of sections to the values of sections and pages,
// with a share. A page is as similar as its best section and the mean of all
// its sections. Both scales are those of the query: values run from 0 to the
// best page's, similarities from the mean of all sections, which is noise, to
// the best.
func (g *generation) fuse(x *similarity, scopes []judgement, allowed []bool, share float32, s *scratch) {
	if x == nil || x.top <= x.mean {
		return
	}
	var top, topSection float32
	for _, page := range s.order {
		top = max(top, s.value[page])
	}
	for _, v := range s.section {
		topSection = max(topSection, v)
	}
	if top == 0 {
		top, topSection = 1, 1
	}
	s.scale = (1 - share) / topSection
	const excluded = -1
	s.pageSimilarity = zeroed(s.pageSimilarity, len(g.docs))
	best := float32(-1)
	for page := range uint32(len(g.docs)) {
		from, to := g.sectionsOf(page)
		if from == to || allowed != nil && !allowed[page] {
			s.pageSimilarity[page] = excluded
			continue
		}
		section, sum := float32(-1), float32(0)
		for _, v := range x.of[from:to] {
			section = max(section, v)
			sum += v
		}
		s.pageSimilarity[page] = section
		if !x.partial {
			s.pageSimilarity[page] = (1-wholePage)*section + wholePage*sum/g.vectors.length[page]
		}
		best = max(best, s.pageSimilarity[page])
	}
	// Below half of the best, similarity alone is no reason to show anything.
	const enough = .5
	s.order = s.order[:0]
	for page := range uint32(len(g.docs)) {
		if s.pageSimilarity[page] == excluded {
			continue
		}
		similar := max(0, (s.pageSimilarity[page]-x.mean)/(best-x.mean))
		if s.value[page] == 0 && similar < enough {
			continue
		}
		s.value[page] = (1-share)*s.value[page]/top + share*similar*g.factor[page]*scopes[g.scope[page]].kind
		found := false
		for i, to := g.sectionsOf(page); i < to; i++ {
			v := max(0, (x.of[i]-x.mean)/(x.top-x.mean))
			if s.section[i] == 0 && v < enough {
				continue
			}
			s.section[i] = (1-share)*s.section[i]/topSection + share*v
			found = true
		}
		if found {
			s.order = append(s.order, page)
		}
	}
}
