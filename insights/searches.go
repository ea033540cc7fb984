package insights

import (
	"cmp"
	"context"
	"fmt"
)

// The kinds of searches.
const (
	// TopSearches are all queries by how often they were searched for.
	TopSearches = "top"
	// NoResult are queries by how often they found nothing.
	NoResult = "no_result"
	// WeakSearches are queries by how often their best hit was weak.
	WeakSearches = "weak"
	// LowClicks are queries that were tracked at least MinTracked times and
	// clicked in less than LowClickRate of them, by the searches without a click.
	LowClicks = "low_clicks"
)

// Bounds of LowClicks.
const (
	MinTracked   = 5
	LowClickRate = 0.2
)

// QueryStats are the numbers of one query.
type QueryStats struct {
	Query    string `json:"query"`
	Searches int64  `json:"searches"`
	NoResult int64  `json:"no_result"`
	Weak     int64  `json:"weak"`
	Tracked  int64  `json:"tracked"`
	Clicked  int64  `json:"clicked"`
	Clicks   int64  `json:"clicks"`
	// ClickRate is Clicked ÷ Tracked, nil without tracked searches.
	ClickRate *float64 `json:"click_rate"`
	// MeanPosition is that of the clicks, from 1; nil without clicks.
	MeanPosition *float64 `json:"mean_position"`
	// TopPage is the page clicked most, as far as clicks are still stored.
	TopPage string `json:"top_page,omitempty"`
	// Last is the last day on which it was searched for.
	Last Date `json:"last"`

	positions, importance int64
}

// Searches returns the queries of one kind, the most important first. A month
// has many queries, most of them rare. Those with the highest totals come
// first; once the last one of the page is above the totals of all that follow,
// the page is complete.
func (s *Store) Searches(ctx context.Context, in Scope, q Query) ([]QueryStats, error) {
	// total is the column of docs_queries that is never less than importance in any
	// period; having narrows the list further.
	r, known := map[string]struct{ total, importance, having string }{
		TopSearches:  {total: "seen", importance: "sum(searches)"},
		NoResult:     {total: "none", importance: "sum(d.none)"},
		WeakSearches: {total: "weak", importance: "sum(d.weak)"},
		LowClicks: {
			total: "unclicked", importance: "sum(tracked) - sum(clicked)",
			having: fmt.Sprintf("and sum(tracked) >= %d and sum(clicked) < %g * sum(tracked)", MinTracked, LowClickRate),
		},
	}[cmp.Or(q.Kind, TopSearches)]
	if !known {
		return nil, fmt.Errorf("searches of kind %q: it must be top, no_result, weak or low_clicks", q.Kind)
	}
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return nil, err
	}
	limit, offset := limited(q.Limit), max(q.Offset, 0)
	for among := 4 * (offset + limit); ; among *= 4 {
		var following int64 // the highest total of the others
		_, err := s.reading(ctx).get(into(&following),
			`select `+r.total+` from docs_queries where site = ? and `+r.total+` > 0 order by `+r.total+` desc, id limit 1 offset ?`, site, among)
		if err != nil {
			return nil, err
		}
		all, err := list(ctx, s, in, func(q *QueryStats) []any {
			return into(&q.Query, &q.Last, &q.Searches, &q.NoResult, &q.Weak, &q.Tracked, &q.Clicked, &q.Clicks, &q.positions, &q.importance, &q.TopPage)
		}, `select text, last_day, searches, none, weak, tracked, clicked, clicks, positions, importance,
				coalesce((select page from docs_clicks c where c.query = r.id group by page order by count(*) desc, page limit 1), '')
			from (select q.id, q.text, max(d.day) as last_day, sum(searches) as searches, sum(d.none) as none, sum(d.weak) as weak,
					sum(tracked) as tracked, sum(clicked) as clicked, sum(clicks) as clicks, sum(positions) as positions, `+r.importance+` as importance
				from (select id, text from docs_queries where site = ? and `+r.total+` > 0 order by `+r.total+` desc, id limit ?) q
				cross join docs_day_query d where d.site = ? and d.query = q.id and d.day between ? and ?
				group by q.id, q.text having `+r.importance+` > 0 `+r.having+`
				order by importance desc, id limit ? offset ?) r
			order by importance desc, id`, among, site, int64(q.From), int64(q.To), limit, offset)
		if err != nil || following == 0 || len(all) == limit && all[limit-1].importance > following {
			for i := range all {
				all[i].ClickRate, all[i].MeanPosition = ratio(all[i].Clicked, all[i].Tracked), ratio(all[i].positions, all[i].Clicks)
			}
			return all, err
		}
	}
}
