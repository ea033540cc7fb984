package meilisearch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// vectorName is the name, in an index's settings, of the embedder for vectors
// that this process sends.
const vectorName = "docs"

// record is one section as the server stores it, for this package and for any
// other client. Its ID is a hash of all fields except the vector: equal IDs are
// equal sections.
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
	Slug        string   `json:"slug"`
	Description string   `json:"description"`
	Keywords    []string `json:"keywords"`
	Text        string   `json:"text"`
	// Version, Language and Tags are for filters, in lower case. A page in
	// en-us is also one in en.
	Version  string   `json:"version"`
	Language []string `json:"language"`
	Tags     []string `json:"tags"`
	// Terms are the words by which this package finds the section.
	Terms embedded.Terms `json:"terms"`
	// Counts are those of the section's words, for the ranking.
	Counts []byte `json:"counts"`
	// Ranking is what the order of the results takes from the whole page.
	Ranking embedded.Traits `json:"ranking"`
	// Vector is a hash of the vector that this process sent, "" if it sent
	// none, failedVector if the embedder in the server's settings failed.
	Vector string `json:"vector"`
	// Embedding is that vector with a byte a dimension, see compact. Sections
	// that are found by keywords are compared with the query by it.
	Embedding []byte             `json:"embedding,omitempty"`
	Vectors   map[string]*vector `json:"_vectors,omitempty"`
}

const failedVector = "none"

// vector is a section's vector for one embedder.
type vector struct {
	// Embeddings has at most one element. Without it, and with Regenerate, the
	// server makes the vector, now and when the section changes.
	Embeddings [][]float32 `json:"embeddings,omitempty"`
	Regenerate bool        `json:"regenerate"`
}

// embed gives the record a vector that this process sends, and its hash.
func (r *record) embed(v *vector, hash string) {
	r.Vectors[vectorName], r.Vector, r.Embedding = v, hash, compact(v.Embeddings[0])
}

// compact returns a vector with a signed byte for each dimension, 127 for the
// largest value.
func compact(v []float32) []byte {
	largest := float32(0)
	for _, x := range v {
		largest = max(largest, x, -x)
	}
	out := make([]byte, len(v))
	if largest > 0 {
		for i, x := range v {
			out[i] = byte(int8(math.Round(float64(127 * x / largest))))
		}
	}
	return out
}

// cosineOf returns the cosine of a vector of length 1 and a compact one of as
// many dimensions, 0 if that has no direction.
func cosineOf(v []float32, compact []byte) float64 {
	var dot, sum float64
	for i, b := range compact {
		x := float64(int8(b))
		dot += float64(v[i]) * x
		sum += x * x
	}
	if sum == 0 {
		return 0
	}
	return dot / math.Sqrt(sum)
}

func newRecord(d *retrieval.Document, section int, traits embedded.Traits, words []embedded.Words) *record {
	s := &d.Sections[section]
	r := &record{
		URL: d.URL, Path: d.Page, Page: d.Page, Section: section, Title: d.Title, Heading: s.Heading, Headings: s.Path,
		Level: s.Level, Anchor: s.Anchor, Breadcrumbs: d.Breadcrumbs, Slug: slug(d.Page), Description: d.Description,
		Keywords: d.Keywords, Text: s.Text, Version: normal(d.Version), Ranking: traits, Terms: words[section].Terms, Counts: words[section].Counts,
	}
	if s.Anchor != "" {
		r.URL += "#" + s.Anchor
		r.Path += "#" + s.Anchor
	}
	if l := normalLanguage(d.Language); l != "" {
		r.Language = []string{l}
		if base, _, regional := strings.Cut(l, "-"); regional {
			r.Language = append(r.Language, base)
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
	r.ID, r.Vectors = hex.EncodeToString(sum[:idSize]), map[string]*vector{}
	return r
}

// idSize is the length of an ID, in bytes; in the server it is in hexadecimal.
const idSize = 16

// slug returns the last segment of a page's path as words.
func slug(page string) string {
	page = page[strings.LastIndexByte(page, '/')+1:]
	return strings.NewReplacer("-", " ", "_", " ", ".", " ").Replace(page)
}

// document returns the page of a record, with the sections up to the record's,
// of which it alone has a text. A page of another generation is not known
// otherwise.
func (r *record) document() *retrieval.Document {
	d := &retrieval.Document{
		Page: r.Page, Title: r.Title, Description: r.Description, Breadcrumbs: r.Breadcrumbs, Keywords: r.Keywords,
		Version: r.Version, Tags: r.Tags, Outline: true,
	}
	d.URL, _, _ = strings.Cut(r.URL, "#")
	if len(r.Language) > 0 {
		d.Language = r.Language[0]
	}
	return d
}

// section returns the record as a section.
func (r *record) section() retrieval.Section {
	return retrieval.Section{Anchor: r.Anchor, Heading: r.Heading, Path: r.Headings, Level: r.Level, Text: r.Text}
}

// size estimates the length of a record's JSON.
func (r *record) size() int {
	size := 2*len(r.Text) + 2*len(r.Counts) + 800
	if v := r.Vectors[vectorName]; v != nil && len(v.Embeddings) > 0 {
		size += 14 * len(v.Embeddings[0])
	}
	return size
}
