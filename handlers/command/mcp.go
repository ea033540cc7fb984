package command

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/agents"
	"github.com/caddy-docs/caddy-docs/contract"
)

func mcpCommand(t *target) *cobra.Command {
	var serverJSON bool
	cmd := &cobra.Command{
		Use: "mcp SITE --server-json", Short: "Prints the entry for the registry of MCP servers", Args: takes(1, 1),
		Long: `Prints the server.json of a site's MCP server, for the registry of MCP servers:
write it into a file, and publish it with mcp-publisher. Its name is in the
namespace of the site's host, which the registry verifies by DNS or HTTP.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !serverJSON {
				return errors.New("nothing to print; write: caddy docs mcp " + args[0] + " --server-json")
			}
			st, err := t.status(cmd.Context())
			if err != nil {
				return err
			}
			named, err := st.Named(args[0])
			if err != nil {
				return err
			}
			s := named[0]
			if s.URL == "" {
				return errors.New("the site has no URL; write url in its block")
			}
			if s.MCP == "" {
				return fmt.Errorf("the site has no MCP server that works without a key: remove mcp off or mcp key from its block, or write in a site block: docs_mcp %s", s.Name)
			}
			card, err := agents.Card(agents.About{Name: s.Name, Title: cmp.Or(s.Title, s.Name), URL: s.URL, Release: contract.Release()}, s.MCP)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(card)
			return err
		},
	}
	cmd.Flags().BoolVar(&serverJSON, "server-json", false, "Print server.json")
	return cmd
}
