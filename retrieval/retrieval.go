// Package retrieval searches a site's documentation. A Refresher keeps an
// Index up to date: a Source (package source) lists and reads the pages, an
// Ingester (package ingest) turns them into Documents, and an Index (packages
// embedded and meilisearch) answers a Query with Hits.
package retrieval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
)

// Document is one page of a site.
type Document struct {
	// Page names the page: its path on the site without a leading slash and
	// without extension. "x/index" is "x"; the site's front page is "".
	Page string
	// URL is the page's URL without a fragment, absolute if the site's URL is
	// known, otherwise beginning with a slash.
	URL string
	// File is the slash path of the page's file below the site's root, or the
	// URL of a page of a sitemap. See File.Path.
	File string
	// Source names the source of the page if the site has several, and in a group
	// of sites the page's site. It is "" for those of the first source.
	Source string
	// Hash identifies the content: equal hashes mean equal documents. The part
	// before HashSuffix identifies the page's own content, the part after it
	// what was added from the site's other pages.
	Hash string

	Title       string
	Description string
	// Breadcrumbs are the titles of the pages or groups above this one,
	// outermost first, without the page's own title.
	Breadcrumbs []string
	// Version and Language are "" if neither the page nor the site's
	// configuration has one.
	Version, Language string
	// Folders of the page's path name its version or language where the
	// configuration has other names: "v2" for 2.x, "br" for pt-BR.
	Folders []string
	// FileSum is the SumOf the file that the page was made of, 0 if it is not known.
	FileSum uint64
	// XDefault pages are those for readers whose language the site lacks
	// (hreflang="x-default").
	XDefault bool
	// Tags are the page's tags, for filters. Keywords are words that the
	// author wants the page to be found by.
	Tags, Keywords []string
	// Kind is what the page is if it isn't current documentation.
	Kind Kind
	// Canonical is the page that this one names as its original: "/" and its
	// Page. It is "" for a page that names none, or itself.
	Canonical string
	// Translations is equal for the translations of one page: "/" and the Page
	// of one of them. It is "" for a page that names none.
	Translations string
	// Readers is the language of the readers that the page is for, if its text
	// is in another: it isn't translated yet.
	Readers string

	// Sections are the page's text in reading order. The text before the
	// first heading has level 0.
	Sections []Section
	// Links are the links from this page to others of the same site.
	Links []Link

	// Outline is set if the index has the whole document elsewhere: Sections
	// have no texts here, and perhaps no other fields, and Links may be those of
	// the front page alone. The document of a Hit may be an outline: see
	// Hit.Content. Index.Page returns the whole document.
	Outline bool
}

// SumOf identifies the bytes of a file.
func SumOf(data []byte) uint64 {
	sum := sha256.Sum256(data)
	return binary.BigEndian.Uint64(sum[:])
}

// OwnHash identifies a page's own content, see Hash.
func (d *Document) OwnHash() string {
	own, _, _ := strings.Cut(d.Hash, HashSuffix)
	return own
}

// Key distinguishes documents by their page and its own content.
func (d *Document) Key() string { return d.Page + "\n" + d.OwnHash() }

// noSections has the empty sections of outlines.
var noSections [256]Section

// NewOutline returns the document without the texts of its sections, and
// without links except those of the front page.
func (d *Document) NewOutline() *Document {
	o := *d
	// The strings may be parts of the page's text, which is to leave memory.
	for _, s := range []*string{&o.Page, &o.URL, &o.File, &o.Hash, &o.Title, &o.Description, &o.Version, &o.Language} {
		*s = strings.Clone(*s)
	}
	for _, list := range []*[]string{&o.Breadcrumbs, &o.Tags, &o.Keywords, &o.Folders} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i] = strings.Clone((*list)[i])
		}
	}
	o.SetOutline(len(d.Sections))
	if o.Links = nil; d.Page == "" {
		for _, l := range d.Links {
			o.Links = append(o.Links, Link{Page: strings.Clone(l.Page)})
		}
	}
	return &o
}

