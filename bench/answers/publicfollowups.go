package answers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval/eval"
)

// followUp is a conversation about a public site. The pages that answer the
// second question are joined by "|".
type followUp struct {
	Site     string `json:"site"`
	First    string `json:"first"`
	Follow   string `json:"follow"`
	Outright string `json:"outright"`
	Path     string `json:"path"`
	// Language is the folder of a translation.
	Language string `json:"language"`

	other string // a question about another page of the site
}

// turns is a way to ask the second question.
type turns struct {
	name   string
	first  func(c *followUp) string // "" for none
	second func(c *followUp) string
	model  func(c *followUp) assistant.Model
	// atLeast is the name of the way that this one is compared with, and by how
	// much its recall may be less.
	atLeast string
	less    float64
}

func publicTurns() []turns {
	first := func(c *followUp) string { return c.First }
	follow := func(c *followUp) string { return c.Follow }
	outright := func(c *followUp) string { return c.Outright }
	says := func(text func(*followUp) string) func(*followUp) assistant.Model {
		return func(c *followUp) assistant.Model { return rewriter{text: text(c)} }
	}
	const alone, none = "asked outright", "follow-up, no model"
	return []turns{
		{name: alone, second: outright},
		{name: none, first: first, second: follow, atLeast: alone, less: .03},
		{name: "follow-up, rewritten perfectly", first: first, second: follow, model: says(outright), atLeast: alone, less: .03},
		{name: "follow-up, rewriter repeats the first question", first: first, second: follow, model: says(first), atLeast: none},
		{name: "follow-up, rewriter writes about something else", first: first, second: follow, model: says(func(c *followUp) string { return c.other }), atLeast: none},
		{name: "follow-up, rewriter apologizes", first: first, second: follow, model: says(func(*followUp) string { return "I'm sorry, but I can't help with that request." }), atLeast: none},
		{name: "follow-up, rewriter knows only English", first: first, second: follow, model: says(func(c *followUp) string {
			if c.Language == "" {
				return c.Outright
			}
			return "How can I do that with the part that was mentioned before?"
		}), atLeast: none},
		{name: "follow-up, rewriter is down", first: first, second: follow, model: func(*followUp) assistant.Model { return rewriter{err: errDown} }, atLeast: none},
		{name: "complete question after another topic", first: func(c *followUp) string { return c.other }, second: outright, atLeast: alone, less: .03},
		{name: "follow-up without its conversation", second: follow},
	}
}

// publicFollowUps measures the share of second questions that find their page
// among the pages of the five passages.
func (s *suite) publicFollowUps(ctx context.Context, out io.Writer, sites map[string]*publicSite, worst bool) error {
	all, err := readPublic[followUp]("followups.jsonl")
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(c followUp) bool { return sites[c.Site] == nil })
	for i := range all {
		c := &all[i]
		for j := range all { // the next one about another page, around the end
			o := &all[(i+j+1)%len(all)]
			if o.Site == c.Site && o.Language == c.Language && o.Path != c.Path {
				c.other = o.Outright
				break
			}
		}
	}
	groups := []struct {
		name string
		in   func(c *followUp) bool
	}{
		{"five projects", func(c *followUp) bool { return sites[c.Site].Part == 1 }},
		{"six other projects", func(c *followUp) bool { return sites[c.Site].Part == 2 && c.Language == "" }},
		{"eight projects, asked once", func(c *followUp) bool { return sites[c.Site].Part == 6 }},
		{"Spanish, Japanese, Chinese", func(c *followUp) bool { return c.Language != "" }},
	}
	s.table = tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	var misses []string
	for _, g := range groups {
		var cs []*followUp
		for i := range all {
			if g.in(&all[i]) {
				cs = append(cs, &all[i])
			}
		}
		if len(cs) == 0 {
			continue
		}
		fmt.Fprintf(s.table, "\nFOLLOW-UPS, %d conversations, %s\tRECALL@5\tTARGET\t\n", len(cs), g.name)
		recalls := make(map[string]float64)
		for _, w := range publicTurns() {
			found := 0
			for _, c := range cs {
				ok, searched, err := w.finds(ctx, sites[c.Site], c)
				if err != nil {
					return err
				}
				if ok {
					found++
				} else if worst {
					misses = append(misses, fmt.Sprintf("%s: %s: %q after %q: searched for %s, not found %s", c.Site, w.name, w.second(c), c.First, searched, c.Path))
				}
			}
			recall := float64(found) / float64(len(cs))
			recalls[w.name] = recall
			target, met := "", true
			if w.atLeast != "" {
				least := recalls[w.atLeast] - w.less
				target, met = fmt.Sprintf("≥ %.3f", least), recall >= least-1e-9
			}
			s.row(w.name, fmt.Sprintf("%.3f", recall), target, met)
		}
	}
	s.table.Flush()
	for _, m := range misses {
		fmt.Fprintln(out, m)
	}
	return nil
}

