package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"

	"go.yaml.in/yaml/v3"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// ErrNoPage is returned by Markdown for content that is no longer a page: it became
// a draft, a redirect or empty since its document was made.
var ErrNoPage = errors.New("the file is no longer a page")

// Markdown returns a page as GitHub's Markdown, from the same reading as its
// document: without navigation, with front matter, headings that link to their
// anchors, and absolute links. doc is the page's document, data the bytes of
// doc.File. base is the site's URL for a doc.URL that has no host.
func (in *Ingester) Markdown(doc *retrieval.Document, data []byte, base string) (out []byte, err error) {
	// Documents of all pages were made, so the parsers are known not to panic,
	// but the bytes may have changed since.
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("%s as Markdown: the parser failed; please report this page: %v", doc.File, p)
		}
	}()
	site, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("the site's URL %q: %w", base, err)
	}
	_, r, _, err := in.document(doc.File, data, site)
	if errors.Is(err, errSkip) {
		return nil, ErrNoPage
	}
	if err != nil {
		return nil, err
	}
	matter, err := yaml.Marshal(struct {
		Title       string `yaml:"title"`
		Description string `yaml:"description,omitempty"`
		URL         string `yaml:"url"`
		Language    string `yaml:"language,omitempty"`
		Version     string `yaml:"version,omitempty"`
		Date        string `yaml:"date,omitempty"`
	}{doc.Title, doc.Description, baseOf(doc, site).String(), doc.Language, doc.Version, r.date})
	if err != nil {
		return nil, fmt.Errorf("writing front matter: %w", err)
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, "---\n%s---\n\n", matter)
	if !r.w.titled && doc.Title != "" {
		var l inline
		l.text(doc.Title)
		page.WriteString("# " + string(markdownOf(string(l.out), nil)) + "\n\n")
	}
	page.Write(bytes.TrimSpace(markdownOf(r.stream, r.without)))
	page.WriteByte('\n')
	return page.Bytes(), nil
}

// reading is what was read of a page.
type reading struct {
	w       *writer
	stream  string
	without map[int]bool // sections that are left out
	date    string
}

// isEmpty reports whether nothing was read.
func (r *reading) isEmpty() bool { return len(r.w.headers) == 1 && plainOf(r.stream) == "" }

// baseOf is the URL of a page, at the site if it has no host.
func baseOf(doc *retrieval.Document, site *url.URL) *url.URL {
	u, err := url.Parse(doc.URL)
	if err != nil {
		return &url.URL{Path: "/"}
	}
	if site != nil && u.Host == "" && site.Host != "" {
		return site.ResolveReference(u)
	}
	return u
}
