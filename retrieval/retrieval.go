// Package retrieval is the search over a site's documentation: what a page
// is once it is read (Document, Section), what is asked of it (Query) and
// what comes back (Hit). The packages below it supply the parts: source
// brings bytes and changes, ingest turns bytes into documents, embedded and
// meilisearch are indexes. Refresher drives them.
package retrieval

import (
	"context"
	"errors"
)

// Document is one page of a site, as a reader knows it.
type Document struct {
	// Page names the page: its path on the site without a leading slash and
	// without extension. "x/index" is "x"; the site's front page is "".
	Page string
	// URL is the address really served, absolute where the site's address
	// is known, else starting with a slash. It has no fragment.
	URL string
	// File is where the page was read from: the path below the site's root,
	// with slashes, or the address for a page of a sitemap.
	File string
	// Hash identifies the content: equal hashes mean equal documents. What
	// stands before HashSuffix identifies what the page itself brings; behind
	// it, what was filled in from the site's other pages.
	Hash string

	Title       string
	Description string
	// Breadcrumbs are the titles of the pages or groups above this one,
	// outermost first, without the page's own title.
	Breadcrumbs []string
	// Version and Language are "" where neither the page nor the site's
	// configuration names one.
	Version, Language string
	// Tags are the page's tags; filter.tag matches one of them exactly
	// (letter case aside). Keywords are words the author wants the page to be
	// found by; they are searched, not filtered.
	Tags, Keywords []string
	// Deprecated pages (and changelogs, where Changelog is set) are found
	// but not favoured.
	Deprecated, Changelog bool

	// Sections are the page's text in reading order. The first may have
	// level 0: what stands before the first heading.
	Sections []Section
	// Links are the links from this page to others of the same site.
	Links []Link
}

// HashSuffix parts the two halves of Document.Hash.
const HashSuffix = "+"

// Section is the text between one heading (h1–h4) and the next.
type Section struct {
	// Anchor is the id of the section's heading in the served HTML, without
	// "#"; "" for the part before the first heading or a heading without id.
	Anchor string
	// Heading is the section's own heading; "" before the first one.
	Heading string
	// Path holds the headings above this one on the page, outermost first,
	// without the page's title and without Heading.
	Path []string
	// Level is 1–4, 0 before the first heading.
	Level int
	// Text is the section as plain text, paragraphs parted by an empty line,
	// list items by "- ", code kept as Markdown fences with their language.
	Text string
}

// Link is a link to another page of the same site, with the words that
// readers click: the raw material of generated evaluation queries.
type Link struct {
	Page, Anchor, Text string
}

// Filter narrows a search. An empty field does not filter; a page that
// carries no such value matches no filter on it. Letter case is ignored.
type Filter struct {
	Version  string
	Language string
	Tag      string
}

// Query is one search.
type Query struct {
	// Text is what the reader typed, or the question an assistant asks.
	Text string
	// Vector is Text's embedding, nil for a keyword search. See HybridSearcher.
	Vector []float32
	// Limit is the most hits wanted, 1–50.
	Limit int
	// Threshold removes the hits whose Score is below it, 0–1.
	Threshold float64
	Filter    Filter
	// Prefer are the version and language that are favoured where Filter
	// does not say: those of the page the reader is on, or the site's
	// defaults. Twins of a page in other versions or languages then don't
	// fill the list.
	Prefer Filter
	// Boost names pages to favour: the page the reader is on, the sources
	// of earlier answers.
	Boost []string
	// Question is set when Text is a whole question put to an assistant:
	// its last word is not completed as one being typed.
	Question bool
}

// Hit is one section found.
type Hit struct {
	Document *Document
	// Section indexes Document.Sections.
	Section int
	// Score is 0–1 and never rises down the list; it means the same from
	// query to query. 1: every word of the query stands in title and text;
	// nonsense stays under .2.
	Score float64
}

// ErrNotReady is returned by Index.Search while there is no generation to
// answer from: the first one is still being made.
var ErrNotReady = errors.New("the index is not ready yet")

// ErrUnavailable is wrapped by indexes whose backend does not answer: it, or
// another one, may a little later.
var ErrUnavailable = errors.New("search is unavailable")

// ErrRefused is wrapped by indexes whose backend refuses what they ask, for
// a wrong key or wrong settings: it will until somebody mends them.
var ErrRefused = errors.New("search is refused by its backend")

// Index is a searchable set of documents. All methods may be called from
// several goroutines; Replace is called by one at a time.
type Index interface {
	// Search returns the best hits, best first. No hit is an empty slice.
	Search(ctx context.Context, q Query) ([]Hit, error)
	// Page returns the document of a page, nil if the index has none.
	Page(ctx context.Context, page string) (*Document, error)
	// Replace makes the documents the index's whole content, as one new
	// generation: no search sees some of the old and some of the new.
	// Documents are the index's own afterwards and must not be changed.
	// vectors, where not nil, holds for every document one vector a section
	// (a nil entry: that section has none).
	Replace(ctx context.Context, documents []*Document, vectors [][][]float32) error
	// Documents returns the current generation's documents, in no order;
	// the slice must not be changed.
	Documents() []*Document
	// Close releases what the index holds.
	Close() error
}

// VectorKeeper is an Index whose vectors are kept elsewhere, where they may
// get lost.
type VectorKeeper interface {
	// LacksVectors reports whether vectors of the last Replace, maybe in an
	// earlier process, are missing: that one is to be repeated.
	LacksVectors() bool
}

// Embedder turns texts into vectors of one length.
type Embedder interface {
	// Embed returns one vector a text, in order.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model names the model: vectors of different models never mix.
	Model() string
}

// QueryEmbedder is an Embedder that embeds queries otherwise than passages:
// many models (nomic, e5, bge) were trained with a prefix for each.
type QueryEmbedder interface {
	Embedder
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}
