package eval

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// Metrics are those of one query, or the means of several, 0–1.
type Metrics struct {
	// Queries is the number of queries.
	Queries int `json:"queries"`
	// NDCG10 is the discounted gain of the first ten pages, divided by the
	// highest possible; gains are 2^grade−1.
	NDCG10 float64 `json:"ndcg10"`
	// MRR10 is 1 divided by the rank of the first relevant page, 0 past ten.
	MRR10 float64 `json:"mrr10"`
	// Recall5 is the share of the relevant pages among the first five.
	Recall5 float64 `json:"recall5"`
	// NoHit is the share of queries without a relevant page among ten.
	NoHit float64 `json:"noHit"`
	// Success1 is the share of queries whose first page is relevant.
	Success1 float64 `json:"success1"`
	// Empty is the share of queries with no result at all.
	Empty float64 `json:"empty"`
}

// Judge measures one query by the grades of its relevant pages and the paths
// found.
func Judge(relevant map[string]int, paths []string) Metrics {
	pages := Pages(paths)
	m := Metrics{Queries: 1, NoHit: 1}
	if len(pages) == 0 {
		m.Empty = 1
	}
	ideal := slices.Sorted(maps.Values(relevant))
	slices.Reverse(ideal)
	best := 0.0
	for i, g := range ideal[:min(10, len(ideal))] {
		best += gain(g, i)
	}
	for i, p := range pages[:min(10, len(pages))] {
		g := relevant[p]
		if g <= 0 {
			continue
		}
		m.NDCG10 += gain(g, i)
		if i < 5 {
			m.Recall5++
		}
		if i == 0 {
			m.Success1 = 1
		}
		if m.NoHit == 1 {
			m.NoHit = 0
			m.MRR10 = 1 / float64(i+1)
		}
	}
	if best > 0 {
		m.NDCG10 /= best
		m.Recall5 /= float64(len(relevant))
	}
	return m
}

func gain(grade, rank int) float64 {
	return (math.Exp2(float64(grade)) - 1) / math.Log2(float64(rank)+2)
}

// Report has the metrics of a run.
type Report struct {
	// All has the means of all queries with judgements.
	All Metrics `json:"all"`
	// Groups has those of each Query.Group, if there is more than one.
	Groups map[string]Metrics `json:"groups,omitempty"`
	// Worst are the queries with the lowest nDCG@10, worst first.
	Worst []Failure `json:"worst,omitempty"`
	// Unjudged counts queries without judgements, which are left out.
	Unjudged int `json:"unjudged,omitempty"`

	perQuery map[string]float64 // nDCG@10
}

// Failure is a query with a low score.
type Failure struct {
	Query  Query   `json:"query"`
	NDCG10 float64 `json:"ndcg10"`
	// Wanted are the relevant pages, Got the first three pages found.
	Wanted []string `json:"wanted"`
	Got    []string `json:"got"`
}

// Score measures a run, and lists up to worst of the worst queries; one that
// found everything is never among them. Judgements of queries that are not in
// queries are ignored.
func Score(queries []Query, qrels Qrels, run Run, worst int) Report {
	r := Report{perQuery: map[string]float64{}}
	groups := map[string]*Metrics{}
	for _, q := range queries {
		rel := qrels[q.ID]
		if len(rel) == 0 {
			r.Unjudged++
			continue
		}
		m := Judge(rel, run[q.ID])
		r.perQuery[q.ID] = m.NDCG10
		r.All.add(m)
		if groups[q.Group] == nil {
			groups[q.Group] = &Metrics{}
		}
		groups[q.Group].add(m)
		if m.NDCG10 < 1-1e-9 && worst > 0 {
			pages := Pages(run[q.ID])
			r.Worst = append(r.Worst, Failure{
				Query: q, NDCG10: m.NDCG10,
				Wanted: slices.Sorted(maps.Keys(rel)), Got: pages[:min(3, len(pages))],
			})
		}
	}
	r.All.mean()
	if len(groups) > 1 {
		r.Groups = map[string]Metrics{}
		for name, m := range groups {
			m.mean()
			r.Groups[name] = *m
		}
	}
	slices.SortStableFunc(r.Worst, func(a, b Failure) int { return cmp.Compare(a.NDCG10, b.NDCG10) })
	r.Worst = r.Worst[:min(len(r.Worst), max(worst, 0))]
	return r
}

// WriteTable writes the measures of each group and of all queries.
func (r *Report) WriteTable(out io.Writer) {
	writeGroups(out, "queries\tnDCG@10\tMRR@10\trecall@5\tno hit", r.Groups, r.All, func(m Metrics) string {
		return fmt.Sprintf("%d\t%.4f\t%.4f\t%.4f\t%.4f", m.Queries, m.NDCG10, m.MRR10, m.Recall5, m.NoHit)
	})
}

func (m *Metrics) add(x Metrics) {
	m.Queries += x.Queries
	from := x.values()
	for i, v := range m.values() {
		*v += *from[i]
	}
}

func (m *Metrics) mean() {
	for _, v := range m.values() {
		*v /= float64(max(m.Queries, 1))
	}
}

func (m *Metrics) values() []*float64 {
	return []*float64{&m.NDCG10, &m.MRR10, &m.Recall5, &m.NoHit, &m.Success1, &m.Empty}
}
