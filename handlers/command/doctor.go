package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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
Problems come first. A problem that many sites have is shown once; --all shows
each. The exit status is 1 if there is a problem.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var checks []admin.Check
			if err := t.call(cmd.Context(), http.MethodGet, path("doctor"), nil, &checks); err != nil {
				return err
			}
			checks = append(checks, t.checkClientIPs(cmd.Context())...)
			err := t.print(cmd.OutOrStdout(), checks, func() { printChecks(cmd.OutOrStdout(), checks, all) })
			return cmp.Or(err, failures(checks, ""))
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

// checkClientIPs checks where the client IPs of the configuration come from. It
// reads the configuration's JSON: a server that runs does not show its trusted
// proxies.
func (t *target) checkClientIPs(ctx context.Context) (checks []admin.Check) {
	var config struct {
		Apps struct {
			HTTP struct {
				Servers map[string]json.RawMessage `json:"servers"`
			} `json:"http"`
		} `json:"apps"`
	}
	var err error
	if t.app != nil {
		err = json.Unmarshal(t.loaded, &config)
	} else {
		err = t.call(ctx, http.MethodGet, "/config/", nil, &config)
	}
	if err != nil {
		return []admin.Check{{What: "client IPs", Found: err.Error(), Do: "make the configuration readable through the admin API"}}
	}
	servers := config.Apps.HTTP.Servers
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if c := checkServerClientIPs(name, servers[name]); c != nil {
			checks = append(checks, *c)
		}
	}
	return checks
}

// checkServerClientIPs reports a server whose clients choose their own IP. By
// trusted_proxies alone, Caddy takes the leftmost address of X-Forwarded-For,
// which is the client's where the proxy appends. Nil: it trusts no proxy, or
// nothing depends on the client's IP.
func checkServerClientIPs(name string, config []byte) *admin.Check {
	var server struct {
		Listen []string        `json:"listen"`
		Routes json.RawMessage `json:"routes"`
		Named  json.RawMessage `json:"named_routes"`
		Errors json.RawMessage `json:"errors"`
		Proxy  json.RawMessage `json:"trusted_proxies"`
		Strict int             `json:"trusted_proxies_strict"`
	}
	check := admin.Check{What: "client IPs of " + name}
	if err := json.Unmarshal(config, &server); err != nil {
		check.Found, check.Do = err.Error(), "correct the configuration"
		return &check
	}
	check.What = "client IPs at " + strings.Join(server.Listen, ", ")
	routes := string(server.Routes) + string(server.Named) + string(server.Errors)
	var uses []string
	for _, use := range []struct{ text, name string }{
		{"client_ip", "client_ip matchers or placeholders"},
		{`"docs_client_limit"`, "limits per IP"},
		{`"docs_mcp"`, "the MCP server's limit per IP"},
	} {
		if strings.Contains(routes, use.text) {
			uses = append(uses, use.name)
		}
	}
	if len(server.Proxy) == 0 || string(server.Proxy) == "null" || len(uses) == 0 {
		return nil
	}
	if server.Strict > 0 {
		check.OK, check.Found = true, "those that trusted_proxies report; trusted_proxies_strict is on"
		return &check
	}
	check.Found = "clients choose their own IP by sending X-Forwarded-For, and so bypass " + strings.Join(uses, ", ")
	check.Do = "write trusted_proxies_strict beside trusted_proxies, in servers of the global options"
	return &check
}
