package assistant

import (
	"cmp"
	"context"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// Explanation says why a question gets its answer: what was searched for,
// which passages the model is given, and the whole prompt.
type Explanation struct {
	Query string `json:"query"`
	// Other is searched for too, if the question may continue the one before
	// it, or has something pasted into it.
	Other    string            `json:"other,omitempty"`
	Language language.Language `json:"language"`
	Boost    []string          `json:"boost,omitempty"`
	Passages []Passage         `json:"passages"`
	// Tokens are those of the passages, Budget is their bound.
	Tokens int `json:"tokens"`
	Budget int `json:"budget"`
	// Answered is that of an extractive reply.
	Answered string          `json:"answered"`
	Prompt   []PromptMessage `json:"prompt,omitempty"`
}

// Explain makes everything of a reply except the answer. A model, if there is
// one, is only asked to rewrite a follow-up question.
func (a *Assistant) Explain(ctx context.Context, in *Input) (*Explanation, error) {
	r := a.newRun(in, nil)
	for _, step := range []func(context.Context) error{r.question, r.rewrite, r.retrieve} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if r.found.err != nil {
		return nil, r.found.err
	}
	e := &Explanation{
		Query: r.q.query.Text, Other: cmp.Or(r.q.other, r.q.pasted), Language: r.q.language, Boost: r.q.query.Boost,
		Passages: r.found.passages, Budget: r.found.budget, Answered: r.found.judge().answered,
	}
	for i := range e.Passages {
		e.Tokens += e.Passages[i].Tokens
	}
	if a.Model != nil {
		e.Prompt = r.prompt(true).Messages
	}
	return e, nil
}
