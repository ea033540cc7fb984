package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// ErrNoPage is returned by Markdown for content that is no page: it became a
// draft, a redirect or empty since its document was made.
var ErrNoPage = errors.New("the file is no page any more")

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
	if len(data) > MaxBytes {
		return nil, ErrTooLarge
	}
	f := formatOf(doc.File)
	if _, ok := absolute(doc.File); ok {
		f = formatHTML
	}
	src, err := decode(data, f == formatHTML)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(doc.URL)
	if err != nil {
		return nil, fmt.Errorf("the page's URL %q: %w", doc.URL, err)
	}
	if b, err := url.Parse(base); err == nil && address.Host == "" && b.Host != "" {
		address = b.ResolveReference(address)
	}
	w := &writer{base: address, walk: &htmlWalker{b: &builder{in: in}, written: true}}
	var nodes []*html.Node
	var date string
	if f == formatHTML {
		nodes, date, err = w.readHTML(doc.File, src)
	} else {
		nodes, date, err = w.readMarkdown(src, f)
	}
	if err != nil {
		return nil, err
	}
	var blocks []string
	for _, n := range nodes {
		blocks = append(blocks, w.blocks(n)...)
	}
	if !w.titled && doc.Title != "" {
		blocks = append([]string{"# " + escapeText(doc.Title)}, blocks...)
	}
	matter, err := yaml.Marshal(struct {
		Title       string `yaml:"title"`
		Description string `yaml:"description,omitempty"`
		URL         string `yaml:"url"`
		Language    string `yaml:"language,omitempty"`
		Version     string `yaml:"version,omitempty"`
		Date        string `yaml:"date,omitempty"`
	}{doc.Title, doc.Description, address.String(), doc.Language, doc.Version, date})
	if err != nil {
		return nil, fmt.Errorf("writing front matter: %w", err)
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, "---\n%s---\n\n", matter)
	page.WriteString(strings.Join(blocks, "\n\n"))
	page.WriteByte('\n')
	return page.Bytes(), nil
}

// readHTML returns the elements that hold the content of an HTML page, and its
// date.
func (w *writer) readHTML(file string, src []byte) (nodes []*html.Node, date string, err error) {
	root, err := parseHTML(src)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %v", ErrNoPage, err)
	}
	front := readHead(root)
	if front.refresh || front.noindex {
		return nil, "", ErrNoPage
	}
	w.walk.page = true
	nodes, w.walk.framed = contentRoots(root)
	w.walk.furnish(w.walk.b.in.repeated.Load(), file, nodes)
	return nodes, front.date, nil
}

// readMarkdown is readHTML for Markdown and MDX, which it renders.
func (w *writer) readMarkdown(src []byte, f format) (nodes []*html.Node, date string, err error) {
	matter, body, _ := splitFrontMatter(src)
	if matter.truth("draft") {
		return nil, "", ErrNoPage
	}
	date = matter.text("lastmod", "last_modified_at", "updated", "last_updated", "lastupdated", "date")
	body, _ = bounded(prepareFor(body, f == formatMDX, true))
	anchors := w.walk.b.in.options.Anchors
	var rendered bytes.Buffer
	footnotes := bytes.Count(body, []byte("[^")) <= maxFootnotes
	if err := newConverter(f == formatMDX, footnotes, anchors == "goldmark", true).Convert(body, &rendered); err != nil {
		return nil, "", fmt.Errorf("rendering Markdown: %w", err)
	}
	w.walk.slugs = &slugger{style: anchors, used: map[string]int{}}
	fragment, err := parseFragment(rendered.Bytes())
	if err != nil {
		return nil, "", fmt.Errorf("%w: %v", ErrNoPage, err)
	}
	root := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	for _, n := range fragment {
		root.AppendChild(n)
	}
	return []*html.Node{root}, date, nil
}

// escapeText escapes plain text for Markdown.
func escapeText(s string) string {
	var l inline
	l.text(s)
	return string(l.out)
}
