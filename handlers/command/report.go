package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/insights"
)

// reportRows bounds the lists of a report.
const reportRows = 20

// writeReport writes a report as Markdown, fit for a mail.
func writeReport(w io.Writer, r *app.InsightsReport) {
	o := r.Overview
	fmt.Fprintf(w, "# %s: %s to %s\n\n", md(r.Site), r.From, r.To)
	fmt.Fprintln(w, "| | this period | before |\n|---|---|---|")
	for _, row := range numbers(&o) {
		fmt.Fprintf(w, "| %s | %s | %s |\n", row[0], row[1], row[2])
	}
	if t := o.FirstToken; t != nil {
		fmt.Fprintf(w, "| first token, p50 / p95 | %.1f s / %.1f s | |\n", t.P50/1000, t.P95/1000)
	}

	heading := func(title string, n int) bool {
		if n > 0 {
			fmt.Fprintf(w, "\n## %s\n\n", title)
		}
		return n > 0
	}
	if heading("Pages to write", len(r.UnansweredPages)) {
		for _, p := range first(r.UnansweredPages) {
			fmt.Fprintf(w, "- %s: %d unanswered", md(cmp.Or(p.Page, "(no page is near)")), p.Asked)
			if len(p.Wordings) > 0 {
				fmt.Fprintf(w, ", such as “%s”", md(p.Wordings[0]))
			}
			fmt.Fprintln(w)
		}
	}
	if heading("Unanswered questions", len(r.Unanswered)) {
		for _, g := range first(r.Unanswered) {
			fmt.Fprintf(w, "- %d × %s", g.Asked, md(g.Wording))
			if len(g.Pages) > 0 {
				fmt.Fprintf(w, " (nearest page: %s)", md(g.Pages[0]))
			}
			fmt.Fprintln(w)
		}
	}
	if heading("Searches without a result", len(r.NoResult)) {
		for _, q := range first(r.NoResult) {
			fmt.Fprintf(w, "- %d × %s\n", q.NoResult, md(q.Query))
		}
	}
	if heading("Searches with few clicks", len(r.LowClicks)) {
		for _, q := range first(r.LowClicks) {
			fmt.Fprintf(w, "- %s: %d clicks in %d searches\n", md(q.Query), q.Clicked, q.Tracked)
		}
	}
	down := slices.DeleteFunc(slices.Clone(r.Feedback), func(f insights.Feedback) bool { return f.Rating != "down" || f.State != insights.New })
	if heading("Thumbs down", len(down)) {
		for _, f := range down {
			fmt.Fprintf(w, "- %s", md(cmp.Or(f.Question, f.Page, f.Thread)))
			if f.Comment != "" {
				fmt.Fprintf(w, ": “%s”", md(f.Comment))
			}
			fmt.Fprintln(w)
		}
	}
	if heading("Slowest answers", len(r.Slowest)) {
		for _, s := range r.Slowest {
			fmt.Fprintf(w, "- %.1f s to the first token: %s\n", float64(s.FirstToken)/1000, md(cmp.Or(s.Question, s.Thread)))
		}
	}
	if o.Searches+o.Replies == 0 {
		fmt.Fprintln(w, "\nNothing was searched for or asked.")
	}
}

func first[T any](list []T) []T { return list[:min(len(list), reportRows)] }

var mdEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "!", `\!`, "~", `\~`,
)

// md writes a stranger's text on one line, without Markdown, HTML and control
// characters. A zero-width space keeps mail programs from linking URLs.
func md(s string) string {
	s = excerpt(printable(s), 200)
	return strings.ReplaceAll(mdEscapes.Replace(s), "://", ":\u200b//")
}
