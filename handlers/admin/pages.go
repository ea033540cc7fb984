package admin

import (
	"context"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// PageStatus is a page of a site, as GET /docs/pages on the admin API answers
// it.
type PageStatus struct {
	URL      string `json:"url"`
	File     string `json:"file"`
	Title    string `json:"title"`
	Sections int    `json:"sections"`
	// Anchors are those of the sections that have one.
	Anchors  []string `json:"anchors,omitempty"`
	Language string   `json:"language,omitempty"`
	Version  string   `json:"version,omitempty"`
	// Kind is what the page is, "" if it is current documentation.
	Kind string `json:"kind,omitempty"`
	// State is public, locked, not served, duplicate or unknown, and Why the
	// reason for it, if there is one to give.
	State string `json:"state"`
	Why   string `json:"why,omitempty"`
}

// Pages returns a site's pages by URL. Pages that are new are asked for
// first.
func (a API) Pages(ctx context.Context, name string) ([]PageStatus, error) {
	site, err := a.site(name)
	if err != nil {
		return nil, err
	}
	if !site.Index.Refresher.Status().Ready {
		return nil, retrieval.ErrNotReady
	}
	site.Reach.Update(ctx)
	pages := []PageStatus{}
	for _, p := range site.Reach.Pages() {
		page := PageStatus{
			URL: p.URL, File: p.File, Title: p.Title, Sections: len(p.Sections), Language: p.Language, Version: p.Version, Kind: string(p.Kind),
			State: string(p.State), Why: p.Why,
		}
		for i := range p.Sections {
			if a := p.Sections[i].Anchor; a != "" {
				page.Anchors = append(page.Anchors, a)
			}
		}
		pages = append(pages, page)
	}
	return pages, nil
}
