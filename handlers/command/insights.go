package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/short"
)

func insightsCommand(t *target) *cobra.Command {
	var unanswered, searches, feedback, missing bool
	var days int
	var site string
	cmd := &cobra.Command{
		Use: "insights SITE", Short: "Shows what readers look for and don't find", Args: takes(0, 1),
		Long: `Shows the numbers of the last days, the questions that the pages did not answer,
the searches that found nothing, and the missing pages that were asked for. With
--unanswered, --searches, --feedback or --missing it shows only these. A site
named backup, export or erase, like the commands below, is written as a flag:
--site backup.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && site == "":
				site = args[0]
			case len(args) == 1:
				return fmt.Errorf("two sites are named, %s and %s; write one of them", args[0], site)
			case site == "":
				return errors.New("name the site: caddy docs insights SITE")
			}
			r, err := t.report(cmd.Context(), site, days)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			all := !unanswered && !searches && !feedback && !missing
			part := map[string]any{}
			if unanswered {
				part["unanswered"], part["unanswered_pages"] = r.Unanswered, r.UnansweredPages
			}
			if searches {
				part["top_searches"], part["no_result"], part["weak"], part["low_clicks"] = r.Top, r.NoResult, r.Weak, r.LowClicks
			}
			if feedback {
				part["feedback"] = r.Feedback
			}
			if missing {
				part["missing"] = r.Missing
			}
			switch {
			case t.json && all:
				return printJSON(out, r)
			case t.json:
				return printJSON(out, part)
			case all:
				printNumbers(out, r)
			}
			if unanswered || all && len(r.Unanswered) > 0 {
				table(out, "\nUNANSWERED\tASKED\tNEAREST PAGE\tLAST", r.Unanswered, func(g insights.Gap) []any {
					return []any{short.Excerpt(g.Wording, 70), g.Asked, strings.Join(g.Pages[:min(len(g.Pages), 1)], ""), g.Last.Format(time.DateOnly)}
				})
			}
			for _, list := range []struct {
				title string
				rows  []insights.QueryStats
			}{{"NO RESULT", r.NoResult}, {"WEAK", r.Weak}, {"FEW CLICKS", r.LowClicks}, {"TOP", r.Top}} {
				if searches || all && len(list.rows) > 0 {
					table(out, "\n"+list.title+"\tSEARCHES\tNO RESULT\tCLICK RATE\tLAST", list.rows, func(q insights.QueryStats) []any {
						return []any{short.Excerpt(q.Query, 70), q.Searches, q.NoResult, rate(q.ClickRate), q.Last}
					})
				}
			}
			if feedback || all && len(r.Feedback) > 0 {
				table(out, "\nFEEDBACK\tSTATE\tQUESTION OR PAGE\tCOMMENT", r.Feedback, func(f insights.Feedback) []any {
					return []any{f.Rating, f.State, short.Excerpt(cmp.Or(f.Question, f.Page), 60), short.Excerpt(f.Comment, 60)}
				})
			}
			if missing || all && len(r.Missing) > 0 {
				table(out, "\nMISSING\tREQUESTS\tPEOPLE\tLINKED FROM\tLED TO\tLAST", r.Missing, func(m insights.MissingPage) []any {
					from := ""
					if len(m.From) > 0 {
						from = m.From[0].Name
					}
					return []any{short.Excerpt(cmp.Or(m.Path, furtherAddresses), 60), m.Requests, m.People, short.Excerpt(from, 40), short.Excerpt(m.To, 40), m.Last.Format(time.DateOnly)}
				})
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&days, "days", 30, "How many days, today included, 1 to 400")
	f.BoolVar(&unanswered, "unanswered", false, "Only the questions that were not answered")
	f.BoolVar(&searches, "searches", false, "Only the searches")
	f.BoolVar(&feedback, "feedback", false, "Only the feedback")
	f.BoolVar(&missing, "missing", false, "Only the missing pages that were asked for")
	f.StringVar(&site, "site", "", "The site, if it has the name of a command below")
	cmd.AddCommand(insightsBackupCommand(t), insightsExportCommand(t), insightsEraseCommand(t))
	return cmd
}

// furtherAddresses are those beyond what is counted of a day.
const furtherAddresses = "(other URLs)"

func reportCommand(t *target) *cobra.Command {
	var days int
	cmd := &cobra.Command{
		Use: "report SITE", Short: "Prints a summary of the last days as Markdown, for an email", Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := t.report(cmd.Context(), args[0], days)
			if err != nil {
				return err
			}
			return t.print(cmd.OutOrStdout(), r, func() { writeReport(cmd.OutOrStdout(), r) })
		},
	}
	cmd.Flags().IntVar(&days, "days", 7, "How many days, today included, 1 to 400")
	return cmd
}

func (t *target) report(ctx context.Context, site string, days int) (*admin.Report, error) {
	r := new(admin.Report)
	return r, t.call(ctx, http.MethodGet, path("insights", site)+"?days="+strconv.Itoa(days), nil, r)
}

// oneArgument takes one argument. Without one, the command's name may have been
// meant as that of a site.
func oneArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("write: %s; for the numbers of a site of this name, write: caddy docs insights --site %s", cmd.UseLine(), cmd.Name())
	}
	return takes(1, 1)(cmd, args)
}

func numbers(o *insights.Overview) [][3]string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	return [][3]string{
		{"searches", n(o.Searches), n(o.Before.Searches)},
		{"without a result", rate(o.NoResultRate()), rate(o.Before.NoResultRate())},
		{"click rate", rate(o.ClickRate()), rate(o.Before.ClickRate())},
		{"questions", n(o.Replies), n(o.Before.Replies)},
		{"answered", rate(o.AnsweredRate()), rate(o.Before.AnsweredRate())},
		{"failed", n(o.Failed), n(o.Before.Failed)},
		{"thumbs up / down", fmt.Sprintf("%d / %d", o.Up, o.Down), fmt.Sprintf("%d / %d", o.Before.Up, o.Before.Down)},
	}
}

// rate formats a share; nothing to divide by is not 0.
func rate(r *float64) string {
	if r == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*(*r))
}

func printNumbers(out io.Writer, r *admin.Report) {
	table(out, fmt.Sprintf("%s TO %s\tNOW\tBEFORE", r.From, r.To), numbers(&r.Overview), func(row [3]string) []any {
		return []any{row[0], row[1], row[2]}
	})
	if s := r.Status; s != nil && s.Error != "" {
		fmt.Fprintf(out, "NOT STORED  %s\n", printable(s.Error))
	}
}

func insightsBackupCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copies the insights to a file, while the server runs", Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			uri := "/docs/backup?file=" + url.QueryEscape(file)
			if err := t.call(cmd.Context(), http.MethodPost, uri, nil, nil); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "written:", file)
			return nil
		},
	}
}

func insightsExportCommand(t *target) *cobra.Command {
	var days int
	cmd := &cobra.Command{
		Use: "export SITE", Short: "Prints the recorded events as lines of JSON", Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			w := bufio.NewWriter(cmd.OutOrStdout())
			events, err := t.open(cmd.Context(), http.MethodGet, path("export", args[0])+"?days="+strconv.Itoa(days), nil)
			if err != nil {
				return err
			}
			defer events.Close()
			if _, err := io.Copy(w, events); err != nil {
				return fmt.Errorf("the export broke off: %w", err)
			}
			return w.Flush()
		},
	}
	cmd.Flags().IntVar(&days, "days", 30, "How many days, today included, 1 to 400")
	return cmd
}

func insightsEraseCommand(t *target) *cobra.Command {
	var e insights.Erasure
	var day string
	cmd := &cobra.Command{
		Use: "erase SITE", Short: "Erases a conversation, everything that contains a text, or a day", Args: oneArgument,
		Long: `Erases what was recorded of a conversation (--thread), every query, question and
comment that contains a text, in upper or lower case (--text), or everything of
a day, UTC (--day). Erased conversations are also deleted from the stored threads.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if day != "" {
				d, err := insights.ParseDate(day)
				if err != nil {
					return fmt.Errorf("--day: %w", err)
				}
				e.Day = &d
			}
			if err := e.Check(); err != nil {
				return err
			}
			return show(cmd, t, http.MethodDelete, path("insights", args[0]), e, func(out io.Writer, done insights.Erased) {
				fmt.Fprintf(out, "%s erased, and the texts of %s\n", short.Count(int(done.Rows), "row"), short.Count(len(done.Threads), "conversation"))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&e.Thread, "thread", "", "The ID of a conversation")
	f.StringVar(&e.Text, "text", "", "A text of at least three characters")
	f.StringVar(&day, "day", "", "A day, like 2026-11-22")
	return cmd
}
