package command

import (
	"fmt"
	"io"
	"maps"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/short"
)

func searchCommand(t *target) *cobra.Command {
	var size int
	var threshold float64
	filter := map[string]*string{"version": new(string), "language": new(string), "tag": new(string)}
	var explain bool
	cmd := &cobra.Command{
		Use: `search SITE "query"`, Short: "Searches a site as the search endpoint does", Args: takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case size < 1 || size > encoding.MaxHits:
				return fmt.Errorf("--size is %d, and must be from 1 to %d", size, encoding.MaxHits)
			case !(threshold >= 0 && threshold <= 1):
				return fmt.Errorf("--threshold is %v, and must be from 0 to 1", threshold)
			}
			maps.DeleteFunc(filter, func(_ string, v *string) bool { return *v == "" })
			body := map[string]any{"query": args[1], "pageSize": size, "scoreThreshold": threshold, "filter": filter}
			type result struct {
				encoding.Result
				Why []string `json:"why,omitempty"`
			}
			uri := path("search", args[0])
			if explain {
				uri += "?explain=true"
			}
			return show(cmd, t, http.MethodPost, uri, body, func(out io.Writer, results []result) {
				for i, r := range results {
					fmt.Fprintf(out, "%2d  %.2f  %s\n          %s\n          %s\n", i+1, r.Metadata.Score, printable(titleOf(r.Result)), printable(r.Metadata.URL), short.Excerpt(r.Metadata.Snippet, 100))
					for _, line := range r.Why {
						fmt.Fprintf(out, "            %s\n", printable(line))
					}
				}
				if len(results) == 0 {
					fmt.Fprintln(cmd.ErrOrStderr(), "nothing found")
				}
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&size, "size", 10, "How many results, 1 to 50")
	f.Float64Var(&threshold, "threshold", 0, "The lowest score, 0 to 1")
	f.StringVar(filter["version"], "version", "", "Only pages of this version")
	f.StringVar(filter["language"], "language", "", "Only pages in this language")
	f.StringVar(filter["tag"], "tag", "", "Only pages with this tag")
	f.BoolVar(&explain, "explain", false, "Explain the rank of each result")
	return cmd
}

func titleOf(r encoding.Result) string {
	if r.Metadata.Heading == "" || r.Metadata.Heading == r.Metadata.Title {
		return r.Metadata.Title
	}
	return r.Metadata.Title + " › " + r.Metadata.Heading
}
