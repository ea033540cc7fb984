package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/caddy-docs/caddy-docs/insights"
)

func overview(q *request) error {
	data := struct {
		Problems []Problem
		// Numbers are those of the period, none where nothing is recorded.
		Numbers []number
		Charts  []*chart
		Days    []insights.Day
		// Off is set where nothing is recorded, Lost where the store does not
		// respond.
		Off, Lost bool
	}{Problems: slices.Clone(q.Site.Problems)}
	if !q.Visitor.Admin {
		data.Problems = slices.DeleteFunc(data.Problems, func(p Problem) bool { return p.Admin })
	}
	p := q.period()
	if q.invalid != nil {
		return q.invalid
	}
	var o insights.Overview
	store, err := q.d.server.Insights(q.Context())
	if err == nil {
		o, err = store.Overview(q.Context(), q.scope(), p)
	}
	if err == nil {
		data.Days, err = store.Days(q.Context(), q.scope(), p)
	}
	switch {
	case errors.Is(err, ErrOff):
		data.Off = true
		return q.show(http.StatusOK, data)
	case err != nil && q.Context().Err() != nil:
		return err
	case err != nil: // the rest of the page is the more important then
		_ = q.stored(err)
		data.Lost = true
		return q.show(http.StatusOK, data)
	}
	data.Numbers = []number{
		searchesNumber(o.Counts, o.Before), noResultNumber(o.Counts, o.Before),
		answeredNumber(o.Counts, o.Before), satisfactionNumber(o.Counts, o.Before),
	}
	for i, details := range [][]string{{"searches", "kind", "top"}, {"searches"}, {"unanswered"}, {"feedback", "rating", "down"}} {
		data.Numbers[i].Href = link(q.base+q.at(details[0]), q.URL.Query(), details[1:]...) // in the same period
	}
	data.Charts = charts(
		searchChart(data.Days),
		chartOf(data.Days, "Replies per day", "replies", "not or partly answered", func(d *insights.Day) (int64, int64) { return d.Replies, d.No + d.Partly }),
	)
	return q.show(http.StatusOK, data)
}

// refresh looks for changes of the pages.
func refresh(q *request) error {
	if err := q.d.server.RefreshSoon(q.Site.Name); err != nil {
		return fmt.Errorf("refreshing %s: %w", q.Site.Name, err)
	}
	return q.redirect(q.at(""), nil)
}

// overviewOfSites lists the visitor's sites, those that need someone first.
func overviewOfSites(q *request) error {
	p := q.period()
	if q.invalid != nil {
		return q.invalid
	}
	var counts map[insights.Scope]insights.Overview
	store, err := q.d.server.Insights(q.Context())
	if err == nil {
		counts, err = store.Sites(q.Context(), p)
	}
	if err != nil && !errors.Is(err, ErrOff) {
		_ = q.stored(err) // the sites are shown without it
	}
	numbers := func(o insights.Overview) []number {
		if err != nil {
			return nil
		}
		return []number{
			searchesNumber(o.Counts, o.Before),
			total("Unanswered", o.No+o.Partly, o.Before.No+o.Before.Partly, less, "Replies that the pages answer partly or not at all."),
		}
	}
	type siteRow struct {
		Site
		Numbers    []number // searches and unanswered questions, none where nothing is recorded
		unanswered int64
	}
	var sum insights.Overview
	rows := make([]siteRow, len(q.Sites))
	for i, s := range q.Sites {
		o := counts[insights.Scope{Organization: s.Organization, Site: s.Name}]
		rows[i] = siteRow{s, numbers(o), o.No + o.Partly}
		sum.Add(&o.Counts)
		sum.Before.Add(&o.Before)
	}
	slices.SortStableFunc(rows, func(a, b siteRow) int {
		return cmp.Or(cmp.Compare(len(b.Problems), len(a.Problems)), cmp.Compare(b.unanswered, a.unanswered))
	})
	all := numbers(sum)
	if err := (table[siteRow]{}).page(q, insights.Query{}, listed(rows)); err != nil {
		return err
	}
	return q.render(http.StatusOK, "sites", "Sites", all)
}
