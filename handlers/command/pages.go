package command

import (
	"cmp"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/short"
)

func pagesCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "pages SITE", Short: "Lists a site's pages, and who can open them", Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd, t, http.MethodGet, path("pages", args[0]), nil, printPages)
		},
	}
}

func printPages(out io.Writer, pages []admin.PageStatus) {
	w := table(out)
	fmt.Fprintln(w, "STATE\tURL\tTITLE\tSECTIONS\tLANGUAGE\tVERSION\tKIND\tWHY")
	for _, p := range pages {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", p.State, printable(p.URL), cmp.Or(short.Excerpt(printable(p.Title), 40), "-"), p.Sections,
			cmp.Or(printable(p.Language), "-"), cmp.Or(printable(p.Version), "-"), cmp.Or(p.Kind, "-"), cmp.Or(printable(p.Why), "-"))
	}
	w.Flush()
}
