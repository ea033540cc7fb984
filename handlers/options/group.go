package options

import "strings"

// Group is several sites that are searched and asked as one.
type Group struct {
	// The names of the sites, in which * matches any letters, like acme-*. Default:
	// all sites of the organization.
	Sites []string `json:"sites,omitempty"`

	// What the group has like a site: url, organization, name, instructions,
	// support_url, allow_links, starter_questions, synonyms, stop_words,
	// suggestions and suggestions_fence. Its pages are those of its sites.
	Site Site `json:"site,omitzero"`
}

// Validate checks the sites, and what the group has like a site.
func (g *Group) Validate() error {
	c := new(Checker)
	if len(g.Sites) == 0 && g.Site.Organization == "" {
		c.Fail("sites", "is missing; name the sites of the group, or set organization to have all of that organization")
	}
	for i, name := range g.Sites {
		c.Name("sites", strings.ReplaceAll(name, "*", "x"))
		for _, other := range g.Sites[:i] {
			if other == name {
				c.Fail("sites", "%s is named twice", name)
			}
		}
	}
	s := &g.Site
	for field, set := range map[string]bool{
		"root": s.Root != "", "sitemap": s.Sitemap != "", "sources": s.SourcesRaw != nil, "allow_private": s.AllowPrivate,
		"versions": s.Versions != nil, "languages": s.Languages != nil, "kinds": s.Kinds != nil, "include": s.Include != nil, "exclude": s.Exclude != nil,
		"clean_urls": s.CleanURLs, "anchors": s.Anchors != "", "watch": s.Watch != "", "poll_interval": s.PollInterval != 0,
		"edit_url": s.EditURL != "", "locks": s.Locks != "", "moved": s.Moved != "",
	} {
		if set {
			c.Fail(field, "is an option of the group's sites, not of the group; leave it out")
		}
	}
	c.Add(s.Validate())
	return c.Err()
}
