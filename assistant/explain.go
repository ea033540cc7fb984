package assistant

import "context"

// Explanation tells why a question gets the answer that it gets: what was
// searched for, which passages the model is given, and the whole prompt.
type Explanation struct {
	Query string `json:"query"`
	// Other is searched for too, where the question may go on from the one
	// before it.
	Other    string             `json:"other,omitempty"`
	Language Language           `json:"language"`
	Boost    []string           `json:"boost,omitempty"`
	Passages []ExplainedPassage `json:"passages"`
	// Tokens are the passages' together, Budget the most they may be. Without
	// a model both are estimates.
	Tokens int `json:"tokens"`
	Budget int `json:"budget"`
	// Answered is what an extractive reply would say of itself.
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

// Explain makes everything of a reply but the answer. A follow-up question
// is rewritten by the model, if there is one; nothing else is asked of it.
func (a *Assistant) Explain(ctx context.Context, in *Input) (*Explanation, error) {
	r := a.newRun(in, nil)
	r.q = r.question(ctx)
	if a.Model != nil {
		r.rewrite(ctx)
	}
	r.retrieve(ctx)
	if r.searchErr != nil {
		return nil, r.searchErr
	}
	e := &Explanation{
		Query: r.q.query.Text, Other: r.q.other, Language: r.q.language, Boost: r.q.query.Boost,
		Tokens: r.spentTokens, Budget: a.passageBudget(),
		Answered: answers(r.byScore(), r.askedTerms(), r.q.language),
	}
	for i := range r.passages {
		p := &r.passages[i]
		e.Passages = append(e.Passages, ExplainedPassage{p.id, p.url, p.title, p.score, p.tokens, p.text})
	}
	if a.Model != nil {
		e.Prompt = r.prompt().Messages
	}
	return e, nil
}