// SetOutline makes a document an outline with so many sections.
func (d *Document) SetOutline(sections int) {
	d.Outline = true
	if d.Sections = noSections[:min(sections, len(noSections)):min(sections, len(noSections))]; sections > len(noSections) {
		d.Sections = make([]Section, sections)
	}
}

// Whole returns the document of an outline: what the site's other pages have
// added to it, with the sections and links of full, which may be an outline with
// more than this one.
func (d *Document) Whole(full *Document) *Document {
	c := *d
	c.Sections, c.Links, c.Outline = full.Sections, full.Links, full.Outline
	return &c
}

// Kind is what a page is. Search prefers current documentation, unless the
// query asks for another kind.
type Kind string

// The kinds of pages.
const (
	Current    Kind = ""
	Blog       Kind = "blog"
	Changelog  Kind = "changelog"
	Deprecated Kind = "deprecated"
	Old        Kind = "old"    // of a version that is no longer maintained
	Next       Kind = "next"   // of a version that isn't released yet
	Listing    Kind = "source" // a file of source code
	Moved      Kind = "moved"  // a note that the page is elsewhere
)

// Kinds are all kinds but Current.
var Kinds = []Kind{Blog, Changelog, Deprecated, Old, Next, Listing, Moved}

// HashSuffix separates the two parts of Document.Hash.
const HashSuffix = "+"

// Section is the text between one heading (h1–h4) and the next.
type Section struct {
	// Anchor is the id of the section's heading in the served HTML, without
	// "#"; "" before the first heading and for a heading without id.
	Anchor string
	// Heading is the section's own heading; "" before the first one.
	Heading string
	// Path is the headings above this one on the page, outermost first,
	// without the page's title and Heading.
	Path []string
	// Level is 1–4, 0 before the first heading.
	Level int
	// Text is the section as plain text. Paragraphs are separated by an empty
	// line, list items begin with "- ", and code is in Markdown fences with its
	// language.
	Text string
	// Marks are what of Text is inline code, an image or a link. An index may
	// leave them out.
	Marks Marks
	// Sum is equal for sections with the same heading and words.
	Sum uint64
}

// Link is a link to another page of the same site. Its text becomes a query
// of a generated evaluation set.
type Link struct {
	Page, Anchor, Text string
}

// Repeated is what is on most pages of a folder, and therefore no page's text:
// hashes by folder, whose meaning is the Ingester's.
type Repeated map[string][]uint64

// MaxHits is the most hits that a search returns.
const MaxHits = 100

// Filter narrows a search to pages with equal values, ignoring letter case.
// An empty field matches every page.
type Filter struct {
	Version  string
	Language string
	Tag      string
	// Site is the site of a group, see Document.Source.
	Site string
}

// Query is one search.
type Query struct {
	// Text is what the reader typed, or an assistant's question.
	Text string
	// Vector is Text's embedding, nil for a keyword search.
	Vector []float32
	// Embed, if not nil, waits for Vector and returns it, so that an index can do
	// something else meanwhile. See QueryVectors.
	Embed func() []float32
	// Limit is the maximum number of hits, 1–MaxHits.
	Limit int
	// Shown is how many of the first hits are read, 0 for all. The others are
	// counted: their sections may be empty or not the best of their pages, and
	// without a Threshold, their scores are not their own.
	Shown int
	// Threshold is the minimum Score of a hit, 0–1.
	Threshold float64
	Filter    Filter
	// Pages are the pages that may be found, nil for all. Nothing about the
	// others shows: not in scores, corrections or completions of words.
	Pages *PageSet
	// Open are those of Pages that every reader can open, nil for all. Copies,
	// translations and other versions of a page are found once; pages that only
	// some readers can open are in the place of no others.
	Open *PageSet
	// Prefer has the version and language to prefer where Filter has none:
	// those of the page that the reader is on, or the site's defaults.
	Prefer Filter
	// Boost names pages to rank higher: the page that the reader is on, the
	// sources of earlier answers.
	Boost []string
	// Question is true if Text is a question for an assistant, whose last
	// word is complete.
	Question bool
	// Explain is true if hits are to have their Why.
	Explain bool
}

