// Package ingest turns the bytes of one page, HTML, Markdown or MDX, into a
// retrieval.Document: title, metadata, sections with the anchors that the
// served page has, and the links to other pages. It opens no file and no
// connection, and equal input gives equal documents.
package ingest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"sync/atomic"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Options are the settings of a site that concern its pages.
type Options struct {
	// URL is the site's URL, which may have a path. "" if unknown.
	URL string
	// CleanURLs: HTML pages are served without .html.
	CleanURLs bool
	// Anchors is how the ids of Markdown headings are made: "github"
	// (default), "gitlab", "pandoc", "goldmark" (the "markdown" function of
	// Caddy's templates) or "none". An explicit {#id} counts, except with
	// goldmark, because Caddy's function does not read it.
	Anchors string
	// Versions and Languages of pages by path. The first match wins. A Scope
	// without paths is the default for pages that name none themselves.
	Versions, Languages []Scope
	// Kinds of pages by path: current or one of retrieval.Kinds.
	Kinds []Scope
	// Include and Exclude are globs on the page's path: "*" stays within a
	// path segment, "**" and a "*" at the end cross slashes, "?" is one
	// character. No Include means all pages; Exclude wins.
	Include, Exclude []string
}

// Scope gives the pages under Paths a version or language.
type Scope struct {
	Value string
	Paths []string
}

// errBinary is returned for a file that is not text.
var errBinary = errors.New("file is binary, not text: rename or exclude it")

// errSkip is wrapped by the error for a page that is not meant to be found.
var errSkip = errors.New("page is left out")

// revision is part of every hash. Raise it when the same input makes another
// document, so that caches of older releases are not used.
const revision = "13"

// Ingester reads the pages of one site. It is safe for concurrent use.
type Ingester struct {
	options                    Options
	base                       *url.URL // its path ends in a slash
	include, exclude           globs
	versions, languages, kinds []scope
	fingerprint                []byte
	repeated                   atomic.Pointer[repetition] // what Use was given last
}

// New compiles the options, which the configuration has checked.
func New(o Options) *Ingester {
	in := &Ingester{
		options: o, base: siteURL(o.URL), include: compileGlobs(o.Include), exclude: compileGlobs(o.Exclude),
		versions: compileScopes(o.Versions), languages: compileScopes(o.Languages), kinds: compileScopes(o.Kinds),
	}
	o.Include, o.Exclude = nil, nil // they choose pages, they change none
	options, _ := json.Marshal(o)   // texts always marshal
	in.fingerprint = append([]byte(revision+"\n"), options...)
	in.repeated.Store(new(repetition))
	return in
}

// Fingerprint changes with every setting, and every release of this package,
// that makes other documents of the same bytes.
func (in *Ingester) Fingerprint() string { return hash(in.fingerprint) }

// hash identifies a page's own content, and what is left out of it.
func (in *Ingester) hash(file, left string, data []byte) string {
	return hash(in.fingerprint, []byte(left), []byte(file), data)
}

// Made reports whether a document was made of data, which its file may no longer
// have.
func (in *Ingester) Made(doc *retrieval.Document, data []byte) bool {
	own, r := doc.OwnHash(), in.repeated.Load()
	return own == in.hash(doc.File, r.sum, data) || own == in.hash(doc.File, r.before, data)
}

func hash(values ...[]byte) string {
	h := sha256.New()
	for _, v := range values {
		fmt.Fprintf(h, "%d\n%s", len(v), v)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// sum hashes the heading and the words of a section.
func sum(s *retrieval.Section) uint64 { return hashWords(hashWords(hashSeed, s.Heading), s.Text) }

// hashWords adds the words of a text to an FNV-1a hash.
func hashWords(h uint64, text string) uint64 {
	for word := range strings.FieldsSeq(text) {
		h = hashByte(h, ' ')
		for i := range len(word) {
			h = hashByte(h, word[i])
		}
	}
	return h
}

// hashSeed is the FNV-1a hash of nothing.
const hashSeed uint64 = 14695981039346656037

func hashByte(h uint64, c byte) uint64 { return (h ^ uint64(c)) * 1099511628211 }

// The formats of pages, the preferred first.
const (
	formatNone     = ""
	formatHTML     = "html"
	formatMarkdown = "md"
	formatMDX      = "mdx"
)

func formatOf(file string) string {
	file, _ = fragmentOf(file)
	switch ext := strings.ToLower(strings.TrimPrefix(path.Ext(file), ".")); ext {
	case "htm":
		return formatHTML
	case formatHTML, formatMarkdown, formatMDX:
		return ext
	}
	return formatNone
}

// Document reads a page. file is its path below the site's root, with
// slashes, or the absolute URL of an HTML page that was fetched. The document
// is nil, without error, for a page that is not meant to be found: a draft,
// noindex, a redirect, an error page, an empty page. Warnings name what could
// not be read as written. The error is errBinary; nothing else stops a page from
// being read. data is not kept.
func (in *Ingester) Document(file string, data []byte) (*retrieval.Document, []string, error) {
	doc, _, warnings, err := in.document(file, data, nil)
	if errors.Is(err, errSkip) {
		return nil, nil, nil
	}
	return doc, warnings, err
}

// document is Document with what was read, and the reason why a page is skipped.
// site is the URL of the site if the configuration has none.
func (in *Ingester) document(file string, data []byte, site *url.URL) (doc *retrieval.Document, r *reading, warnings []string, err error) {
	f := formatOf(file)
	doc = &retrieval.Document{File: file, Page: in.Page(file), Hash: in.hash(file, in.repeated.Load().sum, data), FileSum: retrieval.SumOf(data)}
	if u, ok := absolute(file); ok {
		doc.URL = u.String()
		f = formatHTML
	} else {
		doc.URL = in.url(file)
	}
	if f == formatNone {
		return nil, nil, nil, fmt.Errorf("%w: %q has none of the extensions .html .htm .md .mdx", errSkip, path.Base(file))
	}
	text, err := decode(data, f == formatHTML)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil, nil, fmt.Errorf("%w: it is empty", errSkip)
	}
	if f == formatHTML {
		r, err = in.html(doc, text, site)
	} else {
		r, warnings, err = in.markdown(doc, text, f == formatMDX, site)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if len(doc.Sections) == 0 {
		return nil, nil, nil, fmt.Errorf("%w: it has no text", errSkip)
	}
	if _, fragment := fragmentOf(file); fragment != "" { // which all sections have
		for i := range doc.Sections {
			doc.Sections[i].Anchor = ""
		}
	}
	if kind := choose(in.kinds, in.candidates(file), "", ""); kind == "current" {
		doc.Kind = retrieval.Current
	} else {
		doc.Kind = cmp.Or(retrieval.Kind(kind), doc.Kind)
	}
	for i := range doc.Sections {
		doc.Sections[i].Sum = sum(&doc.Sections[i])
	}
	return doc, r, warnings, nil
}
