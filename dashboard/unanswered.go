package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

// unanswered lists the questions that the pages don't answer, or the pages
// nearest to them.
func unanswered(q *request) error {
	values := q.URL.Query()
	data := struct {
		insights.Query
		By  string
		Did []insights.Gap // the questions that were just marked
	}{
		Query: insights.Query{Period: q.period(), State: q.state(), Page: values.Get("near")},
		By:    q.choice("by", "question", "meaning", "page"),
	}
	store, err := q.insights()
	if err != nil {
		return err
	}
	if did := values.Get("did"); did != "" && q.format == "" {
		data.Did, err = store.Unanswered(q.Context(), q.scope(), insights.Query{Period: data.Period, Group: did, State: insights.Done})
	}
	switch {
	case err != nil:
		return q.stored(err)
	case data.By == "meaning":
		found, err := q.meanings(store, data.Query)
		if err != nil {
			return err
		}
		return table[meaning]{
			columns: "question asked questions pages last",
			cells:   func(m *meaning) []any { return []any{m.Questions[0], m.Asked, m.Questions, m.Pages, when(m.Last)} },
		}.list(q, "unanswered-by-meaning", data.Query, listed(found), data)
	case data.By == "page":
		return table[insights.GapPage]{
			columns: "page asked questions last",
			cells:   func(g *insights.GapPage) []any { return []any{g.Page, g.Asked, g.Wordings, when(g.Last)} },
		}.list(q, "pages-to-write", data.Query, store.UnansweredPages, data)
	}
	return table[insights.Gap]{
		columns: "question asked no partly up down pages last state note conversation",
		cells: func(g *insights.Gap) []any {
			return []any{g.Wording, g.Asked, g.No, g.Partly, g.Up, g.Down, g.Pages, when(g.Last), g.State, g.Note, g.Thread}
		},
	}.list(q, "unanswered", data.Query, store.Unanswered, data)
}

// gap shows one group of questions, and what was answered.
func gap(q *request) error {
	group := q.URL.Query().Get("group")
	store, err := q.insights()
	if err != nil {
		return err
	}
	q.Period = insights.LastDays(maxPeriod, time.Now())
	found, err := store.Unanswered(q.Context(), q.scope(), insights.Query{Period: q.Period, Group: group, Limit: 1})
	if err != nil {
		return q.stored(err)
	}
	if group == "" || len(found) == 0 {
		return fail(http.StatusNotFound, "Nobody has asked this in the last 366 days, or it was erased.")
	}
	data := struct {
		insights.Gap
		Answer  *Answer                // that a reader got last
		Again   *assistant.Explanation // from which the question is answered today, if the visitor asked for it
		Problem string
		Edit    map[string]string // where the pages are edited
		Issue   string            // where one is created, "" if that is not known
	}{Gap: found[0]}
	answers, err := q.transcript(data.Thread)
	if err != nil {
		return err
	}
	for i := range answers {
		if a := &answers[i]; a.Turn != nil && insights.Stems(a.Turn.Question) == group {
			data.Answer = a
		}
	}
	if data.Answer != nil && data.Answer.Text != "" {
		if err := q.audit(store, "conversation read", data.Thread); err != nil {
			return err
		}
	}
	if q.URL.Query().Get("again") != "" {
		data.Again, err = q.d.server.Explain(q.Context(), q.Site.Name, short.Runes(data.Wording, maxTry-1))
		switch {
		case errors.Is(err, retrieval.ErrNotReady):
			data.Problem = "The index of this site is being built. Ask again in a few seconds."
		case errors.Is(err, ErrRefused):
			data.Problem = strings.TrimPrefix(err.Error(), ErrRefused.Error()+": ")
		case err != nil:
			return err
		}
	}
	urls, edits, err := q.places()
	if err != nil {
		return err
	}
	data.Edit = edits
	answer := ""
	if data.Answer != nil {
		answer = data.Answer.Text
	}
	data.Issue = q.Site.issue([]string{data.Wording}, data.Asked, data.Pages, urls, answer)
	return q.render(http.StatusOK, "gap", "Unanswered question", data)
}

func setGap(q *request) error {
	if err := saveState(q, (*insights.Store).SetGap, q.PostFormValue("group"), "Nobody has asked this, or it was erased."); err != nil {
		return err
	}
	if q.PostFormValue("list") == "" {
		return q.redirect(q.at("unanswered/question"), url.Values{"group": {q.PostFormValue("group")}})
	}
	return q.back("unanswered")
}
