package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/admin"
)

func keyCommand(t *target) *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Creates, lists and revokes the keys that clients send"}
	cmd.AddCommand(keyCreateCommand(t), keyListCommand(t), keyRevokeCommand(t))
	return cmd
}

func keyCreateCommand(t *target) *cobra.Command {
	var organization, name, expires string
	var sites, origins []string
	var force bool
	cmd := &cobra.Command{
		Use:   "create [--organization O] [--site S]... [--origin URL]... [--name N] [--expires 90d]",
		Short: "Creates a key and prints it, once",
		Long: `Creates a key and prints it. Only its hash is stored: it can't be shown again.

The key opens the sites of its organization, or only those given by --site.
Browsers may use it from the sites' own pages and from the origins given by
--origin (http://localhost:* is allowed); without --origin, from any page.
The organization must have a site, unless --force is given.
A running server accepts it within 10 seconds.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			k := access.Key{Name: name, Organization: organization, Sites: sites, Origins: origins}
			if expires != "" {
				at, err := access.ParseExpiry(expires, time.Now())
				if err != nil {
					return fmt.Errorf("--expires: %w", err)
				}
				k.Expires = at
			}
			return createKey(cmd.Context(), t, k, force, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVar(&organization, "organization", "", "The organization whose sites the key opens (default: that of the sites)")
	f.StringArrayVar(&sites, "site", nil, "A site that the key opens; may repeat (default: all of the organization)")
	f.StringArrayVar(&origins, "origin", nil, "An origin from which browsers may use the key; may repeat (default: any)")
	f.StringVar(&name, "name", "", "A name for lists")
	f.BoolVar(&force, "force", false, "Create the key also for an organization that has no site yet")
	f.StringVar(&expires, "expires", "", "When the key stops working, such as 90d or 12h (default: never)")
	return cmd
}

// createKey makes the key here and sends the server only its record: the secret
// is never sent or stored.
func createKey(ctx context.Context, t *target, k access.Key, force bool, out io.Writer) error {
	st, err := t.status(ctx)
	if err != nil {
		return err
	}
	if err := completeKey(&k, st, force); err != nil {
		return err
	}
	secret, made, err := access.Make(k, time.Now())
	if err != nil {
		return err
	}
	record, err := access.Record(made)
	if err != nil {
		return err
	}
	if err := t.call(ctx, http.MethodPost, path("keys"), json.RawMessage(record), nil); err != nil {
		return err
	}
	if t.json {
		return printJSON(out, struct {
			Secret string      `json:"secret"`
			Key    *access.Key `json:"key"`
			// Storage is where the key was written.
			Storage string `json:"storage"`
		}{secret, made, st.Storage})
	}
	fmt.Fprintf(out, "%s\n\n", secret)
	fmt.Fprintf(out, "Key %s of organization %s, stored in %s. It is not shown again.\n", made.ID, made.Organization, st.Storage)
	fmt.Fprint(out, snippet(secret, st, made))
	return nil
}

// completeKey fills in the organization and checks that it and the sites exist,
// unless force allows one without a site.
func completeKey(k *access.Key, st admin.Status, force bool) error {
	var organizations []string
	if _, err := st.Named(k.Sites...); err != nil {
		return err
	}
	for _, s := range st.Sites {
		if len(k.Sites) == 0 || slices.Contains(k.Sites, s.Name) {
			organizations = append(organizations, s.Organization)
		}
	}
	slices.Sort(organizations)
	organizations = slices.Compact(organizations)
	if k.Organization != "" {
		if len(k.Sites) > 0 && (len(organizations) != 1 || organizations[0] != k.Organization) {
			return fmt.Errorf("the sites %s belong to %s, not to %s", strings.Join(k.Sites, ", "), strings.Join(organizations, ", "), k.Organization)
		}
		if len(k.Sites) == 0 && !force && !slices.Contains(organizations, k.Organization) {
			return fmt.Errorf("there is no organization %q; the organizations are: %s; to create the key before its sites, use --force",
				k.Organization, cmp.Or(admin.FirstOf(organizations), "none"))
		}
		return nil
	}
	switch len(organizations) {
	case 0:
		return errors.New("there are no sites yet; use --organization NAME")
	case 1:
		k.Organization = organizations[0]
		return nil
	}
	return fmt.Errorf("there are several organizations (%s); use --organization NAME or --site NAME", admin.FirstOf(organizations))
}

// snippet is what a front-end developer pastes next.
func snippet(secret string, st admin.Status, k *access.Key) string {
	for _, s := range st.Sites {
		if s.Organization != k.Organization || len(k.Sites) > 0 && !slices.Contains(k.Sites, s.Name) {
			continue
		}
		base := s.API
		if u, err := url.Parse(base); err != nil || u.Host == "" {
			base = "https://YOUR-SITE" + base
		}
		return fmt.Sprintf(`
Try it:

  curl -s %[1]s/v1/search/%[2]s -H 'Authorization: Bearer %[3]s' \
    -H 'Content-Type: application/json' -d '{"query":"install"}'

In a page, with the AI SDK (5 and later):

  const chat = useChat({
    transport: new DefaultChatTransport({
      api: '%[1]s/v2/assistant/%[2]s/message',
      headers: { Authorization: 'Bearer %[3]s' },
      body: { fp: 'anonymous', retrievalPageSize: 5 },
    }),
  })
`, base, s.Name, secret)
	}
	return ""
}

func keyListCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Lists the keys, without their secrets", Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd, t, http.MethodGet, path("keys"), nil, func(out io.Writer, keys []*access.Key) {
				table(out, "ID\tNAME\tORGANIZATION\tSITES\tORIGINS\tCREATED\tLAST USED\tEXPIRES", keys, func(k *access.Key) []any {
					return []any{
						k.ID, k.Name, k.Organization, cmp.Or(strings.Join(k.Sites, ","), "all"), cmp.Or(strings.Join(k.Origins, ","), "any"),
						day(k.Created, "config"), day(k.LastUsed, "never"), day(k.Expires, "never"),
					}
				})
			})
		},
	}
}

func day(at time.Time, zero string) string {
	if at.IsZero() {
		return zero
	}
	return at.Format("2006-01-02 15:04")
}

func keyRevokeCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Revokes a key; a running server refuses it within 10 seconds", Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.HasPrefix(args[0], access.Prefix) {
				// The admin API logs the paths of requests.
				return errors.New("name the key by its id; caddy docs key list shows the ids")
			}
			return show(cmd, t, http.MethodDelete, path("keys", args[0]), nil, func(out io.Writer, k *access.Key) {
				fmt.Fprintf(out, "Key %s of organization %s is revoked.\n", k.ID, k.Organization)
			})
		},
	}
}
