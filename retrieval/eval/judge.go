package eval

import (
	"context"
	_ "embed" // the judge's instructions
	"encoding/json"
	"fmt"
	"strings"
)

// judgeRules are the instructions of a model that judges answers.
//
//go:embed judge.md
var judgeRules string

// Model is a model that judges answers.
type Model struct {
	Name string
	// Ask asks it with instructions.
	Ask func(ctx context.Context, instructions, text string) (answer string, tokens Tokens, err error)
	// Passages are those that were found for a question.
	Passages func(ctx context.Context, q Question) ([]string, error)
}

// judgeRuns is how often each answer is judged: their agreement says how much
// the verdicts are worth.
const judgeRuns = 2

// Verdict is what a judge says of an answer: each of Faithful and Complete is yes,
// partly or no.
type Verdict struct {
	Faithful string `json:"faithful"`
	Complete string `json:"complete"`
	Why      string `json:"why,omitempty"`
}

func (j *Model) judge(ctx context.Context, r *Result) error {
	passages, err := j.Passages(ctx, r.Question)
	if err != nil {
		return err
	}
	var b strings.Builder
	fence := func(label, text string) {
		text = strings.NewReplacer("<<<", "<<", ">>>", ">>").Replace(text)
		b.WriteString(label + "\n<<<\n" + text + "\n>>>\n\n")
	}
	fence("Question", r.Question.Question)
	fence("A right answer must say", strings.Join(r.Question.Facts, "\n"))
	fence("Passages", strings.Join(passages, "\n\n---\n\n"))
	fence("Answer", r.Reply.Answer)
	r.Judge, r.Verdicts = j.Name, nil
	for range judgeRuns {
		answer, tokens, err := j.Ask(ctx, judgeRules, b.String())
		r.Judging.Add(tokens)
		if err != nil {
			return fmt.Errorf("judging the answer to question %s: %w", r.Question.ID, err)
		}
		if v, ok := readVerdict(answer); ok {
			r.Verdicts = append(r.Verdicts, v)
		}
	}
	return nil
}

// readVerdict reads the JSON object in a judge's answer. ok is false if there is
// none.
func readVerdict(answer string) (v Verdict, ok bool) {
	from, to := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if from < 0 || to < from || json.Unmarshal([]byte(answer[from:to+1]), &v) != nil {
		return v, false
	}
	_, faithful := grades[v.Faithful]
	_, complete := grades[v.Complete]
	return v, faithful && complete
}

// grades are what verdicts count.
var grades = map[string]float64{"yes": 1, "partly": .5, "no": 0}
