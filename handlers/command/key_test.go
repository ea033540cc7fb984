package command

import (
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/admin"
)

func TestAKeyIsForAnOrganizationThatHasASite(t *testing.T) {
	sites := admin.Status{Sites: []admin.SiteStatus{{Name: "docs", Organization: "acme"}, {Name: "blog", Organization: "acme"}, {Name: "other", Organization: "rival"}}}
	for name, tt := range map[string]struct {
		key   access.Key
		st    admin.Status
		force bool
		want  string // the organization, or the error after "!"
	}{
		"of a site":                    {access.Key{Sites: []string{"docs"}}, sites, false, "acme"},
		"of sites and organization":    {access.Key{Sites: []string{"docs", "blog"}, Organization: "acme"}, sites, false, "acme"},
		"of an organization":           {access.Key{Organization: "rival"}, sites, false, "rival"},
		"of the only one":              {access.Key{}, admin.Status{Sites: sites.Sites[:2]}, false, "acme"},
		"of several":                   {access.Key{}, sites, false, "!there are several organizations (acme, rival)"},
		"of none":                      {access.Key{}, admin.Status{}, false, "!there are no sites yet"},
		"of an unknown organization":   {access.Key{Organization: "nosuch"}, sites, false, `!there is no organization "nosuch"; the organizations are: acme, rival; to create the key before its sites, use --force`},
		"of one before its sites":      {access.Key{Organization: "nosuch"}, sites, true, "nosuch"},
		"without any site":             {access.Key{Organization: "acme"}, admin.Status{}, false, "!the organizations are: none"},
		"of an unknown site":           {access.Key{Sites: []string{"nosuch"}}, sites, true, `!there is no site "nosuch"; the sites are: docs, blog, other`},
		"of another's site":            {access.Key{Sites: []string{"docs"}, Organization: "rival"}, sites, true, "!the sites docs belong to acme, not to rival"},
		"of sites of two":              {access.Key{Sites: []string{"docs", "other"}}, sites, false, "!there are several organizations"},
		"of sites of two and one name": {access.Key{Sites: []string{"docs", "other"}, Organization: "acme"}, sites, false, "!the sites docs, other belong to acme, rival, not to acme"},
	} {
		err := completeKey(&tt.key, tt.st, tt.force)
		if message, wrong := strings.CutPrefix(tt.want, "!"); wrong && (err == nil || !strings.Contains(err.Error(), message)) || !wrong && (err != nil || tt.key.Organization != tt.want) {
			t.Errorf("%s: %q, %v", name, tt.key.Organization, err)
		}
	}
}
