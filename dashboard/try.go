package dashboard

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

// ErrRefused is wrapped by errors of queries and questions that the API would
// refuse, too.
var ErrRefused = errors.New("refused")

// maxTry bounds a query or question, as the search endpoint does.
const maxTry = 1000

type tryData struct {
	Query, Question string
	Problem         string
	Searched        bool
	Results         []encoding.Result
	Total           int
	Explanation     *assistant.Explanation
	// PromptSize is the prompt's in characters.
	PromptSize int
	// Result is the real answer, Answer its text as readers see it.
	Result *assistant.Result
	Answer template.HTML
}

// try searches, and shows what a question is answered from, as a reader gets
// it who is not signed in.
func try(q *request) error {
	query, err := q.URL.Query(), q.invalid
	if err != nil {
		return err
	}
	data := &tryData{Query: strings.TrimSpace(query.Get("q")), Question: strings.TrimSpace(query.Get("question"))}
	switch {
	case !data.bounded():
		err = fmt.Errorf("%w: the maximum is 1,000 characters", ErrRefused)
	case data.Query != "":
		data.Results, data.Total, err = q.d.server.Search(q.Context(), q.Site.Name, data.Query)
		data.Searched = err == nil
	case data.Question != "":
		err = explain(q, data)
	}
	if q.format != "" && err == nil {
		return table[encoding.Result]{
			columns: "title heading url score snippet language version",
			cells: func(r *encoding.Result) []any {
				m := &r.Metadata
				return []any{m.Title, m.Heading, m.URL, m.Score, m.Snippet, m.Language, m.Version}
			},
		}.export(q, "results", insights.Query{}, listed(data.Results))
	}
	return tryPage(q, data, err)
}

// tryAnswer answers a question, which may cost tokens of the model.
func tryAnswer(q *request) error {
	data := &tryData{Question: strings.TrimSpace(q.PostFormValue("question"))}
	var err error
	switch {
	case data.Question == "":
		err = fmt.Errorf("%w: write a question", ErrRefused)
	case !data.bounded():
		err = fmt.Errorf("%w: the maximum is 1,000 characters", ErrRefused)
	default:
		if err = explain(q, data); err == nil {
			data.Result, err = q.d.server.Ask(q.Context(), q.Site.Name, data.Question)
		}
		if err == nil && data.Result != nil {
			data.Answer = q.Site.rendered(data.Result.Answer)
		}
	}
	return tryPage(q, data, err)
}

// bounded reports whether the texts have at most maxTry characters, and cuts
// them.
func (d *tryData) bounded() bool {
	ok := utf8.RuneCountInString(d.Query) <= maxTry && utf8.RuneCountInString(d.Question) <= maxTry
	d.Query, d.Question = short.Runes(d.Query, maxTry), short.Runes(d.Question, maxTry)
	return ok
}

func explain(q *request, data *tryData) (err error) {
	if data.Explanation, err = q.d.server.Explain(q.Context(), q.Site.Name, data.Question); err != nil {
		return err
	}
	for _, m := range data.Explanation.Prompt {
		data.PromptSize += utf8.RuneCountInString(m.Content)
	}
	return nil
}

// tryPage shows the page, with the problem if there was one.
func tryPage(q *request, data *tryData, err error) error {
	status := http.StatusOK
	switch {
	case err == nil:
	case errors.Is(err, ErrRefused):
		status, data.Problem = http.StatusBadRequest, strings.TrimPrefix(err.Error(), ErrRefused.Error()+": ")
	case errors.Is(err, retrieval.ErrNotReady):
		status, data.Problem = http.StatusServiceUnavailable, "The index of this site is being built. Try again in a few seconds."
	default:
		return err
	}
	return q.show(status, data)
}
