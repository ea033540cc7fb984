package answers

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// promptLinks match the links of passages.
var promptLinks = regexp.MustCompile(`\[([^\[\]]*)\]\(/[^()\s]*\)`)

// prompts measures what a model is given for the questions: whether the page
// that answers is among the passages, and what answers is in them.
func (s *suite) prompts(ctx context.Context, out io.Writer, sites map[string]*publicSite) error {
	questions, err := readPublic[question]("questions.jsonl")
	if err != nil {
		return err
	}
	asked, page, passage, tokens, passages, links := 0, 0, 0, 0, 0, 0
	for i := range questions {
		q := &questions[i]
		site := sites[q.Site]
		if site == nil {
			continue
		}
		targets, err := site.targets(q)
		if err != nil {
			return err
		}
		if len(targets) == 0 {
			continue
		}
		e, err := site.assistant(rewriter{err: errDown}).Explain(ctx, asking(q.Question))
		if err != nil {
			return err
		}
		asked++
		passages += len(e.Passages)
		for _, p := range e.Passages {
			links += len(promptLinks.FindAllString(p.Text, -1))
		}
		for _, m := range e.Prompt {
			n, err := vocabulary.Count(m.Content)
			if err != nil {
				return err
			}
			tokens += n
		}
		on := func(t target) bool {
			for _, p := range e.Passages {
				if onPage(p.URL, t.document) {
					return true
				}
			}
			return false
		}
		in := func(t target) bool {
			var text strings.Builder
			for _, p := range e.Passages {
				if onPage(p.URL, t.document) {
					text.WriteString(promptLinks.ReplaceAllString(p.Text, "$1") + "\n\n")
				}
			}
			return t.in(text.String())
		}
		if slices.ContainsFunc(targets, on) {
			page++
		}
		if slices.ContainsFunc(targets, in) {
			passage++
		}
	}
	if asked == 0 {
		return nil
	}
	s.table = tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(s.table, "\nPROMPTS, %d questions that the sites answer\tMEASURED\tTARGET\t\n", asked)
	n := float64(asked)
	s.share("the answering page is in the prompt", float64(page)/n, .92)
	s.share("the answer is in the prompt", float64(passage)/n, .88)
	s.row("passages, links in them, tokens of the prompt", fmt.Sprintf("%.1f, %.1f, %.0f", float64(passages)/n, float64(links)/n, float64(tokens)/n), "", true)
	return s.table.Flush()
}
