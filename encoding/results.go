package encoding

import (
	"encoding/json"
	"io"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Result is a search result as clients get it. SPEC.md, Search result item.
type Result struct {
	// Content is the matching section as text.
	Content string `json:"content"`
	// Path is the page's path on the site without a leading slash, with
	// #anchor if the section has one.
	Path     string   `json:"path"`
	Metadata Metadata `json:"metadata"`
}

// Metadata describes a result's page and section.
type Metadata struct {
	Title       string   `json:"title"`
	Heading     string   `json:"heading"`
	Breadcrumbs []string `json:"breadcrumbs"`
	Description string   `json:"description,omitempty"`
	Version     string   `json:"version,omitempty"`
	Language    string   `json:"language,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	// URL is where the page is served, with #anchor.
	URL string `json:"url"`
	// Score is 0 to 1 and never rises down the list.
	Score float64 `json:"score"`
}

// Results turns the hits of a search into what clients get.
func Results(hits []retrieval.Hit) []Result {
	results := make([]Result, len(hits))
	for i, h := range hits {
		d, s := h.Document, &h.Document.Sections[h.Section]
		r := Result{
			Content: s.Text,
			Path:    d.Page,
			Metadata: Metadata{
				Title: d.Title, Heading: s.Heading, Breadcrumbs: d.Breadcrumbs, Description: d.Description,
				Version: d.Version, Language: d.Language, Tags: d.Tags, URL: d.URL, Score: h.Score,
			},
		}
		if s.Anchor != "" {
			r.Path += "#" + s.Anchor
			r.Metadata.URL += "#" + s.Anchor
		}
		if r.Metadata.Breadcrumbs == nil {
			r.Metadata.Breadcrumbs = []string{}
		}
		results[i] = r
	}
	return results
}

// EncodeResults writes the body of the response to a search.
func EncodeResults(w io.Writer, results []Result) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(results)
}
