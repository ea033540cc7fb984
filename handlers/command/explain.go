package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/handlers/app"
)

// explain shows the query, passages and prompt of an answer.
func explain(ctx context.Context, t *target, site string, body []byte, out io.Writer) error {
	e, err := ask(ctx, t, http.MethodPost, path("explain", site), body, t.searchable(ctx, site), func(a *app.App) (*assistant.Explanation, error) {
		return a.ExplainSite(ctx, site, body)
	})
	if err != nil {
		return err
	}
	if t.json {
		return printJSON(out, e)
	}
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
		return nil
	}
	for _, m := range e.Prompt {
		fmt.Fprintf(out, "\n--- %s\n%s\n", m.Role, m.Content)
	}
	return nil
}
