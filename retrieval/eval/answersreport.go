package eval

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Summary sums up results, those of a group or all.
type Summary struct {
	Questions int `json:"questions"`
	// Passed is the share of questions whose answer breaks no rule.
	Passed float64 `json:"passed"`
	// Judged is the number of answers with verdicts, Faithful and Complete the
	// means of these (yes is 1, partly .5), Agreement the share of answers on which
	// the judge's runs agree.
	Judged    int     `json:"judged,omitempty"`
	Faithful  float64 `json:"faithful,omitempty"`
	Complete  float64 `json:"complete,omitempty"`
	Agreement float64 `json:"agreement,omitempty"`
	// Characters and FirstToken (in ms) are medians, FirstTokenP95 is a percentile.
	Characters    int   `json:"characters"`
	FirstToken    int64 `json:"firstTokenMilliseconds"`
	FirstTokenP95 int64 `json:"firstTokenP95Milliseconds"`
	// Tokens are those of all replies, Judging those of the judge.
	Tokens  Tokens `json:"tokens"`
	Judging Tokens `json:"judging,omitzero"`
	// Cost is what the replies' tokens cost, 0 without prices.
	Cost float64 `json:"cost,omitempty"`
}

// AnswersReport is what an evaluation of answers found.
type AnswersReport struct {
	All    Summary            `json:"all"`
	Groups map[string]Summary `json:"groups,omitempty"`
	// Failed are the results that break rules.
	Failed []Result `json:"failed,omitempty"`
	// Difference is that of the share passed to a baseline's.
	Difference *Difference `json:"difference,omitempty"`
}

// ReportAnswers sums up results, and compares them with a baseline's, if there is
// one. prices are those of a million tokens: input, output and cached input.
func ReportAnswers(results, baseline []Result, prices [3]float64) AnswersReport {
	r := AnswersReport{All: sum(results, prices), Groups: map[string]Summary{}}
	groups := map[string][]Result{}
	for i := range results {
		groups[results[i].Question.Group] = append(groups[results[i].Question.Group], results[i])
		if len(results[i].Failures) > 0 {
			r.Failed = append(r.Failed, results[i])
		}
	}
	if len(groups) > 1 {
		for name, of := range groups {
			r.Groups[name] = sum(of, prices)
		}
	}
	if baseline != nil {
		d := compare(passed(results), passed(baseline))
		r.Difference = &d
	}
	return r
}

func passed(results []Result) map[string]float64 {
	out := map[string]float64{}
	for i := range results {
		out[results[i].Question.ID] = 0
		if len(results[i].Failures) == 0 {
			out[results[i].Question.ID] = 1
		}
	}
	return out
}

func sum(results []Result, prices [3]float64) (s Summary) {
	var lengths []int
	var times []int64
	agreed := 0
	for i := range results {
		r := &results[i]
		s.Tokens.Add(r.Reply.Tokens)
		s.Judging.Add(r.Judging)
		if len(r.Failures) == 0 {
			s.Passed++
		}
		if r.Error == "" {
			lengths, times = append(lengths, utf8.RuneCountInString(r.Reply.Answer)), append(times, r.Reply.FirstToken)
		}
		if len(r.Verdicts) < judgeRuns {
			continue
		}
		s.Judged++
		agree := true
		for _, v := range r.Verdicts {
			s.Faithful += grades[v.Faithful] / judgeRuns
			s.Complete += grades[v.Complete] / judgeRuns
			agree = agree && v.Faithful == r.Verdicts[0].Faithful && v.Complete == r.Verdicts[0].Complete
		}
		if agree {
			agreed++
		}
	}
	s.Questions = len(results)
	s.Passed /= float64(max(1, s.Questions))
	n := float64(max(1, s.Judged))
	s.Faithful, s.Complete, s.Agreement = s.Faithful/n, s.Complete/n, float64(agreed)/n
	if len(times) > 0 {
		slices.Sort(lengths)
		slices.Sort(times)
		s.Characters, s.FirstToken, s.FirstTokenP95 = lengths[len(lengths)/2], times[len(times)/2], times[len(times)*95/100]
	}
	for i, tokens := range []int{s.Tokens.Input - s.Tokens.Cached, s.Tokens.Output, s.Tokens.Cached} {
		s.Cost += float64(tokens) * prices[i] / 1e6
	}
	return s
}

// Write writes a report as a table, with the failures of at most so many answers.
func (r *AnswersReport) Write(out io.Writer, most int) {
	const heads = "questions\tpassed\tfaithful\tcomplete\tagreement\tcharacters\tfirst token, p50\tp95\ttokens in\tcached\tout\tcost"
	writeGroups(out, heads, r.Groups, r.All, func(s Summary) string {
		judged := func(share float64) string {
			if s.Judged == 0 {
				return "-"
			}
			return fmt.Sprintf("%.3f", share)
		}
		return fmt.Sprintf("%d\t%.3f\t%s\t%s\t%s\t%d\t%d ms\t%d ms\t%d\t%d\t%d\t%.4f", s.Questions, s.Passed,
			judged(s.Faithful), judged(s.Complete), judged(s.Agreement), s.Characters, s.FirstToken, s.FirstTokenP95,
			s.Tokens.Input, s.Tokens.Cached, s.Tokens.Output, s.Cost)
	})
	if r.Difference != nil {
		r.Difference.Write(out, "passed", 3)
	}
	for i, f := range r.Failed[:min(most, len(r.Failed))] {
		if i == 0 {
			fmt.Fprintln(out, "\nFailed:")
		}
		fmt.Fprintf(out, "  %s: %s\n        %s\n", f.Question.ID, f.Question.Question, strings.Join(f.Failures, "\n        "))
	}
}

// writeGroups writes a table with a line for each group, and one for all.
func writeGroups[T any](out io.Writer, heads string, groups map[string]T, all T, cells func(T) string) {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "group\t"+heads+"\t")
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintln(w, cmp.Or(g, "-")+"\t"+cells(groups[g])+"\t")
	}
	fmt.Fprintln(w, "all\t"+cells(all)+"\t")
	w.Flush()
}

// WriteJUnit writes results for programs that read reports of tests.
func WriteJUnit(out io.Writer, name string, results []Result) error {
	type failure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type test struct {
		Name    string   `xml:"name,attr"`
		Class   string   `xml:"classname,attr"`
		Failure *failure `xml:"failure"`
	}
	suite := struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Cases    []test   `xml:"testcase"`
	}{Name: name, Tests: len(results)}
	for i := range results {
		r := &results[i]
		t := test{Name: r.Question.ID + ": " + r.Question.Question, Class: cmp.Or(r.Question.Group, name)}
		if len(r.Failures) > 0 {
			suite.Failures++
			t.Failure = &failure{r.Failures[0], strings.Join(r.Failures, "\n") + "\n\n" + r.Reply.Answer}
		}
		suite.Cases = append(suite.Cases, t)
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	return e.Encode(suite)
}
