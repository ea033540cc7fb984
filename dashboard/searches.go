package dashboard

import (
	"fmt"
	"net/http"

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
	{insights.NoResult, "No result", "Queries that found nothing, by how often.", "Use these words in a title or a heading, write the page, or add synonyms to the site."},
	{insights.WeakSearches, "Weak", "Queries whose best result scored below 0.3, by how often. Semantic search always finds something, so no result says little there.", "Look whether the right page exists, and uses the readers' words."},
	{insights.LowClicks, "Few clicks", fmt.Sprintf("Queries of at least %d tracked searches, of which fewer than %.0f %% had a click, by how many had none.", insights.MinTracked, 100*insights.LowClickRate), "The right page may be far down, or its title may not say that it is the one."},
	{insights.TopSearches, "Top", "All queries, by how often they were searched for.", "These pages should be the best ones."},
}

type searchesData struct {
	Kinds   []searchKind
	Kind    searchKind
	Numbers []number
	Charts  []*chart
	Rows    []insights.QueryStats
	Pager   pager
}

// searches shows what readers search for and don't find.
func searches(q *request) error {
	p, err := q.period()
	if err != nil {
		return err
	}
	kind, err := q.choice("kind", "no_result", "weak", "low_clicks", "top")
	if err != nil {
		return err
	}
	store, file, err := q.table()
	if err != nil {
		return err
	}
	list := ranked[insights.QueryStats](func(limit, offset int) ([]insights.QueryStats, error) {
		return store.Searches(q.Context(), q.scope(), insights.Query{Period: p, Kind: kind, Limit: limit, Offset: offset})
	})
	if file {
		return list.export(q, "searches-"+kind, searchColumns)
	}
	data := searchesData{Kinds: searchKinds}
	for _, k := range searchKinds {
		if k.Kind == kind {
			data.Kind = k
		}
	}
	overview, err := store.Overview(q.Context(), q.scope(), p)
	if err != nil {
		return q.stored(err)
	}
	days, err := store.Days(q.Context(), q.scope(), p)
	if err != nil {
		return q.stored(err)
	}
	now, before := overview.Counts, overview.Before
	data.Numbers = []number{
		searchesNumber(now, before), noResultNumber(now, before),
		rate("Click rate", now.ClickRate(), before.ClickRate(), more, "Tracked searches with a click ÷ tracked searches. Tracked are those in the widget with a result."),
		decimal("Mean position", now.MeanPosition(), before.MeanPosition(), less, "Of the results that were clicked, from 1."),
	}
	data.Charts = charts(
		searchChart(days),
		chartOf(days, "Tracked searches a day", "tracked", func(d *insights.Day) int64 { return d.Tracked }, "without a click", func(d *insights.Day) int64 { return d.Tracked - d.Clicked }),
	)
	if data.Rows, data.Pager, err = list.page(q); err != nil {
		return err
	}
	return q.render(http.StatusOK, "searches", "Searches", data)
}
