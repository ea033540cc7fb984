package meilisearch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// vectorName is the name, in an index's settings, of the embedder for vectors
// that this process sends.
const vectorName = "docs"

// record is one section as the server stores it. Its ID is a hash of all
// fields except the vector: equal IDs are equal sections.
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
	// Version, Language and Tags are for filters, in lower case. A page in
	// en-us is also one in en.
	Version  string   `json:"version"`
	Language []string `json:"language"`
	Tags     []string `json:"tags"`
	// Vector is a hash of the vector that this process sent, "" if it sent
	// none, failedVector if the embedder in the server's settings failed.
	Vector  string             `json:"vector"`
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

// withVector returns a copy of the record with a vector for an embedder, nil
// for none.
func (r *record) withVector(embedder string, v *vector) *record {
	clone := *r
	clone.Vectors = maps.Clone(r.Vectors)
	if clone.Vectors == nil {
		clone.Vectors = map[string]*vector{}
	}
	clone.Vectors[embedder] = v
	return &clone
}

// content is what the servers should hold of a site.
type content struct {
	indexes  map[string]*languageIndex // by uid
	sections map[string]location       // by record ID
	// mean is the mean of the sections' vectors at length 1.
	mean []float32
	// restored content is that of an earlier run, of which this process has
	// no vectors.
	restored bool
}

// languageIndex is the content in one language, which has its own index.
type languageIndex struct {
	uid, language string
	records       []*record
	dimensions    int // of the vectors, 0 without vectors
}

// location is where a record comes from.
type location struct {
	page    string
	section int
}

var unsafeInUID = regexp.MustCompile(`[^a-z0-9-]+`)

// uidPrefix is the prefix of the uids of a site's indexes. It is followed by
// a language without a dash, so that no uid belongs to two sites.
func uidPrefix(prefix, site string) string {
	return prefix + "-" + unsafeInUID.ReplaceAllString(strings.ToLower(site), "-") + "-"
}

// baseLanguage returns the first subtag of a language tag, or "und".
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
	c := &content{indexes: map[string]*languageIndex{}, sections: map[string]location{}}
	var sum []float64
	count := 0
	for i, d := range documents {
		language := baseLanguage(d.Language)
		ix := c.indexes[prefix+language]
		if ix == nil {
			ix = &languageIndex{uid: prefix + language, language: language}
			c.indexes[ix.uid] = ix
		}
		for j := range d.Sections {
			r := newRecord(d, j)
			if _, twice := c.sections[r.ID]; twice {
				continue
			}
			c.sections[r.ID] = location{d.Page, j}
			ix.records = append(ix.records, r)
			if i >= len(vectors) || j >= len(vectors[i]) {
				continue
			}
			v := unit(vectors[i][j])
			if v == nil {
				continue
			}
			r.Vector = hashVector(v)
			r.Vectors = map[string]*vector{vectorName: {Embeddings: [][]float32{v}}}
			ix.dimensions = len(v)
			if sum == nil {
				sum = make([]float64, len(v))
			}
			for k := range min(len(v), len(sum)) {
				sum[k] += float64(v[k])
			}
			count++
		}
	}
	for _, ix := range c.indexes {
		for _, r := range ix.records {
			if ix.dimensions > 0 && r.Vectors == nil {
				// The server requires a value for every record.
				r.Vectors = map[string]*vector{vectorName: nil}
			}
		}
	}
	for _, x := range sum {
		c.mean = append(c.mean, float32(x/float64(count)))
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

// slug returns the last segment of a page's path as words.
func slug(page string) string {
	page = page[strings.LastIndexByte(page, '/')+1:]
	return strings.NewReplacer("-", " ", "_", " ", ".", " ").Replace(page)
}

// unit returns a vector at length 1, nil if it has no direction.
func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return out
}

func hashVector(v []float32) string {
	data := make([]byte, 0, 4*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// meanFile keeps content.mean between runs: semantic scores are relative to
// it.
const meanFile = "vectors-mean.json"

func loadMean(dir string) (mean []float32) {
	data, err := os.ReadFile(filepath.Join(dir, meanFile))
	if dir == "" || err != nil || json.Unmarshal(data, &mean) != nil {
		return nil
	}
	return mean
}

func (x *Index) saveMean(mean []float32) {
	if x.options.Dir == "" {
		return
	}
	path := filepath.Join(x.options.Dir, meanFile)
	if err := retrieval.WriteFile(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(mean) }); err != nil {
		x.log.Warn("the mean of the vectors can't be written; semantic scores are less exact after a restart", "error", err)
	}
}
