package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/short"
)

// reportRows bounds the lists of a report.
const reportRows = 20

// writeReport writes a report as Markdown, fit for a mail.
func writeReport(w io.Writer, r *admin.Report) {
	o := r.Overview
	fmt.Fprintf(w, "# %s: %s to %s\n\n", md(r.Site), r.From, r.To)
	fmt.Fprintln(w, "| | this period | before |\n|---|---|---|")
	for _, row := range numbers(&o) {
		fmt.Fprintf(w, "| %s | %s | %s |\n", row[0], row[1], row[2])
	}
	if t := o.FirstToken; t != nil {
		fmt.Fprintf(w, "| first token, p50 / p95 | %s / %s | |\n", lasted(t.P50), lasted(t.P95))
	}

	if r.Quotes && o.Replies > 0 {
		fmt.Fprintln(w, "\nWithout a model, answers quote the pages, and most count as answered partly, also those that help.")
	}
	section(w, "Pages to write", r.UnansweredPages, func(p insights.GapPage) string {
		line := fmt.Sprintf("%s: %d unanswered", md(cmp.Or(p.Page, "(no page is close)")), p.Asked)
		if len(p.Wordings) > 0 {
			line += fmt.Sprintf(", such as “%s”", md(p.Wordings[0]))
		}
		return line
	})
	section(w, "Unanswered questions", r.Unanswered, func(g insights.Gap) string {
		line := fmt.Sprintf("%d × %s", g.Asked, md(g.Wording))
		if len(g.Pages) > 0 {
			line += fmt.Sprintf(" (nearest page: %s)", md(g.Pages[0]))
		}
		return line
	})
	section(w, "Searches without a result", r.NoResult, func(q insights.QueryStats) string {
		return fmt.Sprintf("%d × %s", q.NoResult, md(q.Query))
	})
	section(w, "Searches with few clicks", r.LowClicks, func(q insights.QueryStats) string {
		return fmt.Sprintf("%s: %d clicks in %d searches", md(q.Query), q.Clicked, q.Tracked)
	})
	down := slices.DeleteFunc(slices.Clone(r.Feedback), func(f insights.Feedback) bool { return f.Rating != "down" || f.State != insights.New })
	section(w, "Thumbs down", down, func(f insights.Feedback) string {
		line := md(cmp.Or(f.Question, f.Page, f.Thread))
		if f.Comment != "" {
			line += fmt.Sprintf(": “%s”", md(f.Comment))
		}
		if len(f.Reasons) > 0 {
			line += fmt.Sprintf(" (%s)", md(strings.Join(f.Reasons, ", ")))
		}
		return line
	})
	section(w, "Missing pages", r.Missing, func(m insights.MissingPage) string {
		line := fmt.Sprintf("%d × %s", m.Requests, md(cmp.Or(m.Path, furtherAddresses)))
		if len(m.From) > 0 {
			line += ", linked from " + md(m.From[0].Name)
		}
		if m.To != "" {
			line += fmt.Sprintf(" (led to: %s)", md(m.To))
		}
		return line
	})
	slow := slices.DeleteFunc(slices.Clone(r.Slowest), func(t insights.Turn) bool { return t.FirstToken < slowAnswer })
	section(w, "Slowest answers", slow, func(s insights.Turn) string {
		return fmt.Sprintf("%s to the first token: %s", lasted(float64(s.FirstToken)), md(cmp.Or(s.Question, s.Thread)))
	})
	if o.Searches+o.Replies == 0 && len(r.Missing) == 0 {
		fmt.Fprintln(w, "\nNothing was searched for or asked.")
	}
}

// section writes the beginning of a list, unless it is empty.
func section[T any](w io.Writer, title string, list []T, line func(T) string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## %s\n\n", title)
	for _, v := range list[:min(len(list), reportRows)] {
		fmt.Fprintln(w, "- "+line(v))
	}
}

// slowAnswer is the least time to the first token, in ms, of an answer that a
// report lists as slow.
const slowAnswer = 1000

func lasted(ms float64) string {
	if ms < 100 {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

var mdEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "!", `\!`, "~", `\~`,
)

// md writes a stranger's text on one line, without Markdown, HTML and control
// characters. A zero-width space keeps mail programs from linking URLs.
func md(s string) string {
	s = short.Excerpt(printable(s), 200)
	return strings.ReplaceAll(mdEscapes.Replace(s), "://", ":\u200b//")
}
