package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// table prints a Markdown table with a title.
func table(title string, head []string, rows [][]string) {
	fmt.Printf("\n### %s\n\n| %s |\n|%s\n", title, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, r := range rows {
		fmt.Printf("| %s |\n", strings.Join(r, " | "))
	}
}

// median returns the median of the rounds, 0 without any.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// quantile returns a quantile of v, which it sorts.
func quantile[T int64 | uint32 | time.Duration](v []T, q float64) T {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[min(len(v)-1, int(q*float64(len(v))))]
}

// result compares a figure with its target.
func result(figure float64, target string, met bool) string {
	word := "met"
	if !met {
		word = "**missed**"
	}
	return fmt.Sprintf("%s: %s (target %s)", number(figure), word, target)
}

// number formats a figure with three digits.
func number(f float64) string {
	switch a := max(f, -f); {
	case a == 0:
		return "0"
	case a >= 100:
		return fmt.Sprintf("%.0f", f)
	case a >= 10:
		return fmt.Sprintf("%.1f", f)
	case a >= 1:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.3f", f)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// series has the figures of all rounds by name.
type series map[string][]float64

func (s series) add(name string, v float64) { s[name] = append(s[name], v) }

func (s series) median(name string) float64 { return median(s[name]) }

// ratio returns the median of the ratios in each round, whose figures were
// measured at about the same time.
func (s series) ratio(a, b string) float64 {
	var r []float64
	for i := range min(len(s[a]), len(s[b])) {
		if s[b][i] != 0 {
			r = append(r, s[a][i]/s[b][i])
		}
	}
	return median(r)
}
