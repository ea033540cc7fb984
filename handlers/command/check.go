package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/retrieval/eval"
	"github.com/caddy-docs/caddy-docs/retrieval/links"
	"github.com/caddy-docs/caddy-docs/short"
)

func checkCommand(t *target) *cobra.Command {
	var junit string
	cmd := &cobra.Command{
		Use: "check SITE [--junit F]", Short: "Finds a site's links to pages and sections that don't exist", Args: takes(1, 1),
		Long: `Finds the links of a site's pages that lead to pages or sections of the same site
that don't exist, and prints each with its file and line. Targets that are not in
the index are requested from the site, inside the process. Those without a clear
result are counted, not reported as broken. Links to other sites and to files
other than pages are not checked.

The exit status is 1 if a link is broken, for use in CI.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var report links.Report
			if err := t.call(cmd.Context(), http.MethodGet, path("check", args[0]), nil, &report); err != nil {
				return err
			}
			if junit != "" {
				if err := writeJUnit(junit, args[0], checkResults(&report)); err != nil {
					return err
				}
			}
			out := cmd.OutOrStdout()
			if err := t.print(out, report, func() { printCheck(out, &report) }); err != nil {
				return err
			}
			if n := len(report.Broken); n > 0 {
				return errors.New(short.Count(n+report.More, "broken link"))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&junit, "junit", "", "Where to write the results as JUnit XML")
	return cmd
}

func writeJUnit(name, site string, results []eval.Result) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return cmp.Or(eval.WriteJUnit(file, site, results), file.Close())
}

func printCheck(out io.Writer, r *links.Report) {
	for _, b := range r.Broken {
		fmt.Fprintf(out, "%s: %s: %s\n", printable(b.Where()), printable(b.Href), b.What())
	}
	if r.More > 0 {
		fmt.Fprintf(out, "and %d more\n", r.More)
	}
	fmt.Fprintf(out, "%s of %s, %d broken\n", short.Count(r.Links, "link"), short.Count(r.Pages, "page"), len(r.Broken)+r.More)
	if r.NotChecked > 0 {
		fmt.Fprintf(out, "%d targets could not be checked: this Caddy does not serve them, or they are locked\n", r.NotChecked)
	}
}

// checkResults are the broken links as an evaluation has results, and one that
// passes.
func checkResults(r *links.Report) []eval.Result {
	results := []eval.Result{{Question: eval.Question{ID: "links", Question: short.Count(r.Links, "link") + " of " + short.Count(r.Pages, "page"), Group: "links"}}}
	for _, b := range r.Broken {
		results = append(results, eval.Result{Question: eval.Question{ID: b.Where(), Question: b.Href, Group: "links"}, Failures: []string{b.What()}})
	}
	return results
}
