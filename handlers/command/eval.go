package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/retrieval/eval"
)

// evalDepth is how many results an evaluation requests: enough for ten pages if
// each page has several.
const evalDepth = 30

type evalFlags struct {
	qrels, baseline, out string
	minimum, minPassed   float64
	generate             bool
	worst                int

	answers, judge, junit string
	allow                 []string
	prices                []float64
	maxTokens             int
}

func evalCommand(t *target) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval SITE [queries.jsonl] [--qrels F] [--baseline run.jsonl] [--min-ndcg 0.7] [--answers F [--judge URL MODEL]]",
		Short: "Measures how well a site is searched and what it answers",
		Long: `Searches a site for every query of a file and measures the results: nDCG@10,
MRR@10, recall@5, the share of queries without a hit, and the search time, for
each group of queries. It also lists the queries with the worst results.

A line of the file is {"id": "q1", "text": "how do I …", "group": "questions",
"relevant": ["guide/start"]}. The judgements can also be in a separate file
(--qrels: query id, page and grade, separated by tabs). --generate writes such
queries, proposed from the site's links and descriptions, to standard output.
--out writes the run to a file, --baseline compares with one. The exit status
is 1 if nDCG@10 is below --min-ndcg, for use in CI.

With --answers, the assistant is asked the questions of a file, such as
{"id": "q1", "question": "how do I …", "facts": ["docs key create"], "pages":
["keys"]}, and its answers are checked: do they have the facts, link to one of
the pages, and link only to what exists? --judge has a model say how faithful and
complete they are; its key is in JUDGE_API_KEY. With --out, an interrupted run
continues.`,
		Args: takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.generate {
				return generateQueries(cmd.Context(), t, args[0], cmd.OutOrStdout())
			}
			if f.answers != "" {
				return evaluateAnswers(cmd.Context(), t, args, f, cmd.OutOrStdout())
			}
			if len(args) < 2 {
				return errors.New("name a file of queries; --generate proposes some: caddy docs eval SITE --generate > queries.jsonl")
			}
			return evaluate(cmd.Context(), t, args[0], args[1], f, cmd.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.qrels, "qrels", "", "A file of judgements (default: the queries' own)")
	fs.StringVar(&f.baseline, "baseline", "", "A run to compare with")
	fs.StringVar(&f.out, "out", "", "Where to write the run")
	fs.Float64Var(&f.minimum, "min-ndcg", 0, "The nDCG@10 below which the exit status is 1")
	fs.BoolVar(&f.generate, "generate", false, "Propose queries from the site itself")
	fs.IntVar(&f.worst, "worst", 10, "How many of the worst queries to list")
	fs.StringVar(&f.answers, "answers", "", "A file of questions, whose answers are checked")
	fs.StringVar(&f.judge, "judge", "", "The URL of an OpenAI-compatible endpoint, up to /v1; its model judges the answers")
	fs.StringVar(&f.junit, "junit", "", "Where to write the results as JUnit XML")
	fs.StringSliceVar(&f.allow, "allow-link", nil, "A host besides the site's own that answers may link to. Can be repeated")
	fs.Float64SliceVar(&f.prices, "prices", nil, "What a million tokens cost: input,output[,cached input]")
	fs.IntVar(&f.maxTokens, "max-tokens", 0, "How many tokens the answers and the judge may take (default: no bound)")
	fs.Float64Var(&f.minPassed, "min-passed", 0, "The share of answers without a failure below which the exit status is 1")
	return cmd
}

// readFile reads a file through one of eval's readers, with its name in errors.
func readFile[T any](name string, read func(io.Reader) (T, error)) (v T, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return v, err
	}
	if v, err = read(bytes.NewReader(data)); err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

func evaluate(ctx context.Context, t *target, site, file string, f evalFlags, out io.Writer) error {
	queries, err := readFile(file, eval.ReadQueries)
	if err != nil {
		return err
	}
	qrels := eval.Judgements(queries)
	if f.qrels != "" {
		if qrels, err = readFile(f.qrels, eval.ReadQrels); err != nil {
			return err
		}
	}
	var baseline eval.Run
	if f.baseline != "" {
		if baseline, err = readFile(f.baseline, eval.ReadRun); err != nil {
			return err
		}
	}
	run := make(eval.Run, len(queries))
	times := make([]time.Duration, 0, len(queries))
	for _, q := range queries {
		began := time.Now()
		var results []encoding.Result
		body := map[string]any{"query": q.Text, "pageSize": evalDepth}
		if err := t.call(ctx, http.MethodPost, path("search", site)+"?record=false", body, &results); err != nil {
			return fmt.Errorf("query %s: %w", q.ID, err)
		}
		times = append(times, time.Since(began))
		paths := make([]string, len(results))
		for i, r := range results {
			paths[i] = r.Path
		}
		run[q.ID] = paths
	}
	if f.out != "" {
		var buf bytes.Buffer
		if err := eval.WriteRun(&buf, queries, run); err != nil {
			return err
		}
		if err := os.WriteFile(f.out, buf.Bytes(), 0o644); err != nil {
			return err
		}
	}

	report := eval.Score(queries, qrels, run, f.worst)
	if report.All.Queries == 0 {
		return errors.New("no query has judgements: give each its \"relevant\" pages, or name a file with --qrels")
	}
	var difference *eval.Difference
	if baseline != nil {
		d := eval.Compare(report, eval.Score(queries, qrels, baseline, 0))
		difference = &d
	}
	if err := printEvaluation(t, out, report, difference, times); err != nil {
		return err
	}
	if report.All.NDCG10 < f.minimum {
		return fmt.Errorf("nDCG@10 is %.4f, below %.4f", report.All.NDCG10, f.minimum)
	}
	return nil
}

// percentile returns how many milliseconds a share of searches took at most.
func percentile(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(share*float64(len(sorted)-1))].Microseconds()) / 1000
}

func printEvaluation(t *target, out io.Writer, r eval.Report, d *eval.Difference, times []time.Duration) error {
	slices.Sort(times)
	p50, p99 := percentile(times, .5), percentile(times, .99)
	if t.json {
		return printJSON(out, struct {
			eval.Report
			Latency    map[string]float64 `json:"latency"`
			Difference *eval.Difference   `json:"difference,omitempty"`
		}{r, map[string]float64{"p50Milliseconds": p50, "p99Milliseconds": p99}, d})
	}
	r.WriteTable(out)
	fmt.Fprintf(out, "\nsearch time: p50 %.2f ms, p99 %.2f ms\n", p50, p99)
	if r.Unjudged > 0 {
		fmt.Fprintf(out, "%d queries have no judgements and were left out\n", r.Unjudged)
	}
	if d != nil {
		d.Write(out, "nDCG@10", 4)
	}
	for i, f := range r.Worst {
		if i == 0 {
			fmt.Fprintln(out, "\nWorst:")
		}
		fmt.Fprintf(out, "  %.2f  %s\n        wanted %s\n        got    %s\n", f.NDCG10, f.Query.Text,
			strings.Join(f.Wanted, ", "), cmp.Or(strings.Join(f.Got, ", "), "nothing"))
	}
	return nil
}

// generateQueries prints queries that the site itself suggests.
func generateQueries(ctx context.Context, t *target, site string, out io.Writer) error {
	var queries []eval.Query
	if err := t.call(ctx, http.MethodGet, path("queries", site), nil, &queries); err != nil {
		return err
	}
	if len(queries) == 0 {
		return fmt.Errorf("the pages of %s have neither links to each other nor descriptions to make queries from", site)
	}
	return eval.WriteQueries(out, queries)
}
