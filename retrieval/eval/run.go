package eval

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// Answers asks a site questions and judges what it answers.
type Answers struct {
	// Ask asks the site.
	Ask func(ctx context.Context, q Question) (Reply, error)
	// Judge judges the answers; nil: the rules alone.
	Judge *Model
	// Pages are those that answers may link to: their anchors by URL. Hosts are
	// further hosts.
	Pages map[string][]string
	Hosts []string
	// MaxTokens bounds the tokens of the replies and the judge: what exceeds it by
	// one question is the last. 0: no bound.
	MaxTokens int
	// Out takes each new result as a line as soon as it is there; nil: none does.
	Out io.Writer
}

// ErrSpent is returned with the results so far when MaxTokens are spent.
var ErrSpent = errors.New("the tokens of --max-tokens are spent; run the command again to go on")

// Run asks the questions in order. The results of earlier runs are taken for
// those with the same text, and checked again.
func (a *Answers) Run(ctx context.Context, questions []Question, earlier []Result) ([]Result, error) {
	have := map[string]*Result{}
	for i := range earlier {
		if r := &earlier[i]; r.Error == "" {
			have[r.Question.key()] = r
		}
	}
	var out []Result
	spent := 0
	for _, q := range questions {
		var r Result
		known := have[q.key()]
		if known != nil {
			r = *known
		}
		judged := a.Judge == nil || known != nil && r.Judge == a.Judge.Name && slices.Equal(r.Question.Facts, q.Facts)
		r.Question = q
		if (known == nil || !judged) && a.MaxTokens > 0 && spent >= a.MaxTokens {
			return out, ErrSpent
		}
		if known == nil {
			var err error
			if r.Reply, err = a.Ask(ctx, q); err != nil {
				r.Error = err.Error()
			}
			spent += r.Reply.Input + r.Reply.Output
		}
		if !judged && r.Error == "" {
			r.Judging = Tokens{}
			err := a.Judge.judge(ctx, &r)
			spent += r.Judging.Input + r.Judging.Output
			if err != nil {
				return out, err
			}
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		a.check(&r)
		out = append(out, r)
		if a.Out != nil && (known == nil || !judged) {
			if err := json.NewEncoder(a.Out).Encode(r); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// key is what a question's reply depends on.
func (q *Question) key() string { return q.Question + "\x00" + q.CurrentPath }

// ReadResults reads what Run wrote. A line that was cut off is left out, as its
// question is asked again; of two results of a question, the later one counts.
func ReadResults(r io.Reader) (out []Result, err error) {
	at := map[string]int{}
	err = lines(r, func(_ int, line []byte) error {
		var v Result
		if json.Unmarshal(line, &v) != nil || v.Question.ID == "" {
			return nil
		}
		if i, ok := at[v.Question.ID]; ok {
			out[i] = v
			return nil
		}
		at[v.Question.ID] = len(out)
		out = append(out, v)
		return nil
	})
	return out, err
}
