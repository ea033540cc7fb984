package command

import (
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/dashboard"
	"github.com/caddy-docs/caddy-docs/handlers/admin"
)

func loginCommand(t *target) *cobra.Command {
	var r admin.LoginRequest
	cmd := &cobra.Command{
		Use: "login [--organization O] [--name N]", Short: "Prints a link that signs in to the dashboard; lists and ends its sessions", Args: takes(0, 0),
		Long: `Prints a link that signs in to the dashboard, once and within 10 minutes, for
a session of at most 7 days. Without --organization, it is for an administrator
of all organizations; with it, for a member of that organization.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd, t, http.MethodPost, path("logins"), r, func(out io.Writer, login *admin.Login) {
				for _, u := range login.URLs {
					fmt.Fprintln(out, u)
				}
				if len(login.URLs) == 0 {
					fmt.Fprintf(out, "Open %s on the dashboard's host.\n", dashboard.LoginPath)
				}
				fmt.Fprintf(out, "\nThe code is %s. It signs in once, until %s, as %s.\n", login.Code, login.Expires.Local().Format("15:04"), role(r.Organization))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Organization, "organization", "", "The organization of a member (default: an administrator of all)")
	f.StringVar(&r.Name, "name", "", "The name of the person, for the dashboard and its audit trail")
	cmd.AddCommand(loginListCommand(t), loginRevokeCommand(t))
	return cmd
}

func role(organization string) string {
	if organization == "" {
		return "administrator"
	}
	return "member of " + organization
}

func loginListCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Lists the sessions of the dashboard", Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd, t, http.MethodGet, path("logins"), nil, func(out io.Writer, sessions []dashboard.Session) {
				table(out, "ID\tNAME\tROLE\tSIGNED IN\tLAST USED", sessions, func(s dashboard.Session) []any {
					return []any{s.ID, s.Name, role(s.Organization), day(s.Created, "-"), day(s.Seen, "-")}
				})
			})
		},
	}
}

func loginRevokeCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID|all", Short: "Ends a session of the dashboard, or all", Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd, t, http.MethodDelete, path("logins", args[0]), nil, func(out io.Writer, ended []dashboard.Session) {
				for _, s := range ended {
					fmt.Fprintf(out, "The session %s of %s has ended.\n", s.ID, printable(s.Name))
				}
				if len(ended) == 0 {
					fmt.Fprintln(out, "There are no sessions.")
				}
			})
		},
	}
}
