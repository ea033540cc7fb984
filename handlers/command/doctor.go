package command

import (
	"fmt"
	"io"
	"net/http"
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
			if t.json {
				if err := printJSON(cmd.OutOrStdout(), checks); err != nil {
					return err
				}
			} else {
				printChecks(cmd.OutOrStdout(), checks, all)
			}
			return failures(checks, "")
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "Show every check of every site")
	return cmd
}

// failures returns an error if a check failed.
func failures(checks []admin.Check, do string) error {
	n := 0
	for _, c := range checks {
		if !c.OK {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d checks failed%s", n, len(checks), do)
}

// printChecks prints the problems and then the other checks. Unless all are
// wanted, a problem of several sites is printed once, and many checks of sites
// that pass are only counted.
func printChecks(out io.Writer, checks []admin.Check, all bool) {
	sites := make(map[string][]string) // with each problem
	passed := 0
	for _, c := range checks {
		if c.OK {
			passed++
		} else if site, problem := problemOf(c); site != "" {
			sites[problem] = append(sites[problem], site)
		}
	}
	for _, c := range checks {
		site, problem := problemOf(c)
		others := sites[problem]
		if c.OK || len(others) > 0 && others[0] != site && !all {
			continue
		}
		fmt.Fprintf(out, "FAIL  %s: %s\n      %s\n", printable(c.What), printable(c.Found), printable(c.Do))
		switch {
		case all || len(others) < 2:
		case len(others) > 6:
			fmt.Fprintf(out, "      and %d more sites, such as %s; caddy docs doctor --all lists them\n", len(others)-1, strings.Join(others[1:4], ", "))
		default:
			fmt.Fprintf(out, "      and also %s\n", strings.Join(others[1:], ", "))
		}
	}
	hidden := 0
	for _, c := range checks {
		if site, _ := problemOf(c); c.OK && site != "" && passed > maxChecks && !all {
			hidden++
		} else if c.OK {
			fmt.Fprintf(out, "ok    %s: %s\n", printable(c.What), printable(c.Found))
		}
	}
	if hidden > 0 {
		fmt.Fprintf(out, "ok    %d more checks of sites; caddy docs doctor --all lists them\n", hidden)
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
	return site, strings.ReplaceAll(kind+"\n"+c.Found+"\n"+c.Do, site, "\x00")
}
