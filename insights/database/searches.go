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

// ranking is how queries of a kind are ranked.
type ranking struct {
	// total is the column of docs_queries that is never less than importance in
	// any period.
	total, importance string
	// having narrows the list further.
	having string
}

var rankings = map[insights.SearchKind]ranking{
	"":                    {total: "seen", importance: "sum(searches)"},
	insights.TopSearches:  {total: "seen", importance: "sum(searches)"},
	insights.NoResult:     {total: "none", importance: "sum(d.none)"},
	insights.WeakSearches: {total: "weak", importance: "sum(d.weak)"},
	insights.LowClicks: {
		total: "unclicked", importance: "sum(tracked) - sum(clicked)",
		having: fmt.Sprintf("and sum(tracked) >= %d and sum(clicked) < %g * sum(tracked)", insights.MinTracked, insights.LowClickRate),
	},
}

// Searches returns the queries of one kind. A month has many queries, most of
// them rare. Those with the highest totals come first; once the last one of the
// page is above the totals of all that follow, the page is complete.
func (s *Store) Searches(ctx context.Context, in insights.Scope, q insights.SearchQuery) ([]insights.QueryStats, error) {
	r, known := rankings[q.Kind]
	if !known {
		return nil, fmt.Errorf("searches of kind %q: it must be top, no_result, weak or low_clicks", q.Kind)
	}
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return nil, err
	}
	limit, offset := pageOf(q.Limit, q.Offset)
	for among := 4 * (offset + limit); ; among *= 4 {
		var following int64 // the highest total of the others
		err := s.each(ctx, func(scan func(...any) error) error { return scan(&following) },
			`select `+r.total+` from docs_queries where site = ? and `+r.total+` > 0 order by `+r.total+` desc, id limit 1 offset ?`, site, among)
		if err != nil {
			return nil, err
		}
		list, last, err := s.rank(ctx, site, q.Period, r, among, limit, offset)
		if err != nil || following == 0 || len(list) == limit && last > following {
			return list, err
		}
	}
}

// rank returns a page of the queries with the highest totals, and the
// importance of its last one.
func (s *Store) rank(ctx context.Context, site int64, p insights.Period, r ranking, among, limit, offset int) (list []insights.QueryStats, last int64, err error) {
	columns := make([]string, queryCounts)
	for i, c := range countColumns[:queryCounts] {
		columns[i] = "d." + c
	}
	query := `select r.*, (select page from docs_clicks c where c.query = r.id group by page order by count(*) desc, page limit 1)
		from (select q.id, q.text, max(d.day) as last_day, ` + sums(columns) + `, ` + r.importance + ` as importance
			from (select id, text from docs_queries where site = ? and ` + r.total + ` > 0 order by ` + r.total + ` desc, id limit ?) q
			cross join docs_day_query d where d.site = ? and d.query = q.id and d.day between ? and ?
			group by q.id, q.text having ` + r.importance + ` > 0 ` + r.having + `
			order by importance desc, id limit ? offset ?) r
		order by importance desc, id`
	err = s.each(ctx, func(scan func(...any) error) error {
		var q insights.QueryStats
		var c insights.Counts
		var id, day int64
		var page *string
		to := append([]any{&id, &q.Query, &day}, scans(&c, queryCounts)...)
		if err := scan(append(to, &last, &page)...); err != nil {
			return err
		}
		q.Searches, q.NoResult, q.Weak, q.Tracked, q.Clicked, q.Clicks = c.Searches, c.NoResult, c.Weak, c.Tracked, c.Clicked, c.Clicks
		q.ClickRate, q.MeanPosition, q.Last = c.ClickRate(), c.MeanPosition(), insights.Date(day)
		if page != nil {
			q.TopPage = *page
		}
		list = append(list, q)
		return nil
	}, query, site, among, site, int64(p.From), int64(p.To), limit, offset)
	return list, last, err
}
