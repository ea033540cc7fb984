package dashboard

import (
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Result is a search result.
type Result struct {
	Title, Heading, URL, Snippet, Language, Version string
	Score                                           float64
}

// ErrRefused is wrapped by errors of queries and questions that the API would
// refuse, too.
var ErrRefused = errors.New("refused")

// maxTry bounds a query or question, as the search endpoint does.
const maxTry = 1000

type tryData struct {
	Query, Question string
	Problem         string
	Searched        bool
	Results         []Result
	Total           int
	Explanation     *assistant.Explanation
	// PromptSize is the prompt's in characters.
	PromptSize int
}

// try searches, and shows what a question is answered from, as a reader gets
// it who is not signed in.
func try(q *request) error {
	query := q.URL.Query()
	data := tryData{Query: strings.TrimSpace(query.Get("q")), Question: strings.TrimSpace(query.Get("question"))}
	status := http.StatusOK
	err := error(nil)
	switch {
	case utf8.RuneCountInString(data.Query) > maxTry || utf8.RuneCountInString(data.Question) > maxTry:
		err = ErrRefused
		data.Query, data.Question = cut(data.Query, maxTry), cut(data.Question, maxTry)
		data.Problem = "At most 1,000 characters are possible."
	case data.Query != "":
		data.Results, data.Total, err = q.d.server.Search(q.Context(), q.site.Name, data.Query)
		data.Searched = err == nil
	case data.Question != "":
		if data.Explanation, err = q.d.server.Explain(q.Context(), q.site.Name, data.Question); err == nil {
			for _, m := range data.Explanation.Prompt {
				data.PromptSize += utf8.RuneCountInString(m.Content)
			}
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, ErrRefused):
		status = http.StatusBadRequest
		if data.Problem == "" {
			data.Problem = strings.TrimPrefix(err.Error(), ErrRefused.Error()+": ")
		}
	case errors.Is(err, retrieval.ErrNotReady):
		status, data.Problem = http.StatusServiceUnavailable, "The index of this site is being built. Try again in a few seconds."
	default:
		return err
	}
	return q.render(status, "try", "Try", data)
}
