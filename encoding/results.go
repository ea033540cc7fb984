package encoding

import (
	"encoding/json"
	"io"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Result is a search result as clients get it.
type Result struct {
	// Content is the matching section as text, "" if the request's fields
	// don't name it.
	Content string `json:"content"`
	// Path is the page's path on the site without a leading slash, with
	// #anchor if the section has one.
	Path     string   `json:"path"`
	Metadata Metadata `json:"metadata"`
	// Why is that of the hit. Only operators ask for it.
	Why []string `json:"-"`
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
	// Site is that of the page, in the results of a group of sites.
	Site string `json:"site,omitempty"`
	// URL is where the page is served, with #anchor.
	URL string `json:"url"`
	// Score is 0 to 1 and never rises down the list.
	Score float64 `json:"score"`
	// Snippet is the part of the section that says most about the query: one
	// line of at most 200 characters.
	Snippet string `json:"snippet,omitempty"`
	// Highlights are the query's words.
	Highlights *Highlights `json:"highlights,omitempty"`
}

// Highlights are the query's words in texts, as ranges of UTF-16 code units,
// which is how JavaScript counts: the first one, and the one after the last.
type Highlights struct {
	Title   [][2]int `json:"title,omitempty"`
	Heading [][2]int `json:"heading,omitempty"`
	Snippet [][2]int `json:"snippet,omitempty"`
}

// Lengths of snippets, in UTF-16 code units.
const (
	maxSnippet = 200
	// shortSnippet is that of results without the sections' texts.
	shortSnippet = 120
)

// Results turns the hits of a search into what clients get. mark finds the
// query's words. Without the sections' texts, snippets are short, and
// descriptions and tags are left out: that is for search as you type, where
// each byte counts.
func Results(hits []retrieval.Hit, s *Search, mark retrieval.Marker) []Result {
	results := make([]Result, len(hits))
	for i, h := range hits {
		d, section := h.Document, &h.Document.Sections[h.Section]
		r := Result{
			Path: d.Page, Why: h.Why,
			Metadata: Metadata{
				Title: d.Title, Heading: section.Heading, Breadcrumbs: d.Breadcrumbs,
				Version: d.Version, Language: d.Language, URL: d.URL, Score: h.Score,
			},
		}
		length := shortSnippet
		if !s.NoContent {
			length = maxSnippet
			r.Content, r.Metadata.Description, r.Metadata.Tags = h.Content(), d.Description, d.Tags
		}
		if !s.NoSnippet {
			part, words := snippet(h.Content(), mark, length)
			r.Metadata.Snippet = part
			r.Metadata.Highlights = &Highlights{
				Title: ranges(d.Title, mark(d.Title)), Heading: ranges(section.Heading, mark(section.Heading)), Snippet: ranges(part, words),
			}
		}
		if section.Anchor != "" {
			r.Path += "#" + section.Anchor
			r.Metadata.URL += "#" + section.Anchor
		}
		if r.Metadata.Breadcrumbs == nil {
			r.Metadata.Breadcrumbs = []string{}
		}
		results[i] = r
	}
	return results
}

// ranges turns the spans of a text into ranges of UTF-16 code units. Those
// that overlap or touch become one.
func ranges(text string, spans []retrieval.Span) (out [][2]int) {
	at, total := 0, 0
	count := func(to int) int {
		total += units(text[at:to])
		at = to
		return total
	}
	for i := 0; i < len(spans); {
		start, end := spans[i].Start, spans[i].End
		for i++; i < len(spans) && spans[i].Start <= end; i++ {
			end = max(end, spans[i].End)
		}
		out = append(out, [2]int{count(start), count(end)})
	}
	return out
}

// EncodeResults writes the body of the response to a search.
func EncodeResults(w io.Writer, results []Result) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(results)
}
