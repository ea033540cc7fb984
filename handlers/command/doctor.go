package command

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/handlers/app"
)

func doctorCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Checks the running server and says what to do", Args: cobra.NoArgs, SilenceUsage: true,
		Long: `Checks the sites, keys, indexes, model and embedder of the running server (or of
the configuration given by --config) and says what to do about each problem.
The exit status is 1 if there is one.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks, err := ask(cmd.Context(), t, http.MethodGet, path("doctor"), nil, t.offline, func(a *app.App) ([]app.Check, error) {
				return a.Doctor(cmd.Context()), nil
			})
			if err != nil {
				return err
			}
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
				for _, c := range checks {
					mark := "ok  "
					if !c.OK {
						mark = "FAIL"
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s  %s: %s\n", mark, printable(c.What), printable(c.Found))
					if c.Do != "" {
						fmt.Fprintf(cmd.OutOrStdout(), "      %s\n", printable(c.Do))
					}
				}
			}
			if wrong > 0 {
				return fmt.Errorf("%d of %d checks failed", wrong, len(checks))
			}
			return nil
		},
	}
}
