package dashboard

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/caddy-docs/caddy-docs/insights"
)

type feedbackData struct {
	ByPage   bool
	State    string
	Rating   string
	Comments bool
	Rows     []insights.Feedback
	Pages    []insights.PageVotes
	Pager    pager
}

var feedbackColumns = []column[insights.Feedback]{
	{"id", func(f *insights.Feedback) any { return f.ID }},
	{"at", func(f *insights.Feedback) any { return when(f.At) }},
	{"rating", func(f *insights.Feedback) any { return f.Rating }},
	{"reasons", func(f *insights.Feedback) any { return f.Reasons }},
	{"comment", func(f *insights.Feedback) any { return f.Comment }},
	{"question", func(f *insights.Feedback) any { return f.Question }},
	{"page", func(f *insights.Feedback) any { return f.Page }},
	{"source", func(f *insights.Feedback) any { return f.Source }},
	{"state", func(f *insights.Feedback) any { return f.State }},
	{"note", func(f *insights.Feedback) any { return f.Note }},
	{"conversation", func(f *insights.Feedback) any { return f.Thread }},
}

var pageVotesColumns = []column[insights.PageVotes]{
	{"page", func(v *insights.PageVotes) any { return v.Path }},
	{"up", func(v *insights.PageVotes) any { return v.Up }},
	{"down", func(v *insights.PageVotes) any { return v.Down }},
}

// feedback lists the readers' votes, or the pages that they are for.
func feedback(q *request) error {
	p, err := q.period()
	if err != nil {
		return err
	}
	by, err := q.choice("by", "vote", "page")
	if err != nil {
		return err
	}
	data := feedbackData{ByPage: by == "page", Comments: q.URL.Query().Get("comments") != ""}
	if data.State, err = q.state(); err != nil {
		return err
	}
	if data.Rating, err = q.choice("rating", "", "up", "down"); err != nil {
		return err
	}
	store, file, err := q.table()
	if err != nil {
		return err
	}
	if data.ByPage {
		if data.Pages, err = store.FeedbackPages(q.Context(), q.scope(), p); err != nil {
			return q.stored(err)
		}
		if file {
			return listed(data.Pages).export(q, "feedback-pages", pageVotesColumns)
		}
		return q.render(http.StatusOK, "feedback", "Feedback", data)
	}
	list := newestFirst[insights.Feedback]{
		read: func(limit int, before insights.Cursor) ([]insights.Feedback, error) {
			return store.Feedback(q.Context(), q.scope(), insights.Query{
				Period: p, State: data.State, Feedback: data.Rating, Comments: data.Comments, Before: before, Limit: limit,
			})
		},
		at: func(f *insights.Feedback) insights.Cursor { return f.Cursor },
	}
	if file {
		return list.export(q, "feedback", feedbackColumns)
	}
	if data.Rows, data.Pager, err = list.page(q); err != nil {
		return err
	}
	return q.render(http.StatusOK, "feedback", "Feedback", data)
}

// setFeedback says what became of a vote.
func setFeedback(q *request) error {
	state, note, err := q.stateForm()
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(q.params["id"], 10, 64)
	if err != nil {
		return errNotFound
	}
	store, err := q.insights()
	if err != nil {
		return err
	}
	err = store.SetFeedback(q.Context(), q.scope(), id, state, note)
	if errors.Is(err, insights.ErrUnknown) {
		return fail(http.StatusNotFound, "There is no such vote. The reader may have changed it.")
	}
	if err != nil {
		return q.stored(err)
	}
	return q.back("feedback")
}
