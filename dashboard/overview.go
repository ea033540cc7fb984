package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

// overviewData is what the page shows besides the site.
type overviewData struct {
	Problems []Problem
	// Numbers are those of the last 30 days, none where nothing is recorded.
	Numbers []number
	Charts  []*chart
	// Off is set where nothing is recorded, Lost where the store does not
	// respond.
	Off, Lost bool
}

// overview shows the state of the site.
func overview(q *request) error {
	problems := slices.Clone(q.site.Problems)
	if !q.visitor.Admin {
		problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Admin })
	}
	data := overviewData{Problems: problems}
	err := q.overviewNumbers(&data)
	switch {
	case errors.Is(err, ErrOff):
		data.Off = true
	case err != nil && q.Context().Err() != nil:
		return err
	case err != nil: // the rest of the page is the more important then
		q.d.log.Error("the insights can't be read", "path", q.URL.Path, "error", err)
		data.Lost = true
	}
	return q.render(http.StatusOK, "overview", "Overview", data)
}

func (q *request) overviewNumbers(data *overviewData) error {
	store, err := q.d.server.Insights(q.Context())
	if err != nil {
		return err
	}
	q.days = defaultPeriod
	p := insights.LastDays(q.days, time.Now())
	o, err := store.Overview(q.Context(), q.scope(), p)
	if err != nil {
		return err
	}
	days, err := store.Days(q.Context(), q.scope(), p)
	if err != nil {
		return err
	}
	data.Numbers = []number{
		searchesNumber(o.Counts, o.Before), noResultNumber(o.Counts, o.Before), answeredNumber(o.Counts, o.Before), satisfactionNumber(o.Counts, o.Before),
	}
	for i, details := range []string{q.at("searches") + "?kind=top", q.at("searches"), q.at("unanswered"), q.at("feedback") + "?rating=down"} {
		data.Numbers[i].Href = q.base + details
	}
	data.Charts = charts(
		searchChart(days),
		chartOf(days, "Replies a day", "replies", func(d *insights.Day) int64 { return d.Replies }, "not or partly answered", func(d *insights.Day) int64 { return d.No + d.Partly }),
	)
	return nil
}

// refresh looks for changes of the pages.
func refresh(q *request) error {
	if err := q.d.server.Refresh(q.Context(), q.site.Name); err != nil {
		return fmt.Errorf("refreshing %s: %w", q.site.Name, err)
	}
	return q.redirect(q.at(""))
}
