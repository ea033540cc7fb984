package dashboard

import (
	"strconv"

	"github.com/caddy-docs/caddy-docs/insights"
)

// feedback lists the readers' votes, or the pages that they are for.
func feedback(q *request) error {
	data := struct {
		insights.Query
		ByPage bool
	}{
		insights.Query{
			Period: q.period(), State: q.state(), Feedback: q.choice("rating", "", "up", "down"), Comments: q.URL.Query().Get("comments") != "",
		},
		q.choice("by", "vote", "page") == "page",
	}
	store, err := q.insights()
	switch {
	case err != nil:
		return err
	case data.ByPage:
		return table[insights.PageVotes]{
			columns: "page up down",
			cells:   func(v *insights.PageVotes) []any { return []any{v.Path, v.Up, v.Down} },
		}.list(q, "feedback-pages", data.Query, store.FeedbackPages, data)
	}
	return table[insights.Feedback]{
		columns: "id at rating reasons comment question page source state note conversation",
		cells: func(f *insights.Feedback) []any {
			return []any{f.ID, when(f.At), f.Rating, f.Reasons, f.Comment, f.Question, f.Page, f.Source, f.State, f.Note, f.Thread}
		},
		at: func(f *insights.Feedback) insights.Cursor { return f.Cursor },
	}.list(q, "feedback", data.Query, store.Feedback, data)
}

func setFeedback(q *request) error {
	id, err := strconv.ParseInt(q.params["id"], 10, 64)
	if err != nil {
		return errNotFound
	}
	if err := saveState(q, (*insights.Store).SetFeedback, id, "There is no such vote. The reader may have changed it."); err != nil {
		return err
	}
	return q.back("feedback")
}
