package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/handlers/admin"
)

func versionCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Prints the versions of the module, of Caddy, and of what is stored", Args: takes(0, 0),
		Long: `Prints the versions of this module, of Caddy and of Go in this binary, and the
formats of the data that it stores. It asks no server.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := admin.Versions()
			if t.json {
				return printJSON(cmd.OutOrStdout(), v)
			}
			w := table(cmd.OutOrStdout())
			fmt.Fprintf(w, "caddy-docs\t%s\nCaddy\t%s\nGo\t%s %s\nindex\tformat %d\ninsights\tschema %d\n",
				v.Module, v.Caddy, v.Go, v.System, v.IndexFormat, v.InsightsSchema)
			return w.Flush()
		},
	}
}
