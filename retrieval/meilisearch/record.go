package meilisearch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// vectorName is the name, in an index's settings, of the embedder for vectors
// that this process sends.
const vectorName = "docs"

// record is one section as the server stores it. Its ID is a hash of all fields
// but the vector: equal IDs are equal sections.
type record struct {
	ID string `json:"id"`
	// URL is that of the section, Path its path on the site.
	URL         string   `json:"url"`
	Path        string   `json:"path"`
	Page        string   `json:"page"`
	Section     int      `json:"section"`
	Title       string   `json:"title"`
	Heading     string   `json:"heading"`
	Headings    []string `json:"headings"`
	Level       int      `json:"level"`
	Anchor      string   `json:"anchor"`
	Breadcrumbs []string `json:"breadcrumbs"`
	Description string   `json:"description"`
	Keywords    []string `json:"keywords"`
	Text        string   `json:"text"`
	// Version, Language and Tags are for filters, in lower case. A page in
	// en-us is also one in en.
	Version  string   `json:"version"`
	Language []string `json:"language"`
	Tags     []string `json:"tags"`
	// Terms are the words by which this package finds the section; a view has none.
	Terms *words.Terms `json:"terms,omitempty"`
	// Vector says what the vector that this process sent is of, "" if it sent
	// none, failedVector if the embedder in the server's settings failed.
	Vector  string             `json:"vector,omitempty"`
	Vectors map[string]*vector `json:"_vectors,omitempty"`
}

const failedVector = "none"

// vector is a section's vector for one embedder.
type vector struct {
	// Embeddings has at most one element. Without it, and with Regenerate, the
	// server makes the vector, now and when the section changes.
	Embeddings [][]float32 `json:"embeddings,omitempty"`
	Regenerate bool        `json:"regenerate"`
}

func newRecord(d *retrieval.Document, section int, terms words.Terms) *record {
	s := &d.Sections[section]
	r := &record{
		URL: d.URL, Path: d.Page, Page: d.Page, Section: section, Title: d.Title, Heading: s.Heading, Headings: s.Path,
		Level: s.Level, Anchor: s.Anchor, Breadcrumbs: d.Breadcrumbs, Description: d.Description,
		Keywords: d.Keywords, Text: s.Text, Version: normal(d.Version), Terms: &terms,
	}
	if s.Anchor != "" {
		r.URL += "#" + s.Anchor
		r.Path += "#" + s.Anchor
	}
	for _, tag := range []string{normalLanguage(d.Language), normalLanguage(d.Readers)} {
		base, _, _ := strings.Cut(tag, "-")
		for _, l := range []string{tag, base} {
			if l != "" && !slices.Contains(r.Language, l) {
				r.Language = append(r.Language, l)
			}
		}
	}
	for _, t := range d.Tags {
		r.Tags = append(r.Tags, normal(t))
	}
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	sum := sha256.Sum256(data)
	r.ID, r.Vectors = formatID(binary.BigEndian.Uint64(sum[:])), map[string]*vector{}
	return r
}

// section returns the record as a section.
func (r *record) section() retrieval.Section {
	return retrieval.Section{Anchor: r.Anchor, Heading: r.Heading, Path: r.Headings, Level: r.Level, Text: r.Text}
}

// size estimates the length of a record's JSON.
func (r *record) size() int {
	size := 3*len(r.Text) + 800
	if v := r.Vectors[vectorName]; v != nil && len(v.Embeddings) > 0 {
		size += 14 * len(v.Embeddings[0])
	}
	return size
}
