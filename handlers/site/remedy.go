package site

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Remedy is what to do about a site whose pages can't be read, or that has
// none.
func (r *Site) Remedy(st retrieval.Status) string {
	if r.Members != nil {
		return "see the status of its sites, whose pages it has"
	}
	if len(st.Sources) > 0 || r.Config.Root == "" && r.Config.Sitemap == "" {
		return "make each source readable or reachable, or correct it in the block of site " + r.Name + "; Caddy retries by itself, and each source's last good pages are served until then"
	}
	if r.Config.Sitemap != "" {
		if st.Error != "" {
			return "make the sitemap reachable, or correct its URL: sitemap " + r.Config.Sitemap
		}
		return "check that the sitemap lists pages below the site's url, and include and exclude"
	}
	write := "root /path/to/docs, in the block of site " + r.Name
	if r.Routed {
		write = "docs " + r.Name + " /path/to/docs"
	}
	info, err := os.Stat(r.Config.Root)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir():
		return "create the folder " + r.Config.Root + ", or name another one: " + write
	case errors.Is(err, fs.ErrPermission) || strings.Contains(st.Error, fs.ErrPermission.Error()):
		return "make the folder " + r.Config.Root + " and its files readable for the user that runs Caddy"
	case st.Error != "":
		return "fix it; the previous pages are served until then, and Caddy retries by itself"
	}
	return "write pages (.html, .htm, .md or .mdx files) into " + r.Config.Root + ", or name another folder: " + write + "; check include and exclude"
}
