package dashboard

import (
	"fmt"
	"math"
	"strconv"

	"github.com/caddy-docs/caddy-docs/insights"
)

// number is a number of a period, its change, and its definition.
type number struct {
	Title string
	// Value is "" where there is nothing to divide by: null is not 0.
	Value string
	// Change is against the period before, Mood better, worse or "".
	Change, Mood string
	Define       string
	// Href is the page with the details, "" for none.
	Href string
}

// Which change of a number is better.
const (
	less    = -1
	neither = 0
	more    = 1
)

// mood is whether a change is better or worse, "" for neither.
func mood(change float64, wish int) string {
	switch good := change * float64(wish); {
	case good > 0:
		return "better"
	case good < 0:
		return "worse"
	}
	return ""
}

func rate(title string, now, before *float64, wish int, define string) number {
	return ratio(title, now, before, wish, define, percent,
		func(points float64) string { return fmt.Sprintf("%+.1f points", 100*points) }, .001)
}

func decimal(title string, now, before *float64, wish int, define string) number {
	return ratio(title, now, before, wish, define,
		func(n float64) string { return strconv.FormatFloat(n, 'f', 1, 64) }, func(n float64) string { return fmt.Sprintf("%+.1f", n) }, .1)
}

// ratio is a number that may be missing. Its change is rounded to a unit.
func ratio(title string, now, before *float64, wish int, define string, value, change func(float64) string, unit float64) number {
	n := number{Title: title, Define: define}
	if now == nil {
		return n
	}
	n.Value, n.Change = value(*now), "no value before"
	if before != nil {
		units := math.Round((*now - *before) / unit)
		n.Change, n.Mood = change(units*unit), mood(units, wish)
		if units == 0 {
			n.Change = "unchanged"
		}
	}
	return n
}

func total(title string, now, before int64, wish int, define string) number {
	n := number{Title: title, Value: thousands(now), Define: define}
	switch {
	case now == before:
		n.Change = "unchanged"
	case before == 0:
		n.Change = "none before"
	default:
		change := math.Round(100 * float64(now-before) / float64(before))
		if n.Change, n.Mood = fmt.Sprintf("%+.0f %%", change), mood(change, wish); change == 0 {
			n.Change = "about the same"
		}
	}
	return n
}

// percent writes a share with as many digits as say something.
func percent(share float64) string {
	switch p := 100 * share; {
	case p == 0 || p >= 10:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	default:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
}

func searchesNumber(now, before insights.Counts) number {
	return total("Searches", now.Searches, before.Searches, neither, "Last queries of typing sessions in the widget, and all searches of other clients.")
}

func noResultNumber(now, before insights.Counts) number {
	return rate("No result", now.NoResultRate(), before.NoResultRate(), less, "Searches without a result ÷ searches.")
}

func answeredNumber(now, before insights.Counts) number {
	return rate("Answered", now.AnsweredRate(), before.AnsweredRate(), more, fmt.Sprintf("Replies that the pages answer ÷ %s judged. Partly answered does not count as answered. Caddy judges this itself.",
		plural(now.Yes+now.Partly+now.No, "reply", "replies")))
}

// satisfactionNumber hides what too few votes say.
func satisfactionNumber(now, before insights.Counts) number {
	votes := now.Up + now.Down
	define := fmt.Sprintf("Thumbs up ÷ all votes, %s.", plural(votes, "vote", "votes"))
	if votes < insights.MinVotes {
		return number{Title: "Satisfaction", Define: define + fmt.Sprintf(" Shown once there are %d votes.", insights.MinVotes)}
	}
	last := before.Satisfaction()
	if before.Up+before.Down < insights.MinVotes {
		last = nil
	}
	return rate("Satisfaction", now.Satisfaction(), last, more, define)
}