// quotesOfFollowUps measures without a model whether the answer to a second
// question holds what answers it: of the conversations whose complete question is
// one of the marked questions.
func (s *suite) quotesOfFollowUps(ctx context.Context, out io.Writer, sites map[string]*publicSite, worst bool) error {
	questions, err := readPublic[question]("questions.jsonl")
	if err != nil {
		return err
	}
	conversations, err := readPublic[followUp]("followups.jsonl")
	if err != nil {
		return err
	}
	var ways [2]quoteTally
	var misses []string
	for i := range conversations {
		c := &conversations[i]
		at := slices.IndexFunc(questions, func(q question) bool { return q.Site == c.Site && q.Question == c.Outright })
		if at < 0 || sites[c.Site] == nil {
			continue
		}
		site := sites[c.Site]
		targets, err := site.targets(&questions[at])
		if err != nil {
			return err
		}
		var points [len(ways)]int
		for j, w := range publicTurns()[:len(ways)] { // outright, and as a follow-up
			in, err := w.input(ctx, site, c)
			if err != nil {
				return err
			}
			got := &sink{}
			res, err := site.assistant(nil).Reply(ctx, in, got)
			if err != nil {
				return fmt.Errorf("asking %q: %w", w.second(c), err)
			}
			a := parseAnswer(got.answer())
			points[j] = a.points(targets, res.Answered)
			ways[j].add(&a, points[j], res.Answered, true)
		}
		if worst && points[1] < points[0] {
			misses = append(misses, fmt.Sprintf("%s: %q after %q: %d points, %d asked outright", c.Site, c.Follow, c.First, points[1], points[0]))
		}
	}
	n := float64(ways[0].questions)
	if n == 0 {
		return nil
	}
	s.table = tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(s.table, "\nQUOTES OF FOLLOW-UPS, %.0f conversations, no model\tMEASURED\tTARGET\t\n", n)
	for i, name := range []string{"asked outright", "follow-up"} {
		t := &ways[i]
		s.row(name+": full, half, link, wrong", fmt.Sprint(t.byPoints[3], t.byPoints[2], t.byPoints[1], t.byPoints[0]), "", true)
		s.row(name+": yes, yes that is wrong, false no", fmt.Sprint(t.yes, t.wrongYes, t.falseNo), "", true)
	}
	s.share("full, as a follow-up", float64(ways[1].byPoints[3])/n, float64(ways[0].byPoints[3])/n-.03)
	s.share("full or half, as a follow-up", float64(ways[1].byPoints[3]+ways[1].byPoints[2])/n, float64(ways[0].byPoints[3]+ways[0].byPoints[2])/n-.03)
	s.table.Flush()
	for _, m := range misses {
		fmt.Fprintln(out, m)
	}
	return nil
}

// input is the request of the second question. The first one was answered without
// a model.
func (w *turns) input(ctx context.Context, site *publicSite, c *followUp) (*assistant.Input, error) {
	in := asking(w.second(c))
	if w.first != nil {
		first := &sink{}
		res, err := site.assistant(nil).Reply(ctx, site.asking(c, w.first(c)), first)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("answering %q", w.first(c)), err)
		}
		in = asking(w.second(c), reply.Message{Role: reply.User, Text: w.first(c)},
			reply.Message{Role: reply.Assistant, Text: res.Answer, Sources: first.sources})
	}
	in.Filter.Language = c.Language
	return in, nil
}

func (w *turns) finds(ctx context.Context, site *publicSite, c *followUp) (ok bool, searched string, err error) {
	in, err := w.input(ctx, site, c)
	if err != nil {
		return false, "", err
	}
	a := site.assistant(nil)
	if w.model != nil {
		a.Model = w.model(c)
	}
	e, err := a.Explain(ctx, in)
	if err != nil {
		return false, "", err
	}
	for _, p := range e.Passages[:min(5, len(e.Passages))] {
		page := eval.Page(strings.TrimPrefix(p.URL, site.url()))
		if slices.ContainsFunc(strings.Split(c.Path, "|"), func(want string) bool { return eval.Page(want) == page }) {
			return true, "", nil
		}
	}
	return false, fmt.Sprintf("%q and %q", e.Query, e.Other), nil
}

func (s *publicSite) asking(c *followUp, question string) *assistant.Input {
	in := asking(question)
	in.Filter.Language = c.Language
	return in
}
