package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/dashboard"
	"github.com/caddy-docs/caddy-docs/model"
	"github.com/caddy-docs/caddy-docs/retrieval/eval"
)

// judgeTime bounds the wait for a judge's first token: a small machine reads the
// passages for minutes.
const judgeTime = 10 * time.Minute

// readResults reads results of an earlier run; there are none without a file.
func readResults(name string) ([]eval.Result, error) {
	results, err := readFile(name, eval.ReadResults)
	if name == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return results, err
}

// evaluateAnswers asks the site the questions of a file. args are the site and,
// with a judge, its model.
func evaluateAnswers(ctx context.Context, t *target, args []string, f evalFlags, out io.Writer) error {
	site := args[0]
	if (f.judge != "") != (len(args) == 2) {
		return errors.New("--judge needs a URL and a model: --judge https://api.openai.com/v1 gpt-5-mini")
	}
	if n := len(f.prices); n == 1 || n > 3 {
		return errors.New("--prices needs two or three figures: input,output[,cached input], for a million tokens")
	}
	questions, err := readFile(f.answers, eval.ReadQuestions)
	if err != nil {
		return err
	}
	earlier, err := readResults(f.out)
	if err != nil {
		return err
	}
	var baseline []eval.Result
	if f.baseline != "" {
		if baseline, err = readFile(f.baseline, eval.ReadResults); err != nil {
			return err
		}
	}
	var pages []dashboard.Page
	if err := t.call(ctx, http.MethodGet, path("pages", site), nil, &pages); err != nil {
		return err
	}
	run := eval.Answers{
		Ask:       func(ctx context.Context, q eval.Question) (eval.Reply, error) { return askOnce(ctx, t, site, q) },
		Pages:     map[string][]string{},
		Hosts:     f.allow,
		MaxTokens: f.maxTokens,
	}
	for _, p := range pages {
		run.Pages[p.URL] = p.Anchors
	}
	if f.judge != "" {
		chain, err := model.New(model.Options{
			Endpoints:  []model.Endpoint{{URL: f.judge, Model: args[1], APIKey: os.Getenv("JUDGE_API_KEY")}},
			FirstToken: judgeTime, Idle: judgeTime,
		})
		if err != nil {
			return err
		}
		defer chain.Close()
		run.Judge = judgeOf(t, site, chain)
	}
	if f.out != "" {
		file, err := os.OpenFile(f.out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer file.Close()
		fmt.Fprintln(file) // the last line may have been cut off
		run.Out = file
	}

	results, stopped := run.Run(ctx, questions, earlier)
	if stopped != nil && !errors.Is(stopped, eval.ErrSpent) {
		return stopped
	}
	if f.junit != "" {
		if err := writeJUnit(f.junit, site, results); err != nil {
			return err
		}
	}
	var prices [3]float64
	if copy(prices[:], f.prices); len(f.prices) == 2 {
		prices[2] = prices[0] // cached tokens cost what others do
	}
	report := eval.ReportAnswers(results, baseline, prices)
	err = t.print(out, report, func() { report.Write(out, f.worst) })
	switch {
	case cmp.Or(err, stopped) != nil:
		return cmp.Or(err, stopped)
	case slices.ContainsFunc(results, func(r eval.Result) bool { return r.Error != "" }):
		return errors.New("some questions got no answer; run the command again to ask them")
	case report.All.Passed < f.minPassed:
		return fmt.Errorf("the share of answers without a failure is %.3f, below %.3f", report.All.Passed, f.minPassed)
	}
	return nil
}

// unknownInput are the tokens of a prompt that nobody counted.
const unknownInput = 8000

// askOnce asks the site a question as it is configured. It is not recorded.
func askOnce(ctx context.Context, t *target, site string, q eval.Question) (r eval.Reply, err error) {
	began := time.Now()
	stream, err := t.open(ctx, http.MethodPost, path("ask", site)+"?record=false", question(q.Question, q.CurrentPath, 5))
	if err != nil {
		return r, err
	}
	defer stream.Close()
	a, err := readAnswer(stream, func(string) {
		if r.FirstToken == 0 {
			r.FirstToken = max(1, time.Since(began).Milliseconds())
		}
	})
	if err != nil {
		return r, err
	}
	var metadata struct {
		Answered, Model string
		Usage           *struct{ InputTokens, OutputTokens, CachedInputTokens int }
	}
	if err := json.Unmarshal(a.Metadata, &metadata); err != nil {
		return r, fmt.Errorf("reading the end of the answer: %w", err)
	}
	r.Answer, r.Answered, r.Model = a.Answer, metadata.Answered, metadata.Model
	if u := metadata.Usage; u != nil {
		r.Tokens = eval.Tokens{Input: u.InputTokens, Output: u.OutputTokens, Cached: u.CachedInputTokens}
	} else if r.Model != "extractive" {
		r.Tokens = eval.Tokens{Input: unknownInput, Output: assistant.Tokens(r.Answer)}
	}
	return r, nil
}

// judgeOf has a model judge the answers of a site.
func judgeOf(t *target, site string, chain *model.Chain) *eval.Model {
	return &eval.Model{
		Name: chain.Name(),
		Ask: func(ctx context.Context, instructions, text string) (string, eval.Tokens, error) {
			p := &assistant.Prompt{MaxTokens: 1000, Messages: []assistant.PromptMessage{{Role: "system", Content: instructions}, {Role: "user", Content: text}}}
			tokens := eval.Tokens{Input: assistant.Tokens(instructions) + assistant.Tokens(text)}
			var answer []byte
			c, err := chain.Stream(ctx, p, func(d *assistant.Delta) error { answer = append(answer, d.Text...); return nil })
			tokens.Output = assistant.Tokens(answer)
			if err == nil && c.Usage.Known {
				tokens = eval.Tokens{Input: c.Usage.InputTokens, Output: c.Usage.OutputTokens, Cached: c.Usage.CachedTokens}
			}
			return string(answer), tokens, err
		},
		Passages: func(ctx context.Context, q eval.Question) (out []string, err error) {
			var e assistant.Explanation
			err = t.call(ctx, http.MethodPost, path("explain", site), question(q.Question, q.CurrentPath, 5), &e)
			for _, p := range e.Passages {
				out = append(out, p.Title+"\n"+p.Text)
			}
			return out, err
		},
	}
}
