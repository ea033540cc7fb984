package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/dashboard"
	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

func (t *target) status(ctx context.Context) (admin.Status, error) {
	var st admin.Status
	err := t.call(ctx, http.MethodGet, path("status"), nil, &st)
	return st, err
}

func statusCommand(t *target) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "status [SITE]... [--all]", Short: "Shows the sites of the running server and the state of their indexes", Args: cobra.ArbitraryArgs,
		Long: `Shows the sites of the running server, or those that are named, and the state of
their indexes. Sites with problems come first. Of many sites, the first 20 are
shown; --all shows each.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := t.status(cmd.Context())
			if err != nil {
				return err
			}
			server := t.asked
			if t.app != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "No running Caddy responds at %s; this is the state of the configuration.\n", t.asked)
				server = ""
			}
			if len(args) > 0 {
				if st.Sites, err = st.Named(args...); err != nil {
					return err
				}
				all = true
			}
			return t.print(cmd.OutOrStdout(), struct {
				Server string `json:"server,omitempty"`
				admin.Status
			}{server, st}, func() { printStatus(cmd.OutOrStdout(), server, st, all) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "Show every site")
	return cmd
}

// maxSites is how many sites are shown unless all are wanted.
const maxSites = 20

// troubled reports whether a site needs its operator.
func troubled(s admin.SiteStatus) bool {
	return !s.HasKey || failing(s) > 0 || s.APIProblem != "" || stateOf(s.Index) != "ready" || s.Index.Pages == 0 || s.Pages != nil && s.Pages.NotServed > 0
}

// failing is how many of the servers with a site's index fail.
func failing(s admin.SiteStatus) (n int) {
	for _, server := range s.Servers {
		if server.Error != "" {
			n++
		}
	}
	return n
}

// printStatus prints the status of the server at an address, or of a
// configuration without one.
func printStatus(out io.Writer, server string, st admin.Status, all bool) {
	st.Sites = printSites(out, st.Sites, all)
	fmt.Fprintln(out)
	if server != "" {
		fmt.Fprintf(out, "server    %s\n", server)
	}
	fmt.Fprintf(out, "model     %s\nembedder  %s\nstorage   %s\ndata      %s\n",
		cmp.Or(st.Model, "none: replies are extractive"), cmp.Or(st.Embedder, "none: keyword search only"), st.Storage, st.DataDir)
	for _, m := range st.Models {
		if m.Breaker != "closed" {
			fmt.Fprintf(out, "          %s at %s paused after %d failures until %s: %s\n", m.Model, m.Endpoint, m.Failures, m.Until.Local().Format(time.TimeOnly), printable(m.LastError))
		}
	}
	for _, s := range st.Sites {
		printDetails(out, s)
	}
	for _, f := range st.Folders {
		if f.Held != "" {
			fmt.Fprintf(out, "folders   %s: %s; the sites are still served\n", f.Folders, f.Held)
		}
		for _, name := range slices.Sorted(maps.Keys(f.Refused)) {
			fmt.Fprintf(out, "folders   %s: skipping %s: %s\n", f.Folders, printable(name), printable(f.Refused[name]))
		}
	}
	if st.ThreadsTTL > 0 {
		fmt.Fprintf(out, "threads   kept for %s\n", options.Days(time.Duration(st.ThreadsTTL*float64(time.Second))))
	} else {
		fmt.Fprintln(out, "threads   off")
	}
}

// printSites prints a line for each site, those with problems first, and
// returns the sites that it shows: not all of many.
func printSites(out io.Writer, sites []admin.SiteStatus, all bool) []admin.SiteStatus {
	problems := 0
	for _, s := range sites {
		if troubled(s) {
			problems++
		}
	}
	slices.SortStableFunc(sites, func(a, b admin.SiteStatus) int {
		return cmp.Compare(strconv.FormatBool(troubled(b)), strconv.FormatBool(troubled(a)))
	})
	shown := sites
	if !all && len(sites) > maxSites {
		shown = sites[:maxSites]
	}
	table(out, "SITE\tORGANIZATION\tPAGES\tSECTIONS\tINDEX\tCHECKED\tKEY\tURL", shown, func(s admin.SiteStatus) []any {
		key := "yes"
		if !s.HasKey {
			key = "none"
		}
		return []any{s.Name, s.Organization, s.Index.Pages, s.Index.Sections, indexOf(s), day(s.Index.Checked, "not yet"), key, s.URL}
	})
	if hidden := len(sites) - len(shown); hidden > 0 {
		fmt.Fprintf(out, "and %d more sites, %d of them with problems; caddy docs status --all shows them, caddy docs status SITE one\n",
			hidden, max(0, problems-len(shown)))
	}
	return shown
}

// printDetails prints what does not fit into the line of a site.
func printDetails(out io.Writer, s admin.SiteStatus) {
	if p := s.Pages; p != nil && !p.AllPublic() {
		fmt.Fprintf(out, "pages     %s: %s\n", s.Name, p)
	}
	for _, source := range s.Index.Sources {
		fmt.Fprintf(out, "source    %s: %s: %s, %d pages", s.Name, printable(source.Name), stateOf(source.Status), source.Pages)
		if !source.Checked.IsZero() {
			fmt.Fprintf(out, ", checked %s", source.Checked.Local().Format(time.DateTime))
		}
		if why := cmp.Or(source.Error, source.Held); why != "" {
			fmt.Fprintf(out, ": %s", printable(why))
		}
		fmt.Fprintln(out)
	}
	for _, server := range s.Servers {
		fmt.Fprintf(out, "meilisearch %s: %s\n", s.Name, printable(server.String()))
	}
	if s.APIProblem != "" {
		fmt.Fprintf(out, "api       %s: %s; caddy docs doctor says what to write\n", s.Name, s.APIProblem)
	}
	if b := s.Budget; b != nil {
		var spent []string
		if b.Tokens > 0 {
			spent = append(spent, fmt.Sprintf("%d tokens", b.SpentTokens))
		}
		if b.Requests > 0 {
			spent = append(spent, fmt.Sprintf("%d requests", b.SpentRequests))
		}
		resets := b.Until.Local().Format(time.DateTime)
		fmt.Fprintf(out, "budget    %s: %s spent of %s, resets at %s\n", s.Name, strings.Join(spent, " and "), b.Limit, resets)
	}
}

// indexOf is the state of a site's index and of the servers that have it.
func indexOf(s admin.SiteStatus) string {
	state := stateOf(s.Index)
	switch n := failing(s); {
	case n > 0 && n == len(s.Servers):
		state += ", Meilisearch fails"
	case n > 0:
		state += fmt.Sprintf(", %d of %d servers fail", n, len(s.Servers))
	}
	return state
}

func stateOf(s retrieval.Status) string {
	switch {
	case s.State != retrieval.Idle && s.State != "" && s.Total > 0:
		return fmt.Sprintf("%s %d/%d", s.State, s.Done, s.Total)
	case s.Held != "":
		return "held back"
	case s.Error != "":
		return "failing"
	case !s.Ready:
		return "building"
	case s.ProblemCount > 0:
		return "ready, " + short.Count(s.ProblemCount, "problem")
	}
	return "ready"
}

func pagesCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "pages SITE", Short: "Lists a site's pages, and who can open them", Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd, t, http.MethodGet, path("pages", args[0]), nil, func(out io.Writer, pages []dashboard.Page) {
				table(out, "STATE\tURL\tTITLE\tSECTIONS\tLANGUAGE\tVERSION\tKIND\tWHY", pages, func(p dashboard.Page) []any {
					return []any{p.State, p.URL, short.Excerpt(p.Title, 40), p.Sections, p.Language, p.Version, p.Kind, p.Why}
				})
			})
		},
	}
}

func versionCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Prints the versions of the module, of Caddy, and of what is stored", Args: takes(0, 0),
		Long: `Prints the versions of this module, of Caddy and of Go in this binary, and the
formats of the data that it stores. It asks no server.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := admin.Versions()
			return t.print(cmd.OutOrStdout(), v, func() {
				fmt.Fprintf(cmd.OutOrStdout(), "caddy-docs  %s\nCaddy       %s\nGo          %s %s\nindex       format %d\ninsights    schema %d\n",
					v.Module, v.Caddy, v.Go, v.System, v.IndexFormat, v.InsightsSchema)
			})
		},
	}
}
