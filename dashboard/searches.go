package dashboard

import (
	"fmt"
	"slices"

	"github.com/caddy-docs/caddy-docs/insights"
)

// searchKind is a list of searches to choose.
type searchKind struct {
	Kind  string
	Title string
	// Define says what is listed, and Do what to do about it.
	Define, Do string
}

var searchKinds = []searchKind{
	{insights.NoResult, "No result", "Queries that found nothing, most frequent first.", "Use these words in a title or a heading, write the page, or add synonyms to the site."},
	{insights.WeakSearches, "Weak", "Queries whose best result scored below 0.3, most frequent first. With semantic search, few queries have no result, because it always finds something.", "Check whether the right page exists and uses the readers' words."},
	{insights.LowClicks, "Few clicks", fmt.Sprintf("Queries with at least %d tracked searches, of which fewer than %.0f %% had a click, those with the most searches without a click first.", insights.MinTracked, 100*insights.LowClickRate), "The right page may be far down, or its title may not show that it is the right one."},
	{insights.TopSearches, "Top", "All queries, most frequent first.", "The pages that they find should be the best ones."},
}

// searches shows what readers search for and don't find.
func searches(q *request) error {
	query := insights.Query{Period: q.period(), Kind: q.choice("kind", "no_result", "weak", "low_clicks", "top")}
	store, err := q.insights()
	if err != nil {
		return err
	}
	overview, err := store.Overview(q.Context(), q.scope(), query.Period)
	if err != nil {
		return q.stored(err)
	}
	days, err := store.Days(q.Context(), q.scope(), query.Period)
	if err != nil {
		return q.stored(err)
	}
	now, before := overview.Counts, overview.Before
	return table[insights.QueryStats]{
		columns: "query searches no_result weak tracked clicked click_rate mean_position top_page last",
		cells: func(r *insights.QueryStats) []any {
			return []any{r.Query, r.Searches, r.NoResult, r.Weak, r.Tracked, r.Clicked, r.ClickRate, r.MeanPosition, r.TopPage, r.Last.String()}
		},
	}.list(q, "searches-"+query.Kind, query, store.Searches, struct {
		Kinds   []searchKind
		Kind    searchKind
		Numbers []number
		Charts  []*chart
	}{
		Kinds: searchKinds, Kind: searchKinds[slices.IndexFunc(searchKinds, func(k searchKind) bool { return k.Kind == query.Kind })],
		Numbers: []number{
			searchesNumber(now, before), noResultNumber(now, before),
			rate("Click rate", now.ClickRate(), before.ClickRate(), more,
				"Tracked searches with a click ÷ tracked searches. Tracked are those in the widget with a result."),
			decimal("Mean position", now.MeanPosition(), before.MeanPosition(), less, "Of the results that were clicked, from 1."),
		},
		Charts: charts(
			searchChart(days),
			chartOf(days, "Tracked searches per day", "tracked", "without a click", func(d *insights.Day) (int64, int64) { return d.Tracked, d.Tracked - d.Clicked }),
		),
	})
}
