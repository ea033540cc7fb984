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

type unansweredData struct {
	ByPage bool
	State  string
	Page   string
	Gaps   []insights.Gap
	Pages  []insights.GapPage
	Pager  pager
	// Did are the questions that were just marked.
	Did []insights.Gap
}

var gapColumns = []column[insights.Gap]{
	{"question", func(g *insights.Gap) any { return g.Wording }},
	{"asked", func(g *insights.Gap) any { return g.Asked }},
	{"no", func(g *insights.Gap) any { return g.No }},
	{"partly", func(g *insights.Gap) any { return g.Partly }},
	{"up", func(g *insights.Gap) any { return g.Up }},
	{"down", func(g *insights.Gap) any { return g.Down }},
	{"pages", func(g *insights.Gap) any { return g.Pages }},
	{"last", func(g *insights.Gap) any { return when(g.Last) }},
	{"state", func(g *insights.Gap) any { return g.State }},
	{"note", func(g *insights.Gap) any { return g.Note }},
	{"conversation", func(g *insights.Gap) any { return g.Thread }},
}

var gapPageColumns = []column[insights.GapPage]{
	{"page", func(g *insights.GapPage) any { return g.Page }},
	{"asked", func(g *insights.GapPage) any { return g.Asked }},
	{"questions", func(g *insights.GapPage) any { return g.Wordings }},
	{"last", func(g *insights.GapPage) any { return when(g.Last) }},
}

// unanswered lists the questions that the pages don't answer, or the pages
// nearest to them.
func unanswered(q *request) error {
	p, err := q.period()
	if err != nil {
		return err
	}
	by, err := q.choice("by", "question", "page")
	if err != nil {
		return err
	}
	state, err := q.state()
	if err != nil {
		return err
	}
	store, file, err := q.table()
	if err != nil {
		return err
	}
	data := unansweredData{ByPage: by == "page", State: state, Page: q.URL.Query().Get("near")}
	gaps := ranked[insights.Gap](func(limit, offset int) ([]insights.Gap, error) {
		return store.Unanswered(q.Context(), q.scope(), insights.Query{Period: p, State: state, Page: data.Page, Limit: limit, Offset: offset})
	})
	pages := ranked[insights.GapPage](func(limit, offset int) ([]insights.GapPage, error) {
		return store.UnansweredPages(q.Context(), q.scope(), insights.Query{Period: p, Limit: limit, Offset: offset})
	})
	switch {
	case file && data.ByPage:
		return pages.export(q, "pages-to-write", gapPageColumns)
	case file:
		return gaps.export(q, "unanswered", gapColumns)
	case data.ByPage:
		data.Pages, data.Pager, err = pages.page(q)
	default:
		data.Gaps, data.Pager, err = gaps.page(q)
	}
	if did := q.URL.Query().Get("did"); did != "" && err == nil {
		data.Did, err = store.Unanswered(q.Context(), q.scope(), insights.Query{Period: p, Group: did, State: insights.Done})
		err = q.stored(err)
	}
	if err != nil {
		return err
	}
	return q.render(http.StatusOK, "unanswered", "Unanswered", data)
}

type gapData struct {
	insights.Gap
	// Last is the answer that a reader got last.
	Answer *Answer
	// Again is what the question is answered from today, if the visitor asked
	// for it.
	Again   *assistant.Explanation
	Problem string
}

// gap shows one group of questions, and what was answered.
func gap(q *request) error {
	group := q.URL.Query().Get("group")
	store, err := q.insights()
	if err != nil {
		return err
	}
	q.shown = insights.LastDays(maxPeriod, time.Now())
	found, err := store.Unanswered(q.Context(), q.scope(), insights.Query{Period: q.shown, Group: group, Limit: 1})
	if err != nil {
		return q.stored(err)
	}
	if group == "" || len(found) == 0 {
		return fail(http.StatusNotFound, "Nobody has asked this in the last 366 days, or it was erased.")
	}
	data := gapData{Gap: found[0]}
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
		data.Again, err = q.d.server.Explain(q.Context(), q.site.Name, short.Runes(data.Wording, maxTry-1))
		switch {
		case errors.Is(err, retrieval.ErrNotReady):
			data.Problem = "The index of this site is being built. Ask again in a few seconds."
		case errors.Is(err, ErrRefused):
			data.Problem = strings.TrimPrefix(err.Error(), ErrRefused.Error()+": ")
		case err != nil:
			return err
		}
	}
	return q.render(http.StatusOK, "gap", "Unanswered question", data)
}

// setGap says what became of a group of questions.
func setGap(q *request) error {
	state, note, err := q.stateForm()
	if err != nil {
		return err
	}
	store, err := q.insights()
	if err != nil {
		return err
	}
	err = store.SetGap(q.Context(), q.scope(), q.PostFormValue("group"), state, note)
	if errors.Is(err, insights.ErrUnknown) {
		return fail(http.StatusNotFound, "Nobody has asked this, or it was erased.")
	}
	if err != nil {
		return q.stored(err)
	}
	if q.PostFormValue("list") == "" {
		return q.redirect(q.at("unanswered/question"), url.Values{"group": {q.PostFormValue("group")}})
	}
	return q.back("unanswered")
}
