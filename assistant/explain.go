package assistant

import (
	"context"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// Explanation says why a question gets its answer: what was searched for,
// which passages the model is given, and the whole prompt.
type Explanation struct {
	Query string `json:"query"`
	// Other is searched for too, if the question may continue the one before
	// it.
	Other    string             `json:"other,omitempty"`
	Language language.Language  `json:"language"`
	Boost    []string           `json:"boost,omitempty"`
	Passages []ExplainedPassage `json:"passages"`
	// Tokens are those of the passages, Budget is their bound.
	Tokens int `json:"tokens"`
	Budget int `json:"budget"`
	// Answered is that of an extractive reply.
	Answered string          `json:"answered"`
	Prompt   []PromptMessage `json:"prompt,omitempty"`
}

// ExplainedPassage is a passage with its score and cost.
type ExplainedPassage struct {
	ID     string  `json:"id"`
	URL    string  `json:"url"`
	Title  string  `json:"title"`
	Score  float64 `json:"score"`
	Tokens int     `json:"tokens"`
	Text   string  `json:"text"`
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
	if r.searchErr != nil {
		return nil, r.searchErr
	}
	e := &Explanation{
		Query: r.q.query.Text, Other: r.q.other, Language: r.q.language, Boost: r.q.query.Boost,
		Budget:   a.passageBudget(),
		Answered: r.verdict().answered,
	}
	for i := range r.passages {
		p := &r.passages[i]
		e.Tokens += p.tokens
		e.Passages = append(e.Passages, ExplainedPassage{p.id, p.url, p.title, p.score, p.tokens, p.text})
	}
	if a.Model != nil {
		e.Prompt = r.prompt().Messages
	}
	return e, nil
}
