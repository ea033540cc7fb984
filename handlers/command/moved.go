package command

import (
	"fmt"
	"io"
	"math"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

func movedCommand(t *target) *cobra.Command {
	var caddyfile bool
	cmd := &cobra.Command{
		Use: "moved SITE [--caddyfile]", Short: "Lists pages that are gone, and where they are now", Args: takes(1, 1),
		Long: `Lists the pages that a site used to have, and where their text is now. A move is
proved if one page has at least 94 % of the text, and no other has nearly as much.
Otherwise, the likeliest page is listed.

With --caddyfile, it prints a Caddyfile line for each proved move, if you want to
have the redirects in the file.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd, t, http.MethodGet, path("moved", args[0]), nil, func(out io.Writer, pages []moved.Former) {
				if caddyfile {
					for _, p := range pages {
						if p.Proved && p.Redirect != "" {
							fmt.Fprintln(out, printable(p.Redirect))
						}
					}
					return
				}
				table(out, "WAS\tIS\tPROOF\tLAST SEEN", pages, func(p moved.Former) []any {
					proof := ""
					switch share := fmt.Sprintf("%.0f %%", math.Floor(100*p.Share)); {
					case p.Proved:
						proof = "proved, " + share
					case p.To != "":
						proof = "perhaps, " + share
					}
					return []any{p.Path, p.To, proof, p.Last.Format("2006-01-02")}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&caddyfile, "caddyfile", false, "Print the redirects of proved moves as lines of a Caddyfile")
	return cmd
}
