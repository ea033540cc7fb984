package dashboard

import (
	"fmt"
	"slices"

	"github.com/caddy-docs/caddy-docs/insights"
)

// chart is one bar a day, of which a part may have another color.
type chart struct {
	Title string
	// Describe is the same for those who don't see it.
	Describe string
	// Legend names the bars and their parts.
	Legend []string
	Bars   []bar
	// Max is the number at the top line, Total the sum of a chart without labels.
	Max, Total    int64
	First, Last   string
	Width, Height float64
}

// bar is a day in the chart.
type bar struct {
	X, Width        float64
	Y, High         float64 // of the whole
	PartY, PartHigh float64 // of the part
	Label           string
}

// Size of charts in their own units, and the space for the labels.
const (
	chartWidth  = 560
	chartHeight = 150
	chartLeft   = 44
	chartTop    = 10
	chartBottom = 20
)

// chartOf draws days. Without any number it has no bars.
func chartOf(days []insights.Day, title, unit, partUnit string, of func(*insights.Day) (n, part int64)) *chart {
	var sum, parts, most int64
	best := 0
	for i := range days {
		n, part := of(&days[i])
		sum += n
		if n > most {
			most, best = n, i
		}
		parts += part
	}
	if sum == 0 {
		return &chart{Title: title}
	}
	c := &chart{
		Title: title, Legend: []string{unit, partUnit}, Max: roundUp(most), Width: chartWidth, Height: chartHeight,
		First: dayName(days[0].Date), Last: dayName(days[len(days)-1].Date),
	}
	c.Describe = fmt.Sprintf("%s from %s to %s: %s %s in all, %s %s; the most on %s, %s.", title, c.First, c.Last,
		thousands(sum), unit, thousands(parts), partUnit, dayName(days[best].Date), thousands(most))
	step := float64(chartWidth-chartLeft) / float64(len(days))
	scale := float64(chartHeight-chartTop-chartBottom) / float64(c.Max)
	for i := range days {
		n, m := of(&days[i])
		m = min(m, n)
		b := bar{X: chartLeft + float64(i)*step + step*.12, Width: step * .76, High: float64(n) * scale}
		b.Label = fmt.Sprintf("%s: %d %s, %d %s", dayName(days[i].Date), n, unit, m, partUnit)
		b.Y = chartHeight - chartBottom - b.High
		b.PartHigh = float64(m) * scale
		b.PartY = chartHeight - chartBottom - b.PartHigh
		c.Bars = append(c.Bars, b)
	}
	return c
}

func searchChart(days []insights.Day) *chart {
	return chartOf(days, "Searches per day", "searches", "without a result", func(d *insights.Day) (int64, int64) { return d.Searches, d.NoResult })
}

// charts are shown side by side, unless all are empty.
func charts(all ...*chart) []*chart {
	if slices.ContainsFunc(all, func(c *chart) bool { return len(c.Bars) > 0 }) {
		return all
	}
	return nil
}

func dayName(d insights.Date) string { return d.Time().Format("2 Jan") }

// roundUp returns the next number that reads well.
func roundUp(n int64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, m := range []int64{10, 12, 15, 20, 30, 40, 60, 80} {
			if m*unit/10 >= n {
				return m * unit / 10
			}
		}
	}
}

const (
	sparkStep   = 4
	sparkHeight = 24
)

// sparkOf draws the requests of days that end today, without labels: the use of a key.
func sparkOf(days []int64) *chart {
	s := &chart{}
	most := int64(0)
	for _, n := range days {
		s.Total += n
		most = max(most, n)
	}
	s.Describe = fmt.Sprintf("%s in %d days, at most %s a day", plural(s.Total, "use", "uses"), len(days), thousands(most))
	for i, n := range days {
		if n == 0 {
			continue
		}
		high := max(1.5, sparkHeight*float64(n)/float64(most))
		s.Bars = append(s.Bars, bar{X: float64(i * sparkStep), Width: sparkStep - 1, Y: sparkHeight - high, High: high})
	}
	return s
}
