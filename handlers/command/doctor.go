package command

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/handlers/admin"
)

// maxChecks is how many checks are printed of each kind, unless all are
// wanted: a folder may have a thousand sites.
const maxChecks = 40

func doctorCommand(t *target) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Checks the running server and says what to do", Args: takes(0, 0),
		Long: `Checks the sites, keys, indexes, model and embedder of the running server (or of
the configuration given by --config) and says what to do about each problem.
Problems come first. If many sites have the same one, it is shown once; --all
shows each. The exit status is 1 if there is one.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var checks []admin.Check
			if err := t.call(cmd.Context(), http.MethodGet, path("doctor"), nil, &checks); err != nil {
				return err
			}
			checks = append(checks, t.checkClientIPs(cmd.Context())...)
			wrong := 0
			for _, c := range checks {
				if !c.OK {
					wrong++
				}
			}
			if t.json {
				if err := printJSON(cmd.OutOrStdout(), checks); err != nil {
					return err
				}
			} else {
				printChecks(cmd.OutOrStdout(), checks, all)
			}
			if wrong > 0 {
				return fmt.Errorf("%d of %d checks failed", wrong, len(checks))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "Show every check of every site")
	return cmd
}

// printChecks prints the problems and then the other checks. Unless all are
// wanted, a problem that more sites have is printed once, and of many checks
// that are right the number.
func printChecks(out io.Writer, checks []admin.Check, all bool) {
	more := make(map[string][]string) // the other sites with a problem, by the first
	first := make(map[string]string)  // by problem
	var wrong, right []admin.Check
	for _, c := range checks {
		if c.OK {
			right = append(right, c)
			continue
		}
		if site, problem := problemOf(c); site != "" && !all {
			if at, ok := first[problem]; ok {
				more[at] = append(more[at], site)
				continue
			}
			first[problem] = c.What
		}
		wrong = append(wrong, c)
	}
	for _, c := range wrong {
		fmt.Fprintf(out, "FAIL  %s: %s\n      %s\n", printable(c.What), printable(c.Found), printable(c.Do))
		switch others := more[c.What]; {
		case len(others) > 5:
			fmt.Fprintf(out, "      and %d more sites, such as %s; caddy docs doctor --all lists them\n", len(others), strings.Join(others[:3], ", "))
		case len(others) > 0:
			fmt.Fprintf(out, "      and also %s\n", strings.Join(others, ", "))
		}
	}
	shown := right
	if !all && len(right) > maxChecks {
		shown = slices.DeleteFunc(slices.Clone(right), func(c admin.Check) bool { return strings.HasPrefix(c.What, "site ") })
	}
	for _, c := range shown {
		fmt.Fprintf(out, "ok    %s: %s\n", printable(c.What), printable(c.Found))
	}
	if n := len(right) - len(shown); n > 0 {
		fmt.Fprintf(out, "ok    %d more checks of sites; caddy docs doctor --all lists them\n", n)
	}
}

// problemOf returns the site of a check, "" if it is of none, and what is
// wrong, which is the same for all sites that have this problem.
func problemOf(c admin.Check) (site, problem string) {
	rest, ok := strings.CutPrefix(c.What, "site ")
	if !ok {
		return "", ""
	}
	site, kind, _ := strings.Cut(rest, " ")
	without := func(s string) string { return strings.ReplaceAll(s, site, "\x00") }
	return site, kind + "\n" + without(c.Found) + "\n" + without(c.Do)
}
