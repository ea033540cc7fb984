package command

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// printExplanation shows the query, passages and prompt of an answer.
func printExplanation(out io.Writer, e *assistant.Explanation) {
	fmt.Fprintf(out, "searched for  %s\n", e.Query)
	if e.Other != "" {
		fmt.Fprintf(out, "and for       %s\n", e.Other)
	}
	if len(e.Boost) > 0 {
		fmt.Fprintf(out, "preferred     %s\n", strings.Join(e.Boost, ", "))
	}
	fmt.Fprintf(out, "language      %s\nanswered      %s, judging by the passages\n", e.Language, e.Answered)
	fmt.Fprintf(out, "\nPassages, %d of at most %d tokens\n", e.Tokens, e.Budget)
	for _, p := range e.Passages {
		fmt.Fprintf(out, "  %-4s %.2f  %5d tokens  %s\n                          %s\n", p.ID, p.Score, p.Tokens, printable(p.Title), cmp.Or(printable(p.URL), "-"))
	}
	if len(e.Prompt) == 0 {
		fmt.Fprintln(out, "\nThere is no model: the answer quotes these passages.")
		return
	}
	for _, m := range e.Prompt {
		fmt.Fprintf(out, "\n--- %s\n%s\n", m.Role, m.Content)
	}
}
