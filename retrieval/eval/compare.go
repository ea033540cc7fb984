package eval

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
)

// Difference is how much better a run is than a baseline on the same queries or
// questions.
type Difference struct {
	Queries int `json:"queries"`
	// Mean difference of nDCG@10 or of the share passed, run minus baseline, and its 95 % confidence
	// interval. If that contains 0, these queries show no difference.
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Wins, Ties and Losses of the run.
	Wins   int `json:"wins"`
	Ties   int `json:"ties"`
	Losses int `json:"losses"`
}

// Compare pairs two reports query by query, and leaves out queries that only
// one of them has. The interval is a bootstrap of 2,000 samples with a fixed
// seed, so equal input gives equal output.
func Compare(run, baseline Report) Difference {
	return compare(run.perQuery, baseline.perQuery)
}

// Write writes the difference of a measure, with so many digits, for people.
func (d *Difference) Write(out io.Writer, measure string, digits int) {
	fmt.Fprintf(out, "against the baseline: %+.*f %s, 95 %% between %+.*f and %+.*f; %d better, %d equal, %d worse\n",
		digits, d.Mean, measure, digits, d.Low, digits, d.High, d.Wins, d.Ties, d.Losses)
}

func compare(run, baseline map[string]float64) Difference {
	const draws = 2000
	var diff []float64
	var d Difference
	for _, id := range slices.Sorted(maps.Keys(run)) {
		b, ok := baseline[id]
		if !ok {
			continue
		}
		x := run[id] - b
		diff = append(diff, x)
		switch {
		case x > 1e-9:
			d.Wins++
		case x < -1e-9:
			d.Losses++
		default:
			d.Ties++
		}
		d.Mean += x
	}
	d.Queries = len(diff)
	if d.Queries == 0 {
		return d
	}
	d.Mean /= float64(d.Queries)
	r := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, draws)
	for i := range means {
		for range diff {
			means[i] += diff[r.IntN(len(diff))]
		}
		means[i] /= float64(len(diff))
	}
	slices.Sort(means)
	d.Low, d.High = means[draws*25/1000], means[draws*975/1000-1]
	return d
}
