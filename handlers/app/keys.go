package app

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/options"
)

// fixKeys makes the keys of the configuration. Those whose organization is
// not known yet are left out.
func (a *App) fixKeys(sites map[string]*live) error {
	var fixed []*access.Key
	for i, f := range a.Keys {
		k, err := fixedKey(f, sites, a.SiteFolders)
		if err != nil {
			name := fmt.Sprintf("key %d", i+1)
			if f.Name != "" {
				name += " (" + f.Name + ")"
			}
			return fmt.Errorf("%s: %w", name, err)
		}
		if k != nil {
			fixed = append(fixed, k)
		}
	}
	a.shared.Keys.SetFixed(fixed)
	return nil
}

// fixedKey makes a key, nil while its organization is not known.
func fixedKey(f *options.FixedKey, sites map[string]*live, folders []*options.SiteFolders) (*access.Key, error) {
	hash, err := f.Hash()
	if err != nil {
		return nil, err
	}
	organization, err := organizationOf(f, sites, folders)
	if err != nil || organization == "" {
		return nil, err
	}
	return access.NewFixed(hash, access.Key{Name: f.Name, Organization: organization, Sites: f.Sites, Origins: f.Origins})
}

// organizationOf returns the organization that the key names, or else that of
// its sites, or without them of all sites, if it is the same.
func organizationOf(f *options.FixedKey, sites map[string]*live, folders []*options.SiteFolders) (string, error) {
	if f.Organization != "" {
		return f.Organization, nil
	}
	organization := ""
	for _, from := range folders { // whose sites come and go
		organization = from.Organization()
		switch {
		case len(f.Sites) == 0 && organization == "":
			return "", fmt.Errorf("the sites of %s belong to several organizations; write organization NAME, or sites NAME", from.Folders)
		case len(f.Sites) > 0:
			organization = "" // that of the site, if there is one
			if sites[f.Sites[0]] == nil {
				s := from.Expand(f.Sites[0])
				organization = cmp.Or(s.Organization, f.Sites[0])
			}
		}
	}
	for _, r := range sorted(sites) {
		if len(f.Sites) > 0 && !slices.Contains(f.Sites, r.Name) {
			continue
		}
		if organization != "" && organization != r.Organization {
			return "", fmt.Errorf("a key opens the sites of one organization, but its sites belong to several (%s, %s); write organization NAME in its block to open those of one, or the same organization NAME in the sites' blocks to open all",
				organization, r.Organization)
		}
		organization = r.Organization
	}
	return organization, nil
}
