package answers

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// ending is an answer of a model, in which {link} is the URL of a passage, and
// what answered may be for it.
type ending struct {
	Language, Text string
	Answered       []string
}

//go:embed endings.jsonl
var endings string

func readEndings() ([]ending, error) {
	var out []ending
	for line := range strings.Lines(endings) {
		var e ending
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("reading ending %d: %w", len(out)+1, err)
		}
		out = append(out, e)
	}
	return out, nil
}

// says is a model that answers with a text, and links to the first passage.
type says string

func (says) Name() string { return "says" }

func (text says) Stream(_ context.Context, p *assistant.Prompt, each func(*assistant.Delta) error) (*assistant.Completion, error) {
	link := siteURL + "/keys"
	for _, m := range p.Messages {
		if found := addresses.FindStringSubmatch(m.Content); found != nil {
			link = found[1]
			break
		}
	}
	for _, r := range strings.ReplaceAll(string(text), "{link}", link) {
		if err := each(&assistant.Delta{Text: reply.Escape(nil, string(r))}); err != nil {
			return nil, err
		}
	}
	return &assistant.Completion{Model: "says", Reason: "stop"}, nil
}

// judged measures how often answered is right for the endings of models. The
// rules were made with every other ending; the rest is held out.
func (s *suite) judged(ctx context.Context, out io.Writer, worst bool) error {
	all, err := readEndings()
	if err != nil {
		return err
	}
	s.table = tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(s.table, "\nENDINGS, %d in 10 languages\tANSWERED IS RIGHT\tTARGET\t\n", len(all))
	var right, count [2]int
	var wrong []string
	for i, e := range all {
		half := i % 2
		count[half]++
		o := &sink{}
		res, err := s.assistant(says(e.Text)).Reply(ctx, asking("How do I revoke a key?"), o)
		if err != nil {
			return err
		}
		marked := strings.Contains(strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(o.answer())), "no-answer")
		if slices.Contains(e.Answered, res.Answered) && !marked {
			right[half]++
		} else if half == 0 {
			wrong = append(wrong, fmt.Sprintf("%s for %q, shown as %q", res.Answered, e.Text, o.answer()))
		}
	}
	for half, name := range []string{"the rules were made with", "held out"} {
		share := float64(right[half]) / float64(count[half])
		s.row(name, fmt.Sprintf("%d of %d: %.3f", right[half], count[half], share), "≥ 0.950", share >= .95)
	}
	s.table.Flush()
	if worst {
		fmt.Fprintln(out, "\n"+strings.Join(wrong, "\n"))
	}
	return nil
}