// Embedded waits for the vector and returns it, nil if the query has none.
func (q *Query) Embedded() []float32 {
	if q.Vector == nil && q.Embed != nil {
		q.Vector = q.Embed()
	}
	return q.Vector
}

// Hit is a section that a search found.
type Hit struct {
	// Document is never nil.
	Document *Document
	// Section is an index of Document.Sections.
	Section int
	// Text is that of the section if Document has none.
	Text string
	// Score is 0–1, never rises down the list, and is comparable between
	// queries. With 1, title and text have every word of the query; nonsense
	// scores below 0.2.
	Score float64
	// Why says where the hit's place in the list comes from, for people, a line
	// each.
	Why []string
}

// Content returns the text of the section that was found.
func (h *Hit) Content() string { return cmp.Or(h.Text, h.Document.Sections[h.Section].Text) }

// Span is a word of a query in a text, from byte Start up to End.
type Span struct {
	Start, End int
	// Word is the number of the word in the query.
	Word int
	// Weight is more for words that are rarer on the site.
	Weight float64
}

// Marker finds the words of a query in a text, as a search finds them: in all
// their forms, by the beginning of the word that is being typed, and
// corrected. The spans are in order and may overlap.
type Marker func(text string) []Span

// ErrNotReady is returned by Index.Search until the first generation is
// published.
var ErrNotReady = errors.New("the index is not ready yet")

// ErrUnavailable is wrapped by the errors of an index whose server does not
// answer at the moment.
var ErrUnavailable = errors.New("search is unavailable")

// ErrRefused is wrapped by the errors of an index whose server refuses its
// requests until an operator corrects a key or a setting.
var ErrRefused = errors.New("the search server refuses requests")

// Index is a searchable set of documents. Its methods are safe for concurrent
// use, except that only one Replace may run at a time.
type Index interface {
	// Search returns the best hits, best first. If there are none, the slice
	// is empty and not nil.
	Search(ctx context.Context, q Query) ([]Hit, error)
	// Mark returns a Marker of the words of a query.
	Mark(q Query) Marker
	// Page returns the document of a page, or nil if the index has none.
	Page(ctx context.Context, page string) (*Document, error)
	// Keep stores a document for the next Replace, so that memory never has all
	// texts of a site. It returns its outline, or the document if it stays in memory.
	Keep(d *Document) (*Document, error)
	// Replace publishes a new generation: it replaces all documents at once, so
	// that no search sees two generations. The documents must not be changed
	// afterwards. An outline from Documents represents its document. vectors, if
	// not nil, returns those of the sections of a document by its number, nil for
	// a section without one. It may be called until the next Replace.
	Replace(ctx context.Context, documents []*Document, vectors func(document int) [][]float32) error
	// Documents returns the current generation's documents in any order. The
	// slice must not be changed.
	Documents() []*Document
	// Close releases the index's resources.
	Close() error
}

// Remote is an Index in other servers, which have its vectors.
type Remote interface {
	// LacksVectors reports whether vectors of the last Replace, which may have
	// been in an earlier process, are missing, so that it must be repeated.
	LacksVectors() bool
	// Vectors returns those that the servers have, of the embedder's model, of
	// sections of current pages, one for each of pages; nil where they have none.
	Vectors(ctx context.Context, pages []string, sections []int) [][]float32
}

// Embedder turns texts into vectors of one length.
type Embedder interface {
	// Embed returns a vector for each text, in order.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model is the model's name. Vectors of different models are never mixed.
	Model() string
}

// QueryEmbedder is an Embedder that embeds queries and passages differently.
// Many models (nomic, e5, bge) were trained with a prefix for each.
type QueryEmbedder interface {
	Embedder
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}

// PageSet is a set of pages that a search is narrowed to. It must not change:
// indexes keep what they derive from it, by its address.
type PageSet struct {
	// Has reports whether the set has a page (Document.Page).
	Has func(page string) bool
}
