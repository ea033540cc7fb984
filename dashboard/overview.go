package dashboard

import (
	"fmt"
	"net/http"
	"slices"
)

// overviewData is what the page shows besides the site.
type overviewData struct {
	Problems []Problem
}

// overview shows the state of the site.
func overview(q *request) error {
	problems := slices.Clone(q.site.Problems)
	if !q.visitor.Admin {
		problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Admin })
	}
	return q.render(http.StatusOK, "overview", "Overview", overviewData{problems})
}

// refresh looks for changes of the pages.
func refresh(q *request) error {
	if err := q.d.server.Refresh(q.Context(), q.site.Name); err != nil {
		return fmt.Errorf("refreshing %s: %w", q.site.Name, err)
	}
	return q.redirect(q.at(""))
}
