package meilisearch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"regexp"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// embedderName is our embedder in an index's settings: vectors come from us.
const embedderName = "docs"

// record is one section as the server holds it. Its id is a hash of all the
// rest but the vector: equal ids are equal sections.
type record struct {
	ID          string   `json:"id"`
	Page        string   `json:"page"`
	Section     int      `json:"section"`
	Title       string   `json:"title"`
	Heading     string   `json:"heading"`
	Headings    []string `json:"headings"`
	Breadcrumbs []string `json:"breadcrumbs"`
	Slug        string   `json:"slug"`
	Description string   `json:"description"`
	Keywords    []string `json:"keywords"`
	Text        string   `json:"text"`
	// Version, Language and Tags are filtered by, in lower case; a page in
	// en-us is also one in en.
	Version  string   `json:"version"`
	Language []string `json:"language"`
	Tags     []string `json:"tags"`
	// Vector identifies the vector: "" for none of ours, noVector for one
	// that the server's own embedder failed to make.
	Vector  string             `json:"vector"`
	Vectors map[string]*vector `json:"_vectors,omitempty"`
}

const noVector = "none"

type vector struct {
	// Embeddings are our vectors. Where there are none, the server is to make
	// them: then, and with each change of the section, it says Regenerate.
	Embeddings [][]float32 `json:"embeddings,omitempty"`
	Regenerate bool        `json:"regenerate"`
}

// place is where a record comes from.
type place struct {
	page    string
	section int
}

// content is what the server should hold of a site: an index a language.
type content struct {
	languages map[string]*indexContent // by uid
	places    map[string]place         // by record id
	// mean is the mean of the sections' vectors at length 1, for scores.
	mean []float32
	// known is false after a start, until the first Replace: the documents
	// are those of the run before, and their vectors are not at hand.
	known bool
}

type indexContent struct {
	uid, language string
	records       []*record
	dimensions    int
}

var unsafeInUID = regexp.MustCompile(`[^a-z0-9-]+`)

// uidPrefix begins the names of a site's indexes. What follows has no dash,
// so that no site's indexes are another's.
func uidPrefix(prefix, site string) string {
	return prefix + "-" + unsafeInUID.ReplaceAllString(strings.ToLower(site), "-") + "-"
}

// baseLanguage is the part of a language's tag that names an index.
func baseLanguage(tag string) string {
	base, _, _ := strings.Cut(normalLanguage(tag), "-")
	for _, r := range base {
		if r < 'a' || r > 'z' {
			return "und"
		}
	}
	if len(base) < 2 || len(base) > 8 {
		return "und"
	}
	return base
}

// newContent makes the records of documents. vectors may be nil.
func newContent(prefix string, documents []*retrieval.Document, vectors [][][]float32) *content {
	c := &content{languages: map[string]*indexContent{}, places: map[string]place{}}
	var sum []float64
	n := 0
	for i, d := range documents {
		lang := baseLanguage(d.Language)
		ix := c.languages[prefix+lang]
		if ix == nil {
			ix = &indexContent{uid: prefix + lang, language: lang}
			c.languages[ix.uid] = ix
		}
		for j := range d.Sections {
			r := newRecord(d, j)
			if i < len(vectors) && j < len(vectors[i]) {
				if v := unit(vectors[i][j]); v != nil {
					r.Vector = fingerprint(v)
					r.Vectors = map[string]*vector{embedderName: {Embeddings: [][]float32{v}}}
					ix.dimensions = len(v)
					if sum == nil {
						sum = make([]float64, len(v))
					}
					for k := range min(len(v), len(sum)) {
						sum[k] += float64(v[k])
					}
					n++
				}
			}
			if _, twice := c.places[r.ID]; twice {
				continue
			}
			c.places[r.ID] = place{d.Page, j}
			ix.records = append(ix.records, r)
		}
	}
	for _, ix := range c.languages {
		if ix.dimensions == 0 {
			continue
		}
		for _, r := range ix.records {
			if r.Vectors == nil {
				// The server wants to be told that there is none.
				r.Vectors = map[string]*vector{embedderName: nil}
			}
		}
	}
	if n > 0 {
		c.mean = make([]float32, len(sum))
		for k := range sum {
			c.mean[k] = float32(sum[k] / float64(n))
		}
	}
	return c
}

func newRecord(d *retrieval.Document, section int) *record {
	s := &d.Sections[section]
	r := &record{
		Page: d.Page, Section: section, Title: d.Title, Heading: s.Heading, Headings: s.Path,
		Breadcrumbs: d.Breadcrumbs, Slug: slug(d.Page), Description: d.Description, Keywords: d.Keywords,
		Text: s.Text, Version: normal(d.Version),
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
	r.ID = hex.EncodeToString(sum[:16])
	return r
}

// slug is the last part of a page's path as words.
func slug(page string) string {
	page = page[strings.LastIndexByte(page, '/')+1:]
	return strings.NewReplacer("-", " ", "_", " ", ".", " ").Replace(page)
}

// unit is a vector at length 1, nil where it has no direction.
func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil
	}
	out := make([]float32, len(v))
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		out[i] = float32(float64(x) * scale)
	}
	return out
}

func fingerprint(v []float32) string {
	data := make([]byte, 0, 4*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
