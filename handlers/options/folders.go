package options

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// SiteFolders makes a site of each folder in a folder, for hosts like
// *.docs.acme.com. Sites come and go with their folders, without a reload. A
// folder's name is its site's name; folders whose names are not DNS labels, or
// are those of other sites, are reported and left out.
type SiteFolders struct {
	// The folders: a path in which one element is *, like /srv/sites/* or
	// /srv/sites/*/public. Folders whose names start with a dot are ignored.
	Folders string `json:"folders,omitempty"`

	// What the sites have in common. It has a url, and neither root nor sitemap.
	// {site} is the site's name in url, name, organization, support_url, edit_url
	// and instructions, like https://{site}.docs.acme.com.
	Site Site `json:"site"`

	parent, rest string // of Folders, before and after the *
}

// resolve replaces the placeholders.
func (f *SiteFolders) resolve() (err error) {
	if f.Folders, err = Replaced("folders", f.Folders); err != nil {
		return err
	}
	f.parent, f.rest, _ = strings.Cut(filepath.ToSlash(f.Folders)+"/", "/*/")
	f.parent, f.rest = filepath.FromSlash(f.parent)+string(filepath.Separator), filepath.FromSlash(strings.TrimSuffix(f.rest, "/"))
	if !strings.Contains(f.Site.Instructions, sitePlaceholder) {
		if _, err := f.Of("a-site"); err != nil {
			return err
		}
	}
	return nil
}

const sitePlaceholder = "{site}"

// Expand returns the configuration of a site, without its root.
func (f *SiteFolders) Expand(name string) *Site {
	s := f.Site
	for _, field := range []*string{&s.URL, &s.Name, &s.Organization, &s.SupportURL, &s.EditURL, &s.Instructions} {
		*field = strings.ReplaceAll(*field, sitePlaceholder, name)
	}
	return &s
}

// Of returns the configuration of the site of a folder.
func (f *SiteFolders) Of(name string) (*Site, error) {
	s := f.Expand(name)
	s.Root = filepath.Join(f.parent, name, f.rest)
	return s, s.resolve(name)
}

// Parent is the folder that the sites' folders are in.
func (f *SiteFolders) Parent() string { return f.parent }

// Organization is that of all sites, "" if each has its own.
func (f *SiteFolders) Organization() string {
	if strings.Contains(f.Site.Organization, sitePlaceholder) {
		return ""
	}
	return f.Site.Organization
}

// Validate checks the folders and what their sites have in common.
func (f *SiteFolders) Validate() error {
	c := new(Checker)
	c.replaced("folders", f.Folders)
	if elements := strings.Split(filepath.ToSlash(f.Folders), "/"); len(elements) < 2 || strings.Count(f.Folders, "*") != 1 || !slices.Contains(elements[1:], "*") {
		c.Fail("folders", "%q must be a path in which one element is *, like /srv/sites/* or /srv/sites/*/public", f.Folders)
	}
	if f.Site.Root != "" {
		c.Fail("root", "is set from folders; leave it out")
	}
	if f.Site.Sitemap != "" {
		c.Fail("sitemap", "sites of folders are read from files; leave it out")
	}
	if f.Site.SourcesRaw != nil {
		c.Fail("sources", "sites of folders are read from files; leave them out")
	}
	if !strings.Contains(f.Site.URL, sitePlaceholder) {
		c.Fail("url", "%q must have {site}, the name of the folder, like https://{site}.docs.acme.com", f.Site.URL)
	}
	return errors.Join(c.Err(), f.Expand("a-site").Validate())
}
