package database

import (
	"context"
	"fmt"

	"github.com/caddy-docs/caddy-docs/insights"
)

// pageOf bounds a page of a list.
func pageOf(limit, offset int) (int, int) {
	if limit < 1 {
		limit = 50
	}
	return min(limit, 500), max(offset, 0)
}

// Searches returns the queries of one kind.
func (s *Store) Searches(ctx context.Context, in insights.Scope, q insights.SearchQuery) (list []insights.QueryStats, err error) {
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return nil, err
	}
	limit, offset := pageOf(q.Limit, q.Offset)
	where, having, order := "", "", "sum(searches)"
	switch q.Kind {
	case insights.TopSearches, "":
	case insights.NoResult:
		where, order = "and none > 0", "sum(none)"
	case insights.WeakSearches:
		where, order = "and weak > 0", "sum(weak)"
	case insights.LowClicks:
		having = fmt.Sprintf("having sum(tracked) >= %d and sum(clicked) < %g * sum(tracked)", insights.MinTracked, insights.LowClickRate)
		order = "sum(tracked) - sum(clicked)"
	default:
		return nil, fmt.Errorf("searches of kind %q: it must be top, no_result, weak or low_clicks", q.Kind)
	}
	columns := countColumns[:queryCounts]
	// The texts are joined after the page is cut: a month has many queries.
	query := `select q.text, d.*, (select page from docs_clicks c where c.query = q.id group by page order by count(*) desc, page limit 1)
		from (select query, max(day) as last_day, ` + sums(columns) + `, ` + order + ` as importance from docs_day_query
			where site = ? and day between ? and ? ` + where + ` group by query ` + having + `
			order by importance desc, query limit ? offset ?) d
		join docs_queries q on q.id = d.query order by d.importance desc, d.query`
	err = s.each(ctx, func(scan func(...any) error) error {
		var r insights.QueryStats
		var c insights.Counts
		var id, last, importance int64
		var page *string
		to := append([]any{&r.Query, &id, &last}, scans(&c, queryCounts)...)
		if err := scan(append(to, &importance, &page)...); err != nil {
			return err
		}
		r.Searches, r.NoResult, r.Weak, r.Tracked, r.Clicked, r.Clicks = c.Searches, c.NoResult, c.Weak, c.Tracked, c.Clicked, c.Clicks
		r.ClickRate, r.MeanPosition, r.Last = c.ClickRate(), c.MeanPosition(), insights.Date(last)
		if page != nil {
			r.TopPage = *page
		}
		list = append(list, r)
		return nil
	}, query, site, int64(q.From), int64(q.To), limit, offset)
	return list, err
}
